package narrow

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// wide rewrites an operation on integers of 64 bits and returns its result.
func (r *rewriter) wide(in *ir.Inst) pair {
	d := r.typeOf(in, 0)
	if in.Op == ir.Select {
		c, x, y := r.arg(in, 0).lo, r.arg(in, 1), r.arg(in, 2)
		return r.choose(c, x, y)
	}
	x := r.arg(in, 0)
	switch in.Op {
	case ir.Bitcast:
		return pair{x.lo, r.Bitcast(high(in.Type), x.hi)}
	case ir.Neg:
		return r.negative(x)
	case ir.Abs:
		if d == dtype.U64 {
			return x
		}
		return r.choose(r.negativeSign(x), r.negative(x), x)
	case ir.Not:
		return pair{r.Unary(ir.Not, x.lo), r.Unary(ir.Not, x.hi)}
	case ir.FMA:
		return r.add(r.mul(x, r.arg(in, 1)), r.arg(in, 2))
	}
	if len(in.Args) != 2 {
		refuse("%s", r.old.Line(in))
	}
	y := r.arg(in, 1)
	switch in.Op {
	case ir.Add:
		return r.add(x, y)
	case ir.Sub:
		return r.sub(x, y)
	case ir.Mul:
		return r.mul(x, y)
	case ir.MulHi:
		return r.mulHi(d, x, y)
	case ir.Div, ir.Rem:
		return r.divide(in.Op, d, x, y)
	case ir.Min:
		return r.choose(r.less(d, x, y), x, y)
	case ir.Max:
		return r.choose(r.less(d, x, y), y, x)
	case ir.And, ir.Or, ir.Xor:
		return pair{r.Binary(in.Op, x.lo, y.lo), r.Binary(in.Op, x.hi, y.hi)}
	case ir.Shl:
		return r.shl(x, y.lo)
	case ir.Shr:
		return r.shr(x, y.lo)
	case ir.Eq:
		return pair{lo: r.And(r.Eq(x.lo, y.lo), r.Eq(x.hi, y.hi))}
	case ir.Ne:
		return pair{lo: r.Or(r.Ne(x.lo, y.lo), r.Ne(x.hi, y.hi))}
	case ir.Lt:
		return pair{lo: r.less(d, x, y)}
	case ir.Le:
		return pair{lo: r.atMost(d, x, y)}
	}
	refuse("%s", r.old.Line(in))
	return pair{}
}

// choose returns x if c is true, else y.
func (r *rewriter) choose(c ir.Value, x, y pair) pair {
	return pair{r.Select(c, x.lo, y.lo), r.Select(c, x.hi, y.hi)}
}

// u32 returns a constant word.
func (r *rewriter) u32(n uint32) ir.Value { return r.Const(dtype.U32, uint64(n)) }

// isZero reports whether x is known to be 0.
func (r *rewriter) isZero(x pair) bool {
	return x.lo == r.u32(0) && x.hi == r.Const(r.TypeOf(x.hi), 0)
}

// less returns x < y. The comparison has a form from which package ir concludes which words are 0 if y is small and x is not below 0.
func (r *rewriter) less(d dtype.DType, x, y pair) ir.Value {
	if d == dtype.I64 && r.isZero(y) {
		return r.negativeSign(x)
	}
	return r.Or(r.Lt(x.hi, y.hi), r.And(r.Eq(x.hi, y.hi), r.Lt(x.lo, y.lo)))
}

// atMost returns x ≤ y.
func (r *rewriter) atMost(d dtype.DType, x, y pair) ir.Value {
	if d == dtype.I64 && r.isZero(x) {
		return r.Le(r.Const(dtype.I32, 0), y.hi)
	}
	return r.Or(r.Lt(x.hi, y.hi), r.And(r.Eq(x.hi, y.hi), r.Le(x.lo, y.lo)))
}

// negativeSign returns a bool that says whether an i64 is below 0.
func (r *rewriter) negativeSign(x pair) ir.Value { return r.Lt(x.hi, r.Const(dtype.I32, 0)) }

// truth returns c converted to 0 or 1 in the type of v.
func (r *rewriter) truth(v, c ir.Value) ir.Value { return r.Cast(r.TypeOf(v), c) }

func (r *rewriter) add(x, y pair) pair {
	lo := r.Add(x.lo, y.lo)
	return pair{lo, r.Add(r.Add(x.hi, y.hi), r.truth(x.hi, r.Lt(lo, x.lo)))}
}

func (r *rewriter) sub(x, y pair) pair {
	return pair{r.Sub(x.lo, y.lo), r.Sub(r.Sub(x.hi, y.hi), r.truth(x.hi, r.Lt(x.lo, y.lo)))}
}

