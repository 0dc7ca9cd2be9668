package ir_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func Example() {
	b := ir.New("relu", 64)
	x := b.Buffer("x", dtype.F32, ir.Read)
	y := b.Buffer("y", dtype.F32, ir.Write)
	n := b.Scalar("n", dtype.I32)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() { b.Store(y, i, b.Max(b.Load(x, i), b.Float(dtype.F32, 0))) })
	fmt.Print(b.Kernel())
	// Output:
	// kernel relu threads 64
	// buffer x f32 read
	// buffer y f32 write
	// scalar n i32
	// {
	//   %1 = scalar.i32 n
	//   %2 = block.i32 0
	//   %3 = const.i32 64
	//   %4 = mul.i32 %2, %3
	//   %5 = thread.i32
	//   %6 = add.i32 %4, %5
	//   %7 = lt.bool %6, %1
	//   if %7 {
	//     %8 = load.f32 x[%6]
	//     %9 = const.f32 0
	//     %10 = max.f32 %8, %9
	//     store y[%6], %10
	//   }
	// }
}
