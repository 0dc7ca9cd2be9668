package template_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// A kernel is built from its computation for one element; operands may be views.
func ExampleElementwise() {
	target := template.Target{Subgroup: 32, Threads: 1024, Units: 4, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16}
	space := shape.Of(2, 3)
	x := template.Operand{Type: dtype.I32, View: shape.Contiguous(shape.Of(3)).Expand(space), Slot: 0}
	y := template.Operand{Type: dtype.I32, View: shape.Contiguous(space), Slot: 1}
	work := template.Elementwise(target, "scaled", space, []template.Operand{x}, []template.Operand{y},
		func(b *ir.Builder, in []ir.Value, index func(axis int) ir.Value) []ir.Value {
			return []ir.Value{b.Mul(in[0], b.Add(index(0), b.Int(1)))}
		})
	out := make([]byte, 24)
	err := interp.RunWork(work, [][]byte{dtype.Bytes([]int32{1, 2, 3}), out}, interp.Options{})
	fmt.Println(dtype.Slice[int32](out), err)
	// Output: [1 2 3 2 4 6] <nil>
}