func (r *rewriter) negative(x pair) pair {
	return r.sub(pair{r.u32(0), r.Const(r.TypeOf(x.hi), 0)}, x)
}

// mul returns x·y modulo 2^64.
func (r *rewriter) mul(x, y pair) pair {
	top := r.Add(r.Mul(x.lo, r.Bitcast(dtype.U32, y.hi)), r.Mul(r.Bitcast(dtype.U32, x.hi), y.lo))
	return pair{r.Mul(x.lo, y.lo), r.Bitcast(r.TypeOf(x.hi), r.Add(r.Binary(ir.MulHi, x.lo, y.lo), top))}
}

// unsigned returns the bits of x as a u64.
func (r *rewriter) unsigned(x pair) pair { return pair{x.lo, r.Bitcast(dtype.U32, x.hi)} }

// mulHi returns the high 64 bits of the product.
func (r *rewriter) mulHi(d dtype.DType, x, y pair) pair {
	a, b := r.unsigned(x), r.unsigned(y)
	product := func(u, v ir.Value) pair { return pair{r.Mul(u, v), r.Binary(ir.MulHi, u, v)} }
	cross, other := product(a.lo, b.hi), product(a.hi, b.lo)
	middle := r.add(r.add(pair{r.Binary(ir.MulHi, a.lo, b.lo), r.u32(0)}, pair{cross.lo, r.u32(0)}), pair{other.lo, r.u32(0)})
	h := r.add(product(a.hi, b.hi), pair{cross.hi, r.u32(0)})
	h = r.add(r.add(h, pair{other.hi, r.u32(0)}), pair{middle.hi, r.u32(0)})
	if d == dtype.U64 {
		return h
	}
	none := pair{r.u32(0), r.u32(0)}
	h = r.sub(h, r.choose(r.negativeSign(x), b, none))
	h = r.sub(h, r.choose(r.negativeSign(y), a, none))
	return pair{h.lo, r.Bitcast(dtype.I32, h.hi)}
}

// shl returns x shifted left by n. n is below 64.
func (r *rewriter) shl(x pair, n ir.Value) pair {
	s, far := r.And(n, r.u32(31)), r.Ne(r.And(n, r.u32(32)), r.u32(0))
	lo := r.Binary(ir.Shl, x.lo, s)
	// The bits that are shifted out of the low word; none if s is 0.
	out := r.Binary(ir.Shr, r.Binary(ir.Shr, x.lo, r.u32(1)), r.Sub(r.u32(31), s))
	hi := r.Or(r.Binary(ir.Shl, r.Bitcast(dtype.U32, x.hi), s), out)
	return pair{r.Select(far, r.u32(0), lo), r.Bitcast(r.TypeOf(x.hi), r.Select(far, lo, hi))}
}

// shr returns x shifted right by n, arithmetically for an i64. n is below 64.
func (r *rewriter) shr(x pair, n ir.Value) pair {
	s, far := r.And(n, r.u32(31)), r.Ne(r.And(n, r.u32(32)), r.u32(0))
	d := r.TypeOf(x.hi)
	hi := r.Binary(ir.Shr, x.hi, r.Bitcast(d, s))
	in := r.Binary(ir.Shl, r.Binary(ir.Shl, r.Bitcast(dtype.U32, x.hi), r.u32(1)), r.Sub(r.u32(31), s))
	lo := r.Or(r.Binary(ir.Shr, x.lo, s), in)
	sign := r.Const(d, 0)
	if d == dtype.I32 {
		sign = r.Binary(ir.Shr, x.hi, r.Const(d, 31))
	}
	return pair{r.Select(far, r.Bitcast(dtype.U32, hi), lo), r.Select(far, sign, hi)}
}

// divide returns the quotient of x and y, truncated toward zero, or the remainder. y is not 0.
func (r *rewriter) divide(o ir.Op, d dtype.DType, x, y pair) pair {
	if d == dtype.U64 {
		return r.divideBits(o, x, y)
	}
	a, b := r.choose(r.negativeSign(x), r.negative(x), x), r.choose(r.negativeSign(y), r.negative(y), y)
	q := r.divideBits(o, r.unsigned(a), r.unsigned(b))
	q.hi = r.Bitcast(dtype.I32, q.hi)
	below := r.negativeSign(x)
	if o == ir.Div {
		below = r.Binary(ir.Xor, below, r.negativeSign(y))
	}
	return r.choose(below, r.negative(q), q)
}

