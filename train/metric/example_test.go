package metric_test

import (
	"fmt"

	"github.com/goburn/burn/train/metric"
)

// The share of words that are wrong, in percent.
func ExampleWER() {
	m := metric.WER(metric.TextOptions{})
	m.Add("the cat sat", "the cat sat down") // what came, what was wanted: one of four words is missing
	fmt.Println(m.Value())
	// Output: 25
}
