package narrow_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// A sum of numbers of 64 bits carries from the low word to the high one.
func Example() {
	b := ir.New("increment", 1)
	x := b.Buffer("x", dtype.U64, ir.Read|ir.Write)
	b.Store(x, b.Int(0), b.Add(b.Load(x, b.Int(0)), b.Const(dtype.U64, 1)))
	l, err := narrow.Launch(template.Target{Words: true, Wide: 8}, ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: make([]ir.Arg, 1)})
	fmt.Print(err, "\n", l.Kernel)
	// Output:
	// <nil>
	// kernel increment threads 1
	// buffer x u32 read+write
	// {
	//   %1 = const.i32 0
	//   %2, %3 = load.u32 x[%1]
	//   %4 = const.u32 1
	//   %5 = add.u32 %2, %4
	//   %6 = lt.bool %5, %2
	//   %7 = cast.u32 %6
	//   %8 = add.u32 %3, %7
	//   store x[%1], %5, %8
	// }
}
