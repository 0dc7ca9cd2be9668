package ir_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// TestText checks that the text of a kernel names every part of every instruction, and that different constants have different texts:
// kernels with equal texts share compiled code.
func TestText(t *testing.T) {
	b := ir.New("text", 32)
	b.SetSubgroup(32)
	b.SetBlocks(3)
	x, h := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("h", dtype.U32, ir.Write|ir.Atomic)
	m, l := b.Shared("m", dtype.F32, 512), b.Local("l", dtype.U32, 1)
	mma := ir.MMA{M: 16, N: 16, K: 16, Type: dtype.F16, Order: ir.Runs}
	a, c := b.Fragments("a", mma, ir.A, 1), b.Fragments("c", mma, ir.C, 1)
	half := b.Shared("half", dtype.F16, 512)
	zero := b.Int(0)
	b.AsyncCopy(m, zero, x, zero, 4)
	b.AsyncCommit()
	b.AsyncWait(1)
	b.FragLoad(a, zero, half, zero, b.Int(16), true)
	b.FragLoadWide(a, zero, 2, half, zero, b.Int(16), false)
	b.FragSet(c, zero, 2, b.FragGet(c, zero, 1))
	b.FragPack(a, zero, c, zero)
	b.FragStore(c, zero, m, zero, b.Int(16))
	b.While(func() ir.Value { return b.Eq(b.At(l), b.Const(dtype.U32, math.MaxUint32)) }, func() {
		b.Put(l, b.AtomicSwap(h, zero, b.PopCount(b.At(l)), b.Atomic(ir.AtomicMin, h, zero, b.At(l))))
	})
	b.Unroll(2, func(i ir.Value) {
		v := b.ShuffleUp(b.SharedLoad(m, b.Blocks(1)), 3)
		b.SharedStore(m, i, b.Select(b.Lt(v, b.Float(dtype.F32, math.Inf(-1))), v, b.ShuffleXor(v, 7)))
	})
	text := b.Kernel().String()
	for _, line := range []string{
		"kernel text threads 32 subgroup 32 blocks 3\n", "buffer h u32 write+atomic\n", "shared m f32[512]\n", "local l u32[1]\n", "m16n16k16.f16.runs",
		"async.copy m[%1], x[%1], 4\n", "async.commit\n", "async.wait 1\n", "frag.load a[%1], half[%1], stride %2, transposed\n", "frag.load a[%1], half[%1], stride %2, 2 of them\n",
		"%3 = frag.get.f32 c[%1].1\n", "frag.set c[%1].2, %3\n", "frag.pack a[%1], c[%1]\n", "frag.store c[%1], m[%1], stride %2\n", "const.u32 4294967295\n",
		"%10 = atomic.min.u32 h[%1], %9\n", "%11 = atomic.swap.u32 h[%1], %8, %10\n", "popcount.u32 %7\n", "for.i32 %13 = %1 to %12 step 1 unroll {\n", "blocks.i32 1\n", "shuffle.up.f32 %15, 3\n", "shuffle.xor.f32 %16, 7\n", "const.f32 -Inf\n",
	} {
		require.Contains(t, text, line)
	}

	texts := map[string]string{}
	for _, c := range []struct {
		t    dtype.DType
		bits uint64
	}{
		{dtype.F32, 0}, {dtype.F32, 0x80000000}, {dtype.F32, 1}, {dtype.F32, 0x7fc00000}, {dtype.F32, 0x7fc00001}, {dtype.F32, 0xffc00000}, {dtype.F32, 0x3dcccccd}, {dtype.F32, 0x3dccccce},
		{dtype.F64, 0x3fb999999999999a}, {dtype.F64, 0x3fb999999999999b}, {dtype.F64, 0x7ff8000000000001}, {dtype.F16, 0x2e66}, {dtype.F16, 0x2e67}, {dtype.F16, 0x7e00}, {dtype.F16, 0x7e01},
		{dtype.BF16, 0x3dcc}, {dtype.BF16, 0x3dcd}, {dtype.BF16, 0x7fc1}, {dtype.U64, math.MaxUint64}, {dtype.U64, 1 << 63}, {dtype.I64, math.MaxUint64}, {dtype.I64, 1 << 63}, {dtype.U8, 255},
		{dtype.Bool, 0}, {dtype.Bool, 1}, {dtype.I8, math.MaxUint64},
	} {
		b := ir.New("c", 1)
		b.Store(b.Buffer("y", c.t, ir.Write), b.Int(0), b.Const(c.t, c.bits))
		_, line, _ := strings.Cut(b.Kernel().String(), "%2 = ")
		line, _, _ = strings.Cut(line, "\n")
		require.Empty(t, texts[line], "%v %#x prints as another constant: %s", c.t, c.bits, line)
		texts[line] = "taken"
	}
	require.Equal(t, "op(15)", ir.Op(15).String())
	require.Equal(t, "read+write+atomic", (ir.Read | ir.Write | ir.Atomic).String())
}
