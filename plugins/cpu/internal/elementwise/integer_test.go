package elementwise_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// bounds returns the least and the greatest number of an integer type.
func bounds(d dtype.DType) (lo, hi *big.Int) {
	bits := uint(8 * d.Size())
	if d.Class() == dtype.Signed {
		half := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))
	}
	return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))
}

// wrapped returns v modulo 2^bits, in the range of d.
func wrapped(d dtype.DType, v *big.Int) *big.Int {
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
	r := new(big.Int).Mod(v, modulus) // Euclidean: never negative
	if _, hi := bounds(d); r.Cmp(hi) > 0 {
		r.Sub(r, modulus)
	}
	return r
}

// count returns a shift count: b as an unsigned number, at most 64.
func count(d dtype.DType, b *big.Int) uint {
	n := new(big.Int).Mod(b, new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size())))
	if n.Cmp(big.NewInt(64)) > 0 {
		return 64
	}
	return uint(n.Uint64())
}

// integers defines ops on integers without bounds. The results must then be wrapped.
var integers = map[op.Code]func(d dtype.DType, a, b *big.Int) *big.Int{
	op.Add: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
	op.Sub: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
	op.Mul: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
	op.Div: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return big.NewInt(-1) // all bits
		}
		return new(big.Int).Quo(a, b) // toward zero
	},
	op.Rem: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return a
		}
		return new(big.Int).Rem(a, b) // the sign of a
	},
	op.FloorMod: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() == 0 {
			return a
		}
		r := new(big.Int).Rem(a, b)
		if r.Sign()*b.Sign() < 0 {
			r.Add(r, b) // the sign of b
		}
		return r
	},
	op.Pow: func(d dtype.DType, a, b *big.Int) *big.Int {
		if b.Sign() >= 0 {
			return new(big.Int).Exp(new(big.Int).Mod(a, modulus(d)), b, modulus(d))
		}
		switch {
		case a.CmpAbs(big.NewInt(1)) != 0:
			return new(big.Int) // a reciprocal, rounded toward zero; 0 for a power of 0
		case a.Sign() > 0 || b.Bit(0) == 0:
			return big.NewInt(1)
		}
		return big.NewInt(-1)
	},
	op.Shl: func(d dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Lsh(a, count(d, b)) },
	op.Shr: func(d dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Rsh(a, count(d, b)) }, // toward minus infinity
	op.And: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).And(a, b) },
	op.Or:  func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Or(a, b) },
	op.Xor: func(_ dtype.DType, a, b *big.Int) *big.Int { return new(big.Int).Xor(a, b) },
	op.Max: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if a.Cmp(b) > 0 {
			return a
		}
		return b
	},
	op.Min: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if a.Cmp(b) < 0 {
			return a
		}
		return b
	},
	op.PRelu: func(_ dtype.DType, a, b *big.Int) *big.Int {
		if a.Sign() < 0 {
			return new(big.Int).Mul(a, b)
		}
		return a
	},
}

func modulus(d dtype.DType) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size())) }

// bits returns the low 64 bits of v in two's complement.
func bits(v *big.Int) int64 {
	return int64(new(big.Int).Mod(v, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64())
}

// TestIntegersAgainstBig computes all pairs of bytes, and of wider types their extremes and random numbers, with package math/big.
func TestIntegersAgainstBig(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(43, 44))
	for _, d := range dtype.Ints.List() {
		var v []*big.Int
		lo, hi := bounds(d)
		if d.Size() == 1 {
			for i := range int64(256) {
				v = append(v, new(big.Int).Add(lo, big.NewInt(i)))
			}
		} else {
			for i := range int64(5) {
				v = append(v, new(big.Int).Add(lo, big.NewInt(i)), new(big.Int).Sub(hi, big.NewInt(i)), wrapped(d, big.NewInt(-i)), big.NewInt(i+1))
			}
			for shift := uint(6); shift < uint(8*d.Size()); shift += 5 {
				v = append(v, wrapped(d, new(big.Int).Lsh(big.NewInt(1), shift)), wrapped(d, new(big.Int).SetUint64(r.Uint64())))
			}
		}
		x, y := make([]int64, 0, len(v)*len(v)), make([]int64, 0, len(v)*len(v))
		for _, p := range v {
			for _, q := range v {
				x, y = append(x, bits(p)), append(y, bits(q))
			}
		}
		dims := []int{len(v), len(v)}
		in := list{kerneltest.Ints(d, dims, x...), kerneltest.Ints(d, dims, y...)}
		for c, define := range integers {
			if !op.Lookup(c).Operands[0].Types.Has(d) {
				continue
			}
			want := make([]int64, 0, len(x))
			for _, p := range v {
				for _, q := range v {
					want = append(want, bits(wrapped(d, define(d, p, q))))
				}
			}
			b.Expect(c, in, list{kerneltest.Ints(d, dims, want...)}, 0, 0)
		}
	}
}

