package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// runningProduct is a running product of floats of at most 32 bits on hardware without f64. In f32 an intermediate product of a few numbers
// may leave the range of the type although the result is within it: 2^-149 times 0.4 is 0 in f32, and 0 times infinity is NaN, while the
// exact product of the three numbers is infinite. The order in which blocks, threads and subgroups of a scan combine neighbours depends on
// the hardware, and so would the products that leave the range.
//
// The state is a significand of magnitude in [1, 2) and the exponent of 2, both f32. Zeros, infinities and NaN are significands
// themselves. The exponent is an integer; as a float it cannot wrap however many numbers there are.
type runningProduct struct{ d dtype.DType }

const (
	signAndFraction = 0x807fffff // the bits of an f32 except its exponent
	bitsOfOne       = 0x3f800000
	exponentShift   = 23
	exponentMask    = 0xff
	exponentBias    = 127
	leastNormal     = 0x1p-126
	normalizing     = 32 // multiplication by 2 to this power makes each subnormal number normal
)

func (r runningProduct) in() dtype.DType       { return r.d }
func (r runningProduct) out() dtype.DType      { return r.d }
func (r runningProduct) states() []dtype.DType { return []dtype.DType{dtype.F32, dtype.F32} }
func (r runningProduct) commutes() bool        { return true }

func (r runningProduct) identity(p *ir.Builder) []ir.Value {
	return []ir.Value{p.Float(dtype.F32, 1), p.Float(dtype.F32, 0)}
}

func (r runningProduct) lift(p *ir.Builder, v, _ ir.Value) []ir.Value {
	f := func(x float64) ir.Value { return p.Float(dtype.F32, x) }
	u := func(x uint64) ir.Value { return p.Const(dtype.U32, x) }
	x := p.Cast(dtype.F32, v)
	small := p.Lt(p.Unary(ir.Abs, x), f(leastNormal))
	x = p.Select(small, p.Mul(x, f(1<<normalizing)), x)
	bits := p.Bitcast(dtype.U32, x)
	exponent := p.And(p.Binary(ir.Shr, bits, u(exponentShift)), u(exponentMask))
	number := p.Lt(p.Sub(exponent, u(1)), u(exponentMask-1)) // neither 0 nor infinite nor NaN
	significand := p.Bitcast(dtype.F32, p.Or(p.And(bits, u(signAndFraction)), u(bitsOfOne)))
	e := p.Sub(p.Cast(dtype.F32, exponent), p.Select(small, f(exponentBias+normalizing), f(exponentBias)))
	return []ir.Value{p.Select(number, significand, x), p.Select(number, e, f(0))}
}

func (r runningProduct) join(p *ir.Builder, a, b []ir.Value) []ir.Value {
	f := func(x float64) ir.Value { return p.Float(dtype.F32, x) }
	m := p.Mul(a[0], b[0])
	large := p.Le(f(2), p.Unary(ir.Abs, m))
	return []ir.Value{p.Select(large, p.Mul(m, f(0.5)), m), p.Add(p.Add(a[1], b[1]), p.Select(large, f(1), f(0)))}
}

// lower multiplies by two powers of 2. The product by the first is exact, so that a result below the least normal number is rounded once.
func (r runningProduct) lower(p *ir.Builder, s []ir.Value) ir.Value {
	f := func(x float64) ir.Value { return p.Float(dtype.F32, x) }
	within := func(e ir.Value) ir.Value {
		e = p.Select(p.Lt(e, f(1-exponentBias)), f(1-exponentBias), e)
		return p.Select(p.Lt(f(exponentBias), e), f(exponentBias), e)
	}
	power := func(e ir.Value) ir.Value {
		bits := p.Cast(dtype.U32, p.Add(e, f(exponentBias)))
		return p.Bitcast(dtype.F32, p.Binary(ir.Shl, bits, p.Const(dtype.U32, exponentShift)))
	}
	first := within(s[1])
	return p.Cast(r.d, p.Mul(p.Mul(s[0], power(first)), power(within(p.Sub(s[1], first)))))
}
