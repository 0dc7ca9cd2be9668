package narrow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// words is hardware like that of WebGPU.
var words = template.Target{
	Subgroup: 16, Threads: 256, Shared: 16 << 10, Units: 4, Blocks: 4, Grid: [3]int{65535, 65535, 65535}, Wide: 16, Words: true, Align: 256, Buffers: 8,
	Types: dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.Bool, dtype.F16, dtype.BF16, dtype.I16, dtype.U16, dtype.I8, dtype.U8),
	Math:  dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.Bool), Atomics: dtype.SetOf(dtype.I32, dtype.U32),
}

// limits are the limits of that hardware.
var limits = ir.Limits{Threads: words.Threads, Shared: words.Shared, Subgroup: words.Subgroup, Grid: words.Grid, Wide: words.Wide, Words: true, Align: 256,
	Buffers: words.Buffers, Types: words.Types, Math: words.Math, Atomics: words.Atomics}

// compare runs a launch as it is and rewritten, on the same memory, and demands the same bits. Slots are of whole words.
func compare(t testing.TB, l ir.Launch, slots [][]byte) {
	t.Helper()
	sizes := make([]int64, len(slots))
	got := make([][]byte, len(slots))
	for i, s := range slots {
		sizes[i] = int64(len(s))
		got[i] = append([]byte(nil), s...)
	}
	n, err := narrow.Launch(words, l)
	require.NoError(t, err, "%v", l.Kernel)
	require.NoError(t, ir.Check(l, sizes, ir.Limits{}), "%v", l.Kernel)
	require.NoError(t, ir.Check(n, sizes, limits), "%v\n%v", l.Kernel, n.Kernel)
	require.NoError(t, interp.Run(l, slots, interp.Options{Subgroup: words.Subgroup}), "%v", l.Kernel)
	require.NoError(t, interp.Run(n, got, interp.Options{Subgroup: words.Subgroup, Races: true, Order: interp.Backward}), "%v\n%v", l.Kernel, n.Kernel)
	for i := range slots {
		require.Equal(t, slots[i], got[i], "slot %d\n%v\n%v", i, l.Kernel, n.Kernel)
	}
}

// extremes returns 64-bit numbers near the boundaries of 32-bit words, their complements and negatives, and random numbers.
func extremes(r *rand.Rand) []uint64 {
	all := []uint64{0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 255, 256, 65535, 65536, 1<<24 - 1, 1 << 24, 1<<24 + 1, 1<<25 + 1, 1<<31 - 1, 1 << 31, 1<<31 + 1,
		1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<33 - 1, 1<<40 + 1, 1<<47 - 1, 1<<53 + 1, 1<<55 + 1<<31, 1<<55 + 1<<31 + 1, 1<<56 - 1, 3<<55 + 1<<32, 1<<62 - 1, 1 << 62, 1<<63 - 1,
		0x7fffffbfffffffff, 0x7fffffc000000000, 0x7fffffc000000001, 0xffffff7fffffffff, 0xffffff8000000000, 0xffffff8000000001, 0x123456789abcdef0, 0x00000001fffffffe}
	for _, x := range all {
		all = append(all, -x, ^x)
	}
	for range 100 {
		all = append(all, r.Uint64()>>r.IntN(64), -(r.Uint64() >> r.IntN(64)))
	}
	return all
}

// elementwise returns a launch, and its memory, that computes body for each element of buffers of type d with the given bits.
func elementwise(body func(b *ir.Builder, x []ir.Value) ir.Value, d dtype.DType, bits ...[]uint64) (ir.Launch, [][]byte) {
	n := len(bits[0])
	b := ir.New("elementwise", 64)
	var l ir.Launch
	var slots [][]byte
	var in []ir.Buf
	add := func(name string, d dtype.DType, a ir.Access) ir.Buf {
		l.Args = append(l.Args, ir.Arg{Slot: len(slots)})
		slots = append(slots, make([]byte, (n*d.Size()+3)&^3))
		return b.Buffer(name, d, a)
	}
	for i, x := range bits {
		in = append(in, add(fmt.Sprint("x", i), d, ir.Read))
		for k, v := range x {
			put(slots[i][k*d.Size():], d, v)
		}
	}
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, b.Int(n)), func() {
		var x []ir.Value
		for _, p := range in {
			x = append(x, b.Load(p, i))
		}
		y := body(b, x)
		b.Store(add("y", b.TypeOf(y), ir.Write), i, y)
	})
	l.Kernel, l.Grid = b.Kernel(), [3]int{(n + 63) / 64, 1, 1}
	return l, slots
}

// put writes the lowest bytes of a number.
func put(b []byte, d dtype.DType, v uint64) {
	if d == dtype.Bool {
		v &= 1
	}
	for k := range d.Size() {
		b[k] = byte(v >> (8 * k))
	}
}

