package dialect_test

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// A kernel as text of CUDA C++.
func ExampleDialect_Print() {
	b := ir.New("negate", 256)
	x, y, n := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write), b.Scalar("n", dtype.I32)
	i := b.Add(b.Mul(b.Block(0), b.Int(256)), b.Thread())
	b.If(b.Lt(i, n), func() { b.Store(y, i, b.Unary(ir.Neg, b.Load(x, i))) })
	k := b.Kernel()

	text, err := dialect.CUDA.Print([]*ir.Kernel{k})
	fmt.Println(err, dialect.Symbol(0, k), dialect.CUDA.Dynamic(k))
	_, kernel, _ := strings.Cut(text, "\n\n") // behind the names of types
	fmt.Print(kernel)
	// Output:
	// <nil> k0_negate 0
	// extern "C" __global__ __launch_bounds__(256) void k0_negate(const f32* __restrict__ p0_x, f32* p1_y, const i32 p2_n) {
	// 	const i32 v2 = i32(blockIdx.x);
	// 	const i32 v4 = v2 * 256;
	// 	const i32 v5 = i32(threadIdx.x);
	// 	const i32 v6 = v4 + v5;
	// 	const bool v7 = v6 < p2_n;
	// 	if (v7) {
	// 		const f32 v8 = p0_x[v6];
	// 		const f32 v9 = -v8;
	// 		p1_y[v6] = v9;
	// 	}
	// }
}
