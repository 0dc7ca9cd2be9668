package lower_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/template"
)

// A program of three nodes becomes one kernel, which the interpreter runs.
func Example() {
	target := template.Target{Subgroup: 32, Threads: 1024, Shared: 48 << 10, Units: 4, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535},
		Wide: 16, Types: dtype.Any, Math: dtype.Any}
	last := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	x := op.Desc{ID: 1, DType: dtype.F32, Shape: shape.Of(2, 3)}
	greatest := b.Reduce(op.ReduceMax, x, true, 1)
	y := b.Do(op.Sub, x, greatest)
	p := program.Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}

	g := group.NewGraph(&p)
	for _, x := range g.Decide(lower.Policy(target)) {
		operand := template.Operand{Type: dtype.F32, View: shape.Contiguous(shape.Of(2, 3))}
		work, err := lower.Group(target, g, x, []template.Operand{operand}, []template.Operand{operand})
		if err != nil {
			fmt.Println(err)
			return
		}
		in, out := make([]byte, 24), make([]byte, 24)
		for i, v := range []float32{1, 4, 2, 7, 5, 9} {
			binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(v))
		}
		err = interp.RunWork(work, [][]byte{in, out}, interp.Options{})
		fmt.Println(x.Kind, len(work.Launches), work.Launches[0].Kernel.Name, dtype.Slice[float32](out), err)
	}
	// Output: norm 1 rows_reduce_max_sub [-3 0 -2 -2 -4 0] <nil>
}
