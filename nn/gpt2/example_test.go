package gpt2_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example runs a small model, which returns a score for every possible next token.
func Example() {
	dev, err := tensor.Open(context.Background(), "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	m := gpt2.New(dev, gpt2.Config{Layers: 2, Heads: 4, Size: 64, Vocabulary: 100, Context: 32})
	trained, _ := nn.Count(m)
	fmt.Println(trained, "parameters")
	fmt.Println(m.Forward(tensor.From(dev, []int64{7, 1, 4}, 1, 3)).Desc())
	// Output:
	// 108544 parameters
	// f32[1,3,100]
}