// divideBits divides unsigned numbers: as words if both fit, otherwise bit by bit. The bits of the quotient replace the bits of x that are
// shifted out.
func (r *rewriter) divideBits(o ir.Op, x, y pair) pair {
	var q, rest [2]ir.Var
	for i, half := range []string{"lo", "hi"} {
		q[i], rest[i] = r.Local("quotient_"+half, dtype.U32, 1), r.Local("rest_"+half, dtype.U32, 1)
	}
	get := func(v [2]ir.Var) pair { return pair{r.At(v[0]), r.At(v[1])} }
	put := func(v [2]ir.Var, x pair) {
		r.Put(v[0], x.lo)
		r.Put(v[1], x.hi)
	}
	zero, one := r.u32(0), r.u32(1)
	r.IfElse(r.Eq(r.Or(x.hi, y.hi), zero), func() {
		put(q, pair{r.Div(x.lo, y.lo), zero})
		put(rest, pair{r.Rem(x.lo, y.lo), zero})
	}, func() {
		put(q, x)
		put(rest, pair{zero, zero})
		r.For(r.Int(0), r.Int(64), 1, func(ir.Value) {
			n, m := get(q), get(rest)
			over := r.Ne(r.Binary(ir.Shr, m.hi, r.u32(31)), zero) // the 65th bit
			m = r.shl(m, one)
			m.lo = r.Or(m.lo, r.Binary(ir.Shr, n.hi, r.u32(31)))
			n = r.shl(n, one)
			fits := r.Or(over, r.atMost(dtype.U64, y, m))
			n.lo = r.Or(n.lo, r.truth(n.lo, fits))
			put(q, n)
			put(rest, r.choose(fits, r.sub(m, y), m))
		})
	})
	if o == ir.Div {
		return get(q)
	}
	return get(rest)
}

// cast converts x of type from to type to.
func (r *rewriter) cast(to, from dtype.DType, x pair) pair {
	switch {
	case !wide.Has(to) && !wide.Has(from):
		return pair{lo: r.Cast(to, x.lo)}
	case wide.Has(to) && wide.Has(from):
		return pair{x.lo, r.Bitcast(high(to), x.hi)}
	case wide.Has(from):
		return pair{lo: r.shorten(to, from, x)}
	case from.IsFloat():
		return r.whole(to, r.Cast(dtype.F32, x.lo))
	case from.Class() == dtype.Signed:
		v := r.Cast(dtype.I32, x.lo)
		return pair{r.Cast(dtype.U32, v), r.Bitcast(high(to), r.Binary(ir.Shr, v, r.Const(dtype.I32, 31)))}
	}
	return pair{r.Cast(dtype.U32, x.lo), r.Const(high(to), 0)}
}

// shorten converts an integer of 64 bits to another type.
func (r *rewriter) shorten(to, from dtype.DType, x pair) ir.Value {
	switch {
	case to == dtype.Bool:
		return r.Ne(r.Or(x.lo, r.Bitcast(dtype.U32, x.hi)), r.u32(0))
	case !to.IsFloat():
		return r.Cast(to, x.lo)
	case from == dtype.U64:
		return r.Cast(to, r.float(x))
	}
	below := r.negativeSign(x)
	f := r.float(r.unsigned(r.choose(below, r.negative(x), x)))
	return r.Cast(to, r.Select(below, r.Unary(ir.Neg, f), f))
}

// float returns a u64 converted to f32, rounded once. Bits of the low word are moved into the high word until it has more bits than f32
// keeps. The last bit is set if any remaining bit is set (a sticky bit).
func (r *rewriter) float(x pair) ir.Value {
	one := r.Float(dtype.F32, 1<<32)
	scale := one
	y := x
	for _, n := range []uint32{16, 8, 4} {
		small := r.Lt(y.hi, r.u32(1<<(32-n)))
		y = r.choose(small, r.shl(y, r.u32(n)), y)
		scale = r.Select(small, r.Mul(scale, r.Float(dtype.F32, 1/float64(uint32(1)<<n))), scale)
	}
	top := r.Or(y.hi, r.Cast(dtype.U32, r.Ne(y.lo, r.u32(0))))
	return r.Select(r.Eq(x.hi, r.u32(0)), r.Cast(dtype.F32, x.lo), r.Mul(r.Cast(dtype.F32, top), scale))
}

// whole returns an f32 truncated to an integer of type to. The f32 must be in the range of to.
func (r *rewriter) whole(to dtype.DType, f ir.Value) pair {
	a := r.Unary(ir.Abs, f)
	h := r.Unary(ir.Floor, r.Mul(a, r.Float(dtype.F32, 0x1p-32)))
	l := r.FMA(h, r.Float(dtype.F32, -0x1p32), a) // exact
	x := pair{r.Cast(dtype.U32, l), r.Cast(dtype.U32, h)}
	if to == dtype.U64 {
		return x
	}
	x.hi = r.Bitcast(dtype.I32, x.hi)
	return r.choose(r.Lt(f, r.Float(dtype.F32, 0)), r.negative(x), x)
}
