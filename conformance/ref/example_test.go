package ref_test

import (
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Eval returns the value of a node as the op table defines it.
func ExampleEval() {
	x := ref.Tensor{Desc: op.DescOf(dtype.F32, 2, 2), F: []float64{1, 2, 3, 4}}
	n, err := op.New(op.Sum, []op.Desc{x.Desc}, op.Ints("axes", 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := ref.Eval(&n, []ref.Tensor{x})
	fmt.Println(y[0].F, err)
	// Output: [3 7] <nil>
}
