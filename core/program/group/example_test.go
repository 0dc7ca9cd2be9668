package group_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

// Decide joins two successive elementwise nodes into one group, for a backend that wants such groups.
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

// Batches joins the updates of two parameters of different sizes into one launch, for a backend that runs groups with equal bodies
// together.
func ExampleGraph_Batches() {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	b := op.NewBuilder(next)
	p := &program.Program{}
	for _, size := range []int{3, 700} {
		value, grad := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{size}}, op.Desc{ID: next(), DType: dtype.F32, Shape: []int{size}}
		p.Inputs = append(p.Inputs, value, grad)
		p.Outputs = append(p.Outputs, b.Do(op.Sub, value, b.Un(op.Clamp, grad, op.ScalarFloat("min", -1), op.ScalarFloat("max", 1))).ID)
	}
	p.Nodes = b.Nodes
	g := group.NewGraph(p)
	kinds := group.Of(group.Elementwise)
	groups := g.Decide(group.Policy{Kinds: kinds})
	for _, batch := range g.Batches(groups, group.Batching{Kinds: kinds}) {
		fmt.Println("launch")
		for _, x := range batch.Groups {
			fmt.Println(" ", x.Nodes(), x.Inputs, x.Outputs)
		}
	}
	// Output:
	// launch
	//   [0 1] [t2 t1] [f32[3]]
	//   [2 3] [t6 t5] [f32[700]]
}
