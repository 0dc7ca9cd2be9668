package gradient_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/gradient"
)

// The gradient of Mul reads both operands and records one product for each of them.
func ExampleOf() {
	x := []op.Desc{{ID: 1, DType: dtype.F32, Shape: []int{2}}, {ID: 2, DType: dtype.F32, Shape: []int{2}}}
	n, err := op.New(op.Mul, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	n.Outputs[0].ID = 3
	r, _ := gradient.Of(op.Mul)
	need := []bool{true, true}
	in, out := r.Reads(need)
	fmt.Printf("reads operands %b and results %b\n", in, out)

	last := op.TensorID(4)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	dy := op.Desc{ID: 4, DType: dtype.F32, Shape: []int{2}}
	r.Record(b, gradient.Node{X: x, Y: n.Outputs, DY: []op.Desc{dy}, Need: need, Has: map[op.TensorID]bool{1: true, 2: true, 4: true}})
	for i := range b.Nodes {
		fmt.Println(b.Nodes[i].String())
	}
	fmt.Println(gradient.How(op.Less))
	// Output:
	// reads operands 11 and results 0
	// t5 f32[2] = mul(t4, t2)
	// t6 f32[2] = mul(t4, t1)
	// none its results are integers or truth values
}
