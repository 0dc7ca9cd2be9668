package schedule_test

import (
	"fmt"

	"github.com/goburn/burn/optim/schedule"
)

// Next returns the rate of each step.
func ExampleNext() {
	s := schedule.Sequence(schedule.Phase{Scheduler: schedule.Linear(0, 0.4, 4), Steps: 4}, schedule.Phase{Scheduler: schedule.Constant(0.4)})
	for range 6 {
		fmt.Printf("%.1f ", schedule.Next(s))
	}
	// Output: 0.0 0.1 0.2 0.3 0.4 0.4
}
