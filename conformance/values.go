package conformance

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// value draws one element of type d from a domain of a row. accumulates is set for rows whose tolerance counts terms.
func value(r *rand.Rand, d dtype.DType, dom op.Domain, accumulates bool) (f float64, i int64) {
	for {
		switch {
		case d == dtype.Bool:
			return 0, r.Int64N(2)
		case d.IsFloat():
			f = ref.Round(d, floatValue(r, dom, accumulates))
		default:
			i = intValue(r, d, dom, accumulates)
		}
		if !dom.NonZero || f != 0 || i != 0 {
			return f, i
		}
	}
}

func floatValue(r *rand.Rand, dom op.Domain, accumulates bool) float64 {
	switch {
	case dom.Lo != 0 || dom.Hi != 0:
		f := dom.Lo + r.Float64()*(dom.Hi-dom.Lo)
		if dom.Whole {
			f = math.Floor(f)
		}
		return f
	case accumulates:
		return 2*r.Float64() - 1
	}
	// Any value: magnitudes from 2^-8 to 2^8, with whole and half numbers among them, for ties.
	f := math.Ldexp(1+r.Float64(), r.IntN(16)-8)
	if r.IntN(4) == 0 {
		f = math.Round(2*f) / 2
	}
	if r.IntN(2) == 0 {
		f = -f
	}
	return f
}

func intValue(r *rand.Rand, d dtype.DType, dom op.Domain, accumulates bool) int64 {
	switch {
	case dtype.Smalls.Has(d):
		return ref.Wrap(d, int64(r.Uint64()))
	case dom.Lo != 0 || dom.Hi != 0:
		lo, hi := int64(math.Ceil(dom.Lo)), int64(math.Floor(dom.Hi))
		if d.Class() == dtype.Unsigned {
			lo = max(lo, 0)
		}
		if bits := 8 * d.Size(); bits < 64 {
			if d.Class() == dtype.Signed {
				bits--
				lo = max(lo, -1<<bits)
			}
			hi = min(hi, 1<<bits-1)
		}
		return lo + r.Int64N(max(1, hi-lo+1))
	case accumulates || r.IntN(3) == 0: // sums wrap around, so any bits are valid
		return ref.Wrap(d, int64(r.Uint64()))
	case d.Class() == dtype.Unsigned:
		return r.Int64N(200)
	}
	return r.Int64N(201) - 100
}

// specials returns the special values of type d: fs for floats, is for all other types.
func specials(d dtype.DType, which specialness) (fs []float64, is []int64) {
	if d == dtype.Bool {
		return nil, []int64{0, 1}
	}
	if dtype.Smalls.Has(d) { // codes: zeros, the least and greatest, NaN and infinities where there are any
		for _, c := range []int64{0, 1, -1, 0x80, 0x7f, 0x7e, 0x7c, 0x7b, 0xfc, 8, 7} {
			is = append(is, ref.Wrap(d, c))
		}
		return nil, is
	}
	if !d.IsFloat() {
		bits := 8 * d.Size()
		least, greatest := int64(0), ref.Wrap(d, -1)
		if d.Class() == dtype.Signed {
			least, greatest = -1<<(bits-1), 1<<(bits-1)-1
		}
		return nil, []int64{0, 1, 2, 3, ref.Wrap(d, -1), ref.Wrap(d, -2), least, greatest, least + 1, greatest - 1, 7, int64(bits)}
	}
	denormal := map[dtype.DType]float64{dtype.F64: 0x1p-1074, dtype.F32: 0x1p-149, dtype.F16: 0x1p-24, dtype.BF16: 0x1p-133}[d]
	normal := d.LeastNormal()
	greatest := map[dtype.DType]float64{dtype.F64: math.MaxFloat64, dtype.F32: math.MaxFloat32, dtype.F16: 65504, dtype.BF16: 0x1.fep127}[d]
	fs = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1}
	if which >= ordinary {
		fs = append(fs, denormal, -denormal)
	}
	if which == extreme {
		fs = append(fs, greatest, -greatest, normal, -normal, 1.5, -2.5, normal-denormal)
	}
	return fs, nil
}

// fill draws all elements of a tensor.
func fill(r *rand.Rand, d op.Desc, dom op.Domain, accumulates bool) ref.Tensor {
	t := ref.Zeros(d)
	for k := range d.Shape.Size() {
		f, i := value(r, d.DType, dom, accumulates)
		put(t, k, f, i)
	}
	return t
}

// setSpecials replaces about a third of the elements by special values of their type.
func setSpecials(r *rand.Rand, t ref.Tensor, which specialness) {
	fs, is := specials(t.Desc.DType, which)
	for k := range t.Desc.Shape.Size() {
		if r.IntN(3) == 0 {
			if t.Desc.DType.IsFloat() {
				t.F[k] = fs[r.IntN(len(fs))]
			} else {
				t.I[k] = is[r.IntN(len(is))]
			}
		}
	}
}

func put(t ref.Tensor, k int, f float64, i int64) {
	if t.Desc.DType.IsFloat() {
		t.F[k] = f
	} else {
		t.I[k] = i
	}
}