// pairs returns all pairs of numbers.
func pairs(x []uint64) (a, b []uint64) {
	for _, u := range x {
		for _, v := range x {
			a, b = append(a, u), append(b, v)
		}
	}
	return a, b
}

// TestArithmetic compares each operation on 64-bit integers with its form on words, for extremes and random numbers.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := extremes(r)
	a, b := pairs(all[:80])
	for _, d := range []dtype.DType{dtype.I64, dtype.U64} {
		for _, o := range []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Min, ir.Max, ir.MulHi, ir.And, ir.Or, ir.Xor, ir.Shl, ir.Shr, ir.Eq, ir.Ne, ir.Lt, ir.Le} {
			t.Run(fmt.Sprint(o, "/", d), func(t *testing.T) {
				l, slots := elementwise(func(b *ir.Builder, x []ir.Value) ir.Value {
					y := x[1]
					switch o {
					case ir.Shl, ir.Shr:
						y = b.And(y, b.Const(d, 63))
					case ir.Div, ir.Rem:
						odd := b.Eq(y, b.Const(d, 0))
						if d == dtype.I64 {
							odd = b.Or(odd, b.Eq(y, b.Const(d, ^uint64(0))))
						}
						y = b.Select(odd, b.Const(d, 3), y)
					}
					return b.Binary(o, x[0], y)
				}, d, a, b)
				compare(t, l, slots)
			})
		}
		for _, o := range []ir.Op{ir.Neg, ir.Abs, ir.Not} {
			t.Run(fmt.Sprint(o, "/", d), func(t *testing.T) {
				compareUnary(t, d, all, func(b *ir.Builder, x ir.Value) ir.Value { return b.Unary(o, x) })
			})
		}
		t.Run(fmt.Sprint("fma/", d), func(t *testing.T) {
			l, slots := elementwise(func(b *ir.Builder, x []ir.Value) ir.Value { return b.FMA(x[0], x[1], x[0]) }, d, a, b)
			compare(t, l, slots)
		})
		t.Run(fmt.Sprint("constants/", d), func(t *testing.T) {
			for _, c := range all[:60] {
				compareUnary(t, d, all, func(b *ir.Builder, x ir.Value) ir.Value {
					k := b.Const(d, c)
					return b.Select(b.Lt(x, k), b.Add(x, k), b.Select(b.Le(k, x), b.Sub(k, x), b.Binary(ir.Xor, x, k)))
				})
			}
		})
	}
}

func compareUnary(t *testing.T, d dtype.DType, x []uint64, f func(b *ir.Builder, x ir.Value) ir.Value) {
	t.Helper()
	l, slots := elementwise(func(b *ir.Builder, v []ir.Value) ir.Value { return f(b, v[0]) }, d, x)
	compare(t, l, slots)
}

// TestCasts converts all types to all others.
func TestCasts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, from := range dtype.All() {
		for _, to := range dtype.All() {
			if from == dtype.F64 || to == dtype.F64 {
				continue
			}
			t.Run(fmt.Sprint(from, "/", to), func(t *testing.T) {
				x := extremes(r)
				if from.IsFloat() {
					x = floats(from, to, r)
				}
				compareUnary(t, from, x, func(b *ir.Builder, x ir.Value) ir.Value { return b.Cast(to, x) })
			})
		}
	}
}

// floats returns the bits of numbers of float type d within the range of type to.
func floats(d, to dtype.DType, r *rand.Rand) (all []uint64) {
	low, high := math.Inf(-1), math.Inf(1)
	if to.IsInt() {
		low, high = 0, math.Ldexp(1, 8*to.Size())
		if to.Class() == dtype.Signed {
			high /= 2
			low = -high
		}
	}
	bits := func(f float64) (uint64, float64) {
		switch d {
		case dtype.F16:
			h := dtype.Float16From64(f)
			return uint64(h), float64(h.Float32())
		case dtype.BF16:
			h := dtype.BFloat16From64(f)
			return uint64(h), float64(h.Float32())
		}
		return uint64(math.Float32bits(float32(f))), float64(float32(f))
	}
	list := []float64{0, math.Copysign(0, -1), 0.5, -0.5, 0.99, 1, -1, 1.5, -1.5, 255, 256, 65504, 1 << 24, 1<<31 - 128, 1 << 31, -1 << 31, 1 << 32, 1<<32 - 256, 1 << 40, 1<<63 - 1<<39, -1 << 63, 1<<64 - 1<<40}
	for range 300 {
		list = append(list, math.Ldexp(r.NormFloat64(), r.IntN(64)))
	}
	for _, f := range list {
		if b, v := bits(f); v >= low && v < high {
			all = append(all, b)
		}
	}
	return all
}
