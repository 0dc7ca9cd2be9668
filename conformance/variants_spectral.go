package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// lengths holds lengths of transforms: small, prime, powers of two, and long ones that are split or convolved.
var lengths = []int{1, 2, 3, 4, 5, 8, 12, 17, 30, 64}

func transforms(each func(name string, n int) variant, longer ...int) []variant {
	var vs []variant
	for _, n := range lengths {
		vs = append(vs, each("length-"+number(n), n))
	}
	for _, n := range longer {
		vs = append(vs, each("length-"+number(n), n).only(dtype.F32, dtype.F64))
	}
	return vs
}

func number(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return number(n/10) + string(rune('0'+n%10))
}

// windowVariants returns a window in its sizes, for each float type.
func windowVariants(params ...[]op.Attr) []variant {
	var vs []variant
	for _, d := range dtype.Set(dtype.Floats).List() {
		for _, size := range []int{0, 1, 2, 3, 8, 33, 400} {
			for i, p := range append(params, nil) {
				for _, periodic := range []bool{true, false} {
					name := d.String() + "-" + number(size) + "-" + number(i)
					if !periodic {
						name += "-symmetric"
					}
					vs = append(vs, v(name, nil, append(p[:len(p):len(p)], op.Int("size", size), op.Flag("periodic", periodic), op.Type("dtype", d))...).only(d))
				}
			}
		}
	}
	return vs
}

// frames returns the attributes of stft and istft.
func frames(n, hop int, more ...op.Attr) []op.Attr {
	return append(more, op.Int("n_fft", n), op.Int("hop", hop))
}

var (
	norms3              = []string{"ortho", "forward", "backward"}
	notCentred, allBins = op.Flag("center", false), op.Flag("onesided", false)
	inverse, wide       = op.Flag("inverse", true), op.Domain{Lo: 0.5, Hi: 1}
	axis0, axis1        = op.Int("axis", 0), op.Int("axis", 1)
)

func spectralPlans() map[op.Code]plan {
	fft := append(transforms(func(name string, n int) variant { return v(name, shapes(dims(1, n, 2)), axis1) }, 65, 128, 263),
		v("inverse", shapes(dims(3, 10, 2)), axis1, inverse), v("front", shapes(dims(6, 3, 2)), axis0), v("middle-inverse", shapes(dims(2, 7, 3, 2)), axis1, inverse),
		v("line", shapes(dims(9, 2)), axis0), v("empty", shapes(dims(0, 4, 2)), axis1), v("long-inverse", shapes(dims(1, 100, 2)), axis1, inverse).only(dtype.F32, dtype.F64),
		v("prime-inverse", shapes(dims(1, 257, 2)), axis1, inverse).only(dtype.F32))
	rfft := append(transforms(func(name string, n int) variant { return v(name, shapes(dims(2, n)), axis1) }, 90),
		v("front", shapes(dims(6, 3)), axis0), v("filled", shapes(dims(2, 5)), axis1, op.Int("n", 8)), v("cut", shapes(dims(2, 9, 2)), axis1, op.Int("n", 6)), v("from-none", shapes(dims(2, 0)), axis1, op.Int("n", 3)),
		v("empty", shapes(dims(0, 4)), axis1))
	irfft := append(transforms(func(name string, n int) variant { return v(name, shapes(dims(2, n/2+1, 2)), axis1, op.Int("n", n)) }, 65),
		v("front", shapes(dims(4, 3, 2)), axis0, op.Int("n", 7)), v("filled", shapes(dims(2, 3, 2)), axis1, op.Int("n", 12)), v("cut", shapes(dims(2, 9, 3, 2)), axis1, op.Int("n", 6)),
		v("from-none", shapes(dims(2, 0, 2)), axis1, op.Int("n", 3)))
	for _, n := range norms3 {
		norm := op.Str("norm", n)
		fft = append(fft, v(n, shapes(dims(2, 6, 2)), axis1, norm), v(n+"-inverse", shapes(dims(2, 6, 2)), axis1, norm, inverse))
		rfft = append(rfft, v(n, shapes(dims(2, 6)), axis1, norm))
		irfft = append(irfft, v(n, shapes(dims(2, 4, 2)), axis1, norm, op.Int("n", 7)))
	}
	return map[op.Code]plan{
		op.FFT: {variants: fft}, op.RFFT: {variants: rfft}, op.IRFFT: {variants: irfft},
		op.FFTShift: {special: extreme, variants: []variant{v("even", shapes(dims(3, 6)), op.Ints("axes", 1)), v("odd", shapes(dims(5, 3)), op.Ints("axes", 0, 1)),
			v("inverse", shapes(dims(5, 4)), op.Ints("axes", 0, 1), inverse), v("none", shapes(dims(2, 3)), op.Ints("axes")), v("empty", shapes(dims(0, 3)), op.Ints("axes", 0, 1))}},
		op.STFT: {variants: []variant{v("centred", shapes(dims(2, 19), dims(8)), frames(8, 3)...), v("not-centred", shapes(dims(2, 19), dims(8)), frames(8, 4, notCentred)...),
			v("all-bins", shapes(dims(17), dims(5)), frames(5, 2, allBins)...), v("short-window", shapes(dims(2, 15), dims(4)), frames(7, 2)...), v("one-frame", shapes(dims(3, 8), dims(8)), frames(8, 5, notCentred)...),
			v("hop-one", shapes(dims(1, 9), dims(1)), frames(1, 1)...), v("long", shapes(dims(1, 150), dims(50)), frames(72, 40)...).only(dtype.F32, dtype.F64)}},
		op.ISTFT: {variants: []variant{v("centred", shapes(dims(2, 5, 5, 2), dims(8)), frames(8, 3)...).domain(1, wide), v("not-centred", shapes(dims(2, 4, 5, 2), dims(8)), frames(8, 4, notCentred)...).domain(1, wide),
			v("all-bins", shapes(dims(6, 5, 2), dims(5)), frames(5, 2, allBins)...).domain(1, wide), v("short-window", shapes(dims(2, 5, 4, 2), dims(4)), frames(7, 2)...).domain(1, wide),
			v("gaps", shapes(dims(1, 3, 3, 2), dims(4)), frames(4, 6, notCentred)...).domain(1, wide), v("cut", shapes(dims(2, 5, 5, 2), dims(8)), frames(8, 3, op.Int("length", 7))...).domain(1, wide),
			v("filled", shapes(dims(2, 5, 5, 2), dims(8)), frames(8, 3, op.Int("length", 30))...).domain(1, wide)}},
		op.HannWindow: {variants: windowVariants()}, op.HammingWindow: {variants: windowVariants(set(op.Float("alpha", 25.0/46)))}, op.BlackmanWindow: {variants: windowVariants()},
		op.KaiserWindow: {variants: windowVariants(set(op.Float("beta", 0)), set(op.Float("beta", 5.5)), set(op.Float("beta", 300)))},
	}
}

func init() { register(spectralPlans()) }
