package checkpoint_test

import (
	"fmt"
	"os"

	"github.com/goburn/burn/train/checkpoint"
)

// The store keeps the newest snapshots, and the best one.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := checkpoint.Open(dir, 2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := 1; step <= 4; step++ {
		s := &checkpoint.Snapshot{Step: step, Files: map[string][]byte{"state.json": fmt.Appendf(nil, `{"step": %d}`, step)}}
		if err := st.Save(s, step == 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := st.Wait(); err != nil { // it writes concurrently with training
		fmt.Println(err)
		return
	}
	steps, err := st.Steps()
	fmt.Println(steps, err)
	best, err := st.Best()
	fmt.Println(best.Step, err)
	// Output:
	// [1 3 4] <nil>
	// 1 <nil>
}
