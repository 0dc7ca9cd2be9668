package op

import (
	"math"
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var randomRules = map[Code]Decomposition{
	RandomUniform: elementwise(func(b *Builder, _ []Desc, a Attrs) Desc {
		s, d := shape.Shape(a.Ints("shape")), a.DType("dtype")
		var u Desc
		if d == dtype.F64 {
			w := words(b, a, shape.Of(s.Size(), 2))
			hi, lo := b.Cast(upper(b, b.Narrow(w, 1, 0, 1), 27), d), b.Cast(upper(b, b.Narrow(w, 1, 1, 1), 26), d)
			u = b.Do(Mul, b.Do(Add, b.Do(Mul, hi, b.Like(hi, 1<<26)), lo), b.Like(lo, 0x1p-53))
			u = b.Reshape(u, s)
		} else {
			u = fraction(b, words(b, a, s))
		}
		low, high := a.Float("low"), a.Float("high")
		return b.Cast(b.Do(Add, b.Do(Mul, u, b.Like(u, high-low)), b.Like(u, low)), d)
	}),
	RandomNormal: elementwise(func(b *Builder, _ []Desc, a Attrs) Desc {
		s, d := shape.Shape(a.Ints("shape")), a.DType("dtype")
		w := words(b, a, shape.Of(s.Size(), 2))
		first, second := b.Narrow(w, 1, 0, 1), b.Narrow(w, 1, 1, 1)
		var u, v Desc
		if d == dtype.F64 {
			whole := func(w Desc) Desc { // the word, unsigned
				return b.Cast(b.Do(And, b.Cast(w, dtype.I64), b.FullInt(dtype.I64, 1<<32-1, nil)), d)
			}
			u, v = whole(first), whole(second)
			u, v = b.Do(Mul, b.Do(Add, u, b.Like(u, 1)), b.Like(u, 0x1p-32)), b.Do(Mul, v, b.Like(v, 0x1p-32))
		} else {
			u, v = fraction(b, first), fraction(b, second)
			u = b.Do(Add, u, b.Like(u, 0x1p-24))
		}
		r := b.Do(Sqrt, b.Do(Mul, b.Like(u, -2), b.Do(Log, u)))
		z := b.Do(Mul, r, b.Do(Cos, b.Do(Mul, v, b.Like(v, 2*math.Pi))))
		z = b.Do(Add, b.Do(Mul, z, b.Like(z, a.Float("std"))), b.Like(z, a.Float("mean")))
		return b.Cast(b.Reshape(z, s), d)
	}),
	Bernoulli: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		p := wide(b, in[0])
		u := b.Cast(fraction(b, words(b, a, in[0].Shape)), p.DType)
		return b.Cast(b.Do(Less, u, p), a.DType("dtype"))
	}),
	Multinomial: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		s, n := in[0].Shape, a.Int("count")
		last := len(s) - 1
		batch, k := s[:last].Size(), s[last]
		sums := b.Un(CumSum, b.Reshape(wide(b, in[0]), shape.Of(batch, k)), Int("axis", 1))
		u := b.Cast(fraction(b, words(b, a, shape.Of(batch, n))), sums.DType)
		point := b.Do(Mul, u, b.Narrow(sums, 1, k-1, 1))
		return b.Reshape(passed(b, sums, point, k-1), append(s[:last:last], n))
	}),
	RandomBitsAt: func(b *Builder, in []Desc, a Attrs) []Desc {
		s, d := shape.Shape(a.Ints("shape")), a.DType("dtype")
		n := s.Size()
		if n == 0 {
			return []Desc{b.FullInt(d, 0, s)}
		}
		number := func(v int) Desc { return b.FullInt(dtype.I64, int64(v), nil) }
		key := b.Do(Add, number(a.Int("seed")), b.Narrow(in[0], 0, 0, 1))
		first := b.Do(Add, number(a.Int("counter")), b.Narrow(in[0], 0, 1, 1))
		block := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", (n+3)/4, 1))[0]
		w := b.Narrow(b.Reshape(philox(b, key, b.Do(Add, block, first)), shape.Of((n+3)/4*4)), 0, 0, n)
		if d == dtype.I32 { // as signed numbers, the upper half of the words is negative
			w = b.Do(Sub, b.Do(Xor, w, number(1<<31)), number(1<<31))
		}
		return []Desc{b.Reshape(b.Cast(w, d), s)}
	},
}

// philox returns the four words of Philox 4x32-10, as i64 [n, 4], of keys [1] and counters [n, 1], i64.
func philox(b *Builder, key, counter Desc) Desc {
	number := func(v int64) Desc { return b.FullInt(dtype.I64, v, nil) }
	low := func(x Desc) Desc { return b.Do(And, x, number(1<<32-1)) }
	high := func(x Desc) Desc { return low(b.Do(Shr, x, number(32))) }
	xor := func(x, y, z Desc) Desc { return b.Do(Xor, b.Do(Xor, x, y), z) }
	x := [4]Desc{low(counter), high(counter), number(0), number(0)}
	k0, k1 := low(key), high(key)
	for round := range 10 {
		if round > 0 {
			k0, k1 = low(b.Do(Add, k0, number(0x9E3779B9))), low(b.Do(Add, k1, number(0xBB67AE85)))
		}
		// Products wrap modulo 2^64, which does not change their low 64 bits.
		p0, p1 := b.Do(Mul, x[0], number(0xD2511F53)), b.Do(Mul, x[2], number(0xCD9E8D57))
		x = [4]Desc{xor(high(p1), x[1], k0), low(p1), xor(high(p0), x[3], k1), low(p0)}
	}
	return b.Concat(1, x[:]...)
}

// passed returns, as i64 [batch, n], how many of the first m elements of each line of ascending sums [batch, k] are at most point [batch,
// n]. It uses binary search, because all pairs of sums and points may not fit into memory.
func passed(b *Builder, sums, point Desc, m int) Desc {
	at := b.FullInt(dtype.I64, 0, point.Shape)
	for step := 1 << bits.Len(uint(m)) >> 1; step > 0; step /= 2 {
		next := b.Do(Add, at, b.FullInt(dtype.I64, int64(step), nil))
		index := b.Do(Min, next, b.FullInt(dtype.I64, int64(m), nil))
		sum := b.With(Gather, []Desc{sums, b.Do(Sub, index, b.FullInt(dtype.I64, 1, nil))}, Int("axis", 1), Int("batch", 1))
		further := b.Do(And, b.Do(Equal, index, next), b.Do(LessEqual, sum, point))
		at = b.Do(Where, further, next, at)
	}
	return at
}

// words returns random_bits in shape s.
func words(b *Builder, a Attrs, s shape.Shape) Desc {
	return b.All(RandomBits, nil, Int("seed", a.Int("seed")), Int("counter", a.Int("counter")), Dims("shape", s), Type("dtype", dtype.I32))[0]
}

// upper returns the upper n bits of words, as i32.
func upper(b *Builder, w Desc, n int) Desc {
	shifted := b.Do(Shr, w, b.FullInt(dtype.I32, int64(32-n), nil)) // extends the sign
	return b.Do(And, shifted, b.FullInt(dtype.I32, 1<<n-1, nil))
}

// fraction returns the upper 24 bits of words over 2^24, exactly, in f32.
func fraction(b *Builder, w Desc) Desc {
	f := b.Cast(upper(b, w, 24), dtype.F32)
	return b.Do(Mul, f, b.Like(f, 0x1p-24))
}
