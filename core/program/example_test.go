package program_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Compile compiles a program for a target: here for one that supports every op, so that it removes only the node without a use.
func ExampleCompile() {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	x := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{3}}
	b := op.NewBuilder(next)
	y := b.Do(op.Neg, x)
	b.Do(op.Exp, x) // the result is not used
	p := &program.Program{Name: "negate", Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}

	c, err := program.Compile(p, program.Target{Name: "any"}, program.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(p.Nodes), len(c.Program.Nodes), c.Outputs[0].Shape)
	// Output: 2 1 [3]
}
