package template_test

import (
	"encoding/binary"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/template"
)

// The work of a sort has the elements in slot 0, the sorted ones in slot 1 and the places that they came from in slot 2.
func ExampleSort() {
	target := template.Target{Subgroup: 32, Threads: 1024, Shared: 48 << 10, Units: 1, Grid: [3]int{65535, 65535, 65535}, Wide: 16, Types: dtype.Any, Math: dtype.Numbers}
	x := []float32{2, 7, 1, 8}
	whole := shape.Contiguous(shape.Of(4))
	floats, places := template.Operand{Type: dtype.F32, View: whole}, template.Operand{Type: dtype.I64, View: whole}
	work := template.Sort(target, template.Order{Outer: 1, N: 4, Inner: 1, Keep: 4, Descending: true}, floats, floats, places)
	sorted, from := make([]float32, 4), make([]byte, 4*8)
	if err := interp.RunWork(work, [][]byte{dtype.Bytes(x), dtype.Bytes(sorted), from}, interp.Options{}); err != nil {
		fmt.Println(err)
	}
	for i, v := range sorted {
		fmt.Println(v, "from", binary.LittleEndian.Uint64(from[8*i:]))
	}
	// Output:
	// 8 from 3
	// 7 from 1
	// 2 from 0
	// 1 from 2
}