// TestFloatsToIntegers converts floats about every bound and tie of every integer type, by exact arithmetic: toward zero, then to
// the nearest number of the type.
func TestFloatsToIntegers(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(45, 46))
	for _, to := range dtype.Ints.List() {
		lo, hi := bounds(to)
		for _, from := range dtype.Floats.List() {
			var x []float64
			for _, edge := range []*big.Int{lo, hi, new(big.Int).Add(hi, big.NewInt(1)), new(big.Int).Sub(lo, big.NewInt(1)), new(big.Int)} {
				f, _ := new(big.Float).SetInt(edge).Float64()
				for _, near := range []float64{-2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2} {
					x = append(x, f+near, f*(1+near/4096), f*(1+near*0x1p-51))
				}
			}
			for range 40 {
				x = append(x, (r.Float64()-0.5)*float64(uint64(1)<<r.IntN(64)))
			}
			in := kerneltest.Floats(from, []int{len(x)}, x...)
			var want []int64
			for i := range x {
				whole, _ := new(big.Float).SetFloat64(finite(in.Float(i))).Int(nil) // truncates
				if whole.Cmp(lo) < 0 {
					whole = lo
				} else if whole.Cmp(hi) > 0 {
					whole = hi
				}
				want = append(want, bits(whole))
			}
			b.Expect(op.Cast, list{in}, list{kerneltest.Ints(to, []int{len(want)}, want...)}, 0, 0, op.Type("dtype", to))
		}
	}
}

// finite returns f. For an infinity, to which f16 rounds large numbers, it returns a number beyond every integer type.
func finite(f float64) float64 { return min(max(f, -1e300), 1e300) }

// TestIntegersToFloats rounds integers to nearest even, once: a number just beside a tie of f16 or bf16 must not become the tie on
// its way through f32.
func TestIntegersToFloats(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(47, 48))
	precision := map[dtype.DType]uint{dtype.F64: 53, dtype.F32: 24, dtype.F16: 11, dtype.BF16: 8}
	for _, from := range dtype.Ints.List() {
		for to, p := range precision {
			var x []int64
			var want []float64
			add := func(v *big.Int) {
				v = wrapped(from, v)
				f, _ := new(big.Float).SetPrec(p).SetMode(big.ToNearestEven).SetInt(v).Float64()
				if to == dtype.F16 && (f > 65504 || f < -65504) {
					return // v rounds to infinity
				}
				x, want = append(x, bits(v)), append(want, f)
			}
			for shift := p; shift < 64; shift++ {
				for range 3 {
					head := new(big.Int).SetUint64(1<<(p-1) | r.Uint64()>>(65-p)) // p bits, the first of which is set
					tie := new(big.Int).Lsh(head, shift-p+1)
					tie.SetBit(tie, int(shift-p), 1)
					for _, off := range []int64{-1, 0, 1} {
						v := new(big.Int).Add(tie, big.NewInt(off))
						add(v)
						add(new(big.Int).Neg(v))
					}
				}
			}
			add(new(big.Int))
			b.Expect(op.Cast, list{kerneltest.Ints(from, []int{len(x)}, x...)}, list{kerneltest.Floats(to, []int{len(x)}, want...)}, 0, 0, op.Type("dtype", to))
		}
	}
}

// TestRandomBroadcasts combines random shapes, in which operands lack dimensions or repeat along them, in every memory layout.
func TestRandomBroadcasts(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(49, 50))
	arithmetic := []op.Code{op.Sub, op.Div, op.Less, op.GreaterEqual, op.PRelu, op.Max, op.Xor, op.Where}
	for range 120 {
		dims := make([]int, r.IntN(6))
		for i := range dims {
			dims[i] = []int{1, 2, 3, 5, 16, 17, 31}[r.IntN(7)]
		}
		c := arithmetic[r.IntN(len(arithmetic))]
		row := op.Lookup(c)
		var in list
		d := row.Operands[0].Types.List()
		if c == op.Where {
			d = dtype.Any.List()
		}
		dt := d[r.IntN(len(d))]
		for i := range row.Operands {
			part := make([]int, 0, len(dims))
			for _, n := range dims[r.IntN(len(dims)+1):] {
				if r.IntN(3) == 0 {
					n = 1
				}
				part = append(part, n)
			}
			if i == len(row.Operands)-1 && r.IntN(2) == 0 {
				part = dims
			}
			if i == 0 && c == op.Where {
				in = append(in, kerneltest.Random(r, dtype.Bool, 0, 1, part...))
				continue
			}
			in = append(in, operand(r, row, i, dt, part...))
		}
		size := 1
		for _, n := range dims {
			size *= n
		}
		if size < 1<<15 {
			b.Check(c, in)
		}
	}
}
