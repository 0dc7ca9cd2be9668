package op_test

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// New checks a node against the row of its op and infers the shapes of its results.
func ExampleNew() {
	a, b := op.DescOf(dtype.F32, 2, 3), op.DescOf(dtype.F32, 3, 5)
	n, err := op.New(op.MatMul, []op.Desc{a, b})
	fmt.Println(n.Outputs[0].Shape, err)
	_, err = op.New(op.MatMul, []op.Desc{b, b})
	fmt.Println(errors.Is(err, op.ErrShape))
	// Output:
	// [2,5] <nil>
	// true
}

// Decompose expands a composite into other ops, for a backend that lacks it.
func ExampleDecompose() {
	x := op.DescOf(dtype.F32, 4)
	x.ID = 1
	n, err := op.New(op.Silu, []op.Desc{x})
	if err != nil {
		fmt.Println(err)
		return
	}
	last := op.TensorID(2)
	n.Outputs[0].ID = last
	nodes, ok, err := op.Decompose(&n, []op.Desc{x}, func() op.TensorID { last++; return last })
	fmt.Println(op.Lookup(op.Silu).Class == op.Composite, ok, err, nodes[len(nodes)-1].Outputs[0].ID == n.Outputs[0].ID)
	// Output: true true <nil> true
}
