package tensorboard_test

import (
	"fmt"
	"os"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/tensorboard"
)

// A writer is a listener. TensorBoard shows the folder.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "tensorboard")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	w := tensorboard.New(dir)
	learner := &train.Learner[*nn.Linear, []float32]{Listeners: []train.Listener{w}} // and Run
	fmt.Println(len(learner.Listeners), w.Close())
	// Output: 1 <nil>
}
