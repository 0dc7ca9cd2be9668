package interp_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func ExampleRun() {
	b := ir.New("double", 2)
	x := b.Buffer("x", dtype.I32, ir.Read|ir.Write)
	i := b.Add(b.Mul(b.Block(0), b.Int(2)), b.Thread())
	b.Store(x, i, b.Mul(b.Load(x, i), b.Int(2)))

	data := []int32{1, 2, 3, 4}
	l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{2, 1, 1}, Args: []ir.Arg{{Slot: 0}}}
	fmt.Println(interp.Run(l, [][]byte{dtype.Bytes(data)}, interp.Options{Races: true}), data)
	l.Grid[0] = 3
	fmt.Println(interp.Run(l, [][]byte{dtype.Bytes(data)}, interp.Options{}))
	// Output:
	// <nil> [2 4 6 8]
	// kernel double: block [2 0 0] thread 0: %6 = load.i32 x[%5]: index 4 of 4 elements
}
