package window_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/window"
)

// A step is recorded twice, with other tensors and another rate. Its structure is the same except the rate, which becomes an input.
func ExampleStructure_Program() {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	step := func(rate float64) *window.Window {
		x := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{2}}
		b := op.NewBuilder(next)
		b.Do(op.Mul, x, b.All(op.Full, nil, op.Dims("shape", nil), op.ScalarFloat("value", rate), op.Type("dtype", dtype.F32))[0])
		w := &window.Window{}
		w.Init(func(op.TensorID) (op.Desc, bool) { return x, true }, nil)
		for i := range b.Nodes {
			kind, values := window.Hash(&b.Nodes[i], &window.Faults{})
			w.Add(&b.Nodes[i], kind, values)
		}
		w.Free(x.ID)
		w.Free(b.Nodes[0].Outputs[0].ID)
		return w
	}
	a, b := step(0.1), step(0.05)
	lifted := a.Changed(&b.Structure)
	fmt.Println("same hash:", a.Key() == b.Key(), "same:", a.Same(&b.Structure, nil), "apart:", lifted)
	p := b.Program("step", lifted)
	fmt.Println(p.Program)
	fmt.Println("donated:", p.Donated)
	// Output:
	// same hash: true same: false apart: [true false]
	// program "step"
	//   input t1 f32[]
	//   input t2 f32[2]
	//   t3 f32[2] = mul(t2, t1)
	//   return [t3]
	//
	// donated: [true true]
}
