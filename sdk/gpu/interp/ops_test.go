package interp_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// apply runs one elementwise operation on arrays of operands of type from, and returns the bytes of the results of type to. It runs
// it once on loaded values and, for the first elements, on constants, which the builder folds: both give the same bits.
func apply(t *testing.T, from, to dtype.DType, n int, args [][]byte, f func(b *ir.Builder, v []ir.Value) ir.Value) []byte {
	t.Helper()
	build := func(constant bool) *ir.Kernel {
		b := ir.New("apply", 1)
		out := b.Buffer("out", to, ir.Write)
		if constant {
			for i := range min(n, 64) {
				v := make([]ir.Value, len(args))
				for k := range args {
					bits := uint64(0)
					for j := range from.Size() {
						bits |= uint64(args[k][i*from.Size()+j]) << (8 * j)
					}
					v[k] = b.Const(from, bits)
				}
				b.Store(out, b.Int(i), f(b, v))
			}
			return b.Kernel()
		}
		v := make([]ir.Value, len(args))
		for k := range args {
			v[k] = b.Load(b.Buffer("x", from, ir.Read), b.Block(0))
		}
		b.Store(out, b.Block(0), f(b, v))
		return b.Kernel()
	}
	slots := append([][]byte{make([]byte, n*to.Size())}, args...)
	l := ir.Launch{Kernel: build(false), Grid: [3]int{n, 1, 1}}
	for i := range slots {
		l.Args = append(l.Args, ir.Arg{Slot: i})
	}
	require.NoError(t, interp.Run(l, slots, interp.Options{}))

	folded := make([]byte, min(n, 64)*to.Size())
	l = ir.Launch{Kernel: build(true), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{}}}
	require.NoError(t, interp.Run(l, [][]byte{folded}, interp.Options{}))
	require.Equal(t, slots[0][:len(folded)], folded, "constants")
	return slots[0]
}

type wholeNumber interface {
	int32 | int64 | uint32 | uint64
}

// samples returns the bounds of a type, small numbers, powers of two and random numbers.
func samples[T wholeNumber]() []T {
	var z T
	one := z + 1
	s := []T{0, one, z - 1, 2, 3, z - 3, 7, 31, 100}
	for shift := range 64 {
		if v := one << shift; v != 0 {
			s = append(s, v, v-1)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		s = append(s, T(r.Uint64()), T(r.Uint64()>>r.IntN(64)))
	}
	return s
}

// wrap returns x as a T, modulo 2^width.
func wrap[T wholeNumber](x *big.Int) T {
	m := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64)) // two's complement
	return T(m.Uint64())
}

func number[T wholeNumber](x T) *big.Int {
	if x < 0 {
		return big.NewInt(int64(x))
	}
	return new(big.Int).SetUint64(uint64(x))
}

