package group_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

// Two elementwise nodes one after the other are one kernel for a backend that wants such groups.
func ExampleGraph_Decide() {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	x := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{3}}
	b := op.NewBuilder(next)
	y := b.Do(op.Exp, b.Do(op.Neg, x))
	g := group.NewGraph(&program.Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}})

	fmt.Println(len(g.Decide(group.Policy{})))
	groups := g.Decide(group.Policy{Kinds: group.Of(group.Elementwise)})
	fmt.Println(len(groups), groups[0].Nodes())
	// Output:
	// 2
	// 1 [0 1]
}