func testIntegers[T int32 | int64 | uint32 | uint64](t *testing.T, d dtype.DType) {
	var xs, ys, by []T
	width := T(d.Size() * 8)
	for i, x := range samples[T]() {
		for k, y := range samples[T]() {
			if (i+k)%11 != 0 && i > 8 && k > 8 {
				continue
			}
			if y == 0 {
				y = 5
			}
			xs, ys, by = append(xs, x), append(ys, y), append(by, T(i*7+k)%width)
		}
	}
	mulHi := func(x, y *big.Int) *big.Int { return new(big.Int).Rsh(new(big.Int).Mul(x, y), uint(width)) }
	truth := func(b bool) *big.Int {
		if b {
			return big.NewInt(1)
		}
		return new(big.Int)
	}
	pick := func(first bool, x, y *big.Int) *big.Int {
		if first {
			return x
		}
		return y
	}
	for op, f := range map[ir.Op]func(x, y *big.Int) *big.Int{
		ir.Add: new(big.Int).Add, ir.Sub: new(big.Int).Sub, ir.Mul: new(big.Int).Mul, ir.Div: new(big.Int).Quo, ir.Rem: new(big.Int).Rem,
		ir.Min:   func(x, y *big.Int) *big.Int { return pick(x.Cmp(y) < 0, x, y) },
		ir.Max:   func(x, y *big.Int) *big.Int { return pick(x.Cmp(y) > 0, x, y) },
		ir.MulHi: mulHi, ir.And: new(big.Int).And, ir.Or: new(big.Int).Or, ir.Xor: new(big.Int).Xor,
		ir.Neg: func(x, _ *big.Int) *big.Int { return new(big.Int).Neg(x) },
		ir.Abs: func(x, _ *big.Int) *big.Int { return new(big.Int).Abs(x) },
		ir.Not: func(x, _ *big.Int) *big.Int { return new(big.Int).Not(x) },
		ir.FMA: func(x, y *big.Int) *big.Int { return new(big.Int).Add(new(big.Int).Mul(x, y), y) },
	} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value {
			switch op {
			case ir.Neg, ir.Abs, ir.Not:
				return b.Unary(op, v[0])
			case ir.FMA:
				return b.FMA(v[0], v[1], v[1])
			}
			return b.Binary(op, v[0], v[1])
		}))
		for i := range got {
			require.Equal(t, wrap[T](f(number(xs[i]), number(ys[i]))), got[i], "%v.%v of %d and %d", op, d, xs[i], ys[i])
		}
	}
	for _, op := range []ir.Op{ir.Shl, ir.Shr} {
		got := dtype.Slice[T](apply(t, d, d, len(xs), [][]byte{raw(xs), raw(by)}, func(b *ir.Builder, v []ir.Value) ir.Value {
			return b.Binary(op, v[0], v[1])
		}))
		for i := range got {
			want := new(big.Int).Lsh(number(xs[i]), uint(by[i]))
			if op == ir.Shr {
				want.Rsh(number(xs[i]), uint(by[i]))
			}
			require.Equal(t, wrap[T](want), got[i], "%v.%v of %d by %d", op, d, xs[i], by[i])
		}
	}
	for op, f := range map[ir.Op]func(c int) bool{ir.Eq: func(c int) bool { return c == 0 }, ir.Ne: func(c int) bool { return c != 0 },
		ir.Lt: func(c int) bool { return c < 0 }, ir.Le: func(c int) bool { return c <= 0 }} {
		got := apply(t, d, dtype.Bool, len(xs), [][]byte{raw(xs), raw(ys)}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) })
		for i := range got {
			require.Equal(t, byte(truth(f(number(xs[i]).Cmp(number(ys[i])))).Int64()), got[i], "%v.%v of %d and %d", op, d, xs[i], ys[i])
		}
	}
}

func raw[T dtype.Native](s []T) []byte { return dtype.Bytes(s) }

func TestIntegers(t *testing.T) {
	t.Run("i32", func(t *testing.T) { testIntegers[int32](t, dtype.I32) })
	t.Run("i64", func(t *testing.T) { testIntegers[int64](t, dtype.I64) })
	t.Run("u32", func(t *testing.T) { testIntegers[uint32](t, dtype.U32) })
	t.Run("u64", func(t *testing.T) { testIntegers[uint64](t, dtype.U64) })
}

func TestBools(t *testing.T) {
	x, y := []byte{0, 0, 1, 1}, []byte{0, 1, 0, 1}
	for op, want := range map[ir.Op][]byte{ir.And: {0, 0, 0, 1}, ir.Or: {0, 1, 1, 1}, ir.Xor: {0, 1, 1, 0}, ir.Eq: {1, 0, 0, 1}, ir.Ne: {0, 1, 1, 0},
		ir.Lt: {0, 1, 0, 0}, ir.Le: {1, 1, 0, 1}} {
		got := apply(t, dtype.Bool, dtype.Bool, 4, [][]byte{x, y}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Binary(op, v[0], v[1]) })
		require.Equal(t, want, got, "%v", op)
	}
	got := apply(t, dtype.Bool, dtype.Bool, 4, [][]byte{x}, func(b *ir.Builder, v []ir.Value) ir.Value { return b.Unary(ir.Not, v[0]) })
	require.Equal(t, []byte{1, 1, 0, 0}, got)
	for _, d := range dtype.All() { // select of every type
		a, c := make([]byte, 4*d.Size()), make([]byte, 4*d.Size())
		for i := range a {
			a[i], c[i] = 1, byte(i%2)
		}
		b := ir.New("select", 4)
		cond, xs, ys, out := b.Buffer("cond", dtype.Bool, ir.Read), b.Buffer("x", d, ir.Read), b.Buffer("y", d, ir.Read), b.Buffer("out", d, ir.Write)
		i := b.Thread()
		b.Store(out, i, b.Select(b.Load(cond, i), b.Load(xs, i), b.Load(ys, i)))
		r := make([]byte, 4*d.Size())
		l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Slot: 2}, {Slot: 3}}}
		require.NoError(t, interp.Run(l, [][]byte{x, a, c, r}, interp.Options{}))
		require.Equal(t, append(append([]byte(nil), c[:2*d.Size()]...), a[2*d.Size():]...), r, "%v", d)
	}
}
