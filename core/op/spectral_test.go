package op_test

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// framed returns the attributes of STFT and ISTFT.
func framed(n, hop int, more ...op.Attr) []op.Attr {
	return append(more, op.Int("n_fft", n), op.Int("hop", hop))
}

func init() {
	n := func(n, ax int, more ...op.Attr) []op.Attr { return append(more, op.Int("n", n), op.Int("axis", ax)) }
	off, twoSided := op.Flag("center", false), op.Flag("onesided", false)
	violations = append(violations, []violation{
		{op.FFT, "C1", ins(f(4)), axis(0), op.ErrShape}, {op.FFT, "C1", ins(f(4, 3)), axis(0), op.ErrShape}, {op.FFT, "C2", ins(f(4, 2)), axis(1), op.ErrShape}, {op.FFT, "C3", ins(f(0, 2)), axis(0), op.ErrShape},
		{op.RFFT, "C1", ins(f(4)), axis(1), op.ErrShape}, {op.RFFT, "C2", ins(f(0)), axis(0), op.ErrShape}, {op.RFFT, "C2", ins(f(4)), n(-1, 0), op.ErrShape},
		{op.IRFFT, "C1", ins(f(4)), n(3, 0), op.ErrShape}, {op.IRFFT, "C2", ins(f(4, 2)), n(3, 1), op.ErrShape}, {op.IRFFT, "C3", ins(f(4, 2)), n(0, 0), op.ErrAttr},
		{op.STFT, "C1", ins(f(), f(2)), framed(2, 1), op.ErrShape}, {op.STFT, "C2", ins(f(9), f(2)), framed(2, 0), op.ErrAttr}, {op.STFT, "C2", ins(f(9), f(2)), framed(0, 1), op.ErrAttr},
		{op.STFT, "C3", ins(f(9), f(3)), framed(2, 1), op.ErrShape}, {op.STFT, "C3", ins(f(9), f(1, 2)), framed(2, 1), op.ErrShape}, {op.STFT, "C4", ins(f(3), f(4)), framed(4, 1, off), op.ErrShape},
		{op.STFT, "C4", ins(f(2), f(4)), framed(4, 1), op.ErrShape},
		{op.ISTFT, "C1", ins(f(3, 3), f(4)), framed(4, 1), op.ErrShape}, {op.ISTFT, "C1", ins(f(0, 3, 2), f(4)), framed(4, 1), op.ErrShape}, {op.ISTFT, "C2", ins(f(2, 3, 2), f(4)), framed(4, -1), op.ErrAttr},
		{op.ISTFT, "C3", ins(f(2, 3, 2), f(5)), framed(4, 1), op.ErrShape}, {op.ISTFT, "C4", ins(f(2, 4, 2), f(4)), framed(4, 1), op.ErrShape}, {op.ISTFT, "C4", ins(f(2, 3, 2), f(4)), framed(4, 1, twoSided), op.ErrShape},
		{op.ISTFT, "C5", ins(f(2, 3, 2), f(4)), framed(4, 1, op.Int("length", -1)), op.ErrAttr},
		{op.HammingWindow, "C3", nil, with(op.Int("size", 3), op.Float("alpha", math.NaN())), op.ErrAttr}, {op.KaiserWindow, "C3", nil, with(op.Int("size", 3), op.Float("beta", -1)), op.ErrAttr},
	}...)
	symmetric := op.Flag("periodic", false)
	for _, c := range []op.Code{op.HannWindow, op.HammingWindow, op.BlackmanWindow, op.KaiserWindow} {
		violations = append(violations, violation{c, "C1", nil, with(op.Int("size", -1)), op.ErrAttr}, violation{c, "C2", nil, with(op.Int("size", 1), op.Type("dtype", dtype.I64)), op.ErrDType})
		samples = append(samples, sample{c, nil, with(op.Int("size", 9))}, sample{c, nil, with(op.Int("size", 8), symmetric)}, sample{c, nil, with(op.Int("size", 1))}, sample{c, nil, with(op.Int("size", 0))})
		inferences = append(inferences, inference{c, nil, with(op.Int("size", 5), op.Type("dtype", dtype.BF16)), ins(op.DescOf(dtype.BF16, 5))})
	}
	samples = append(samples, []sample{
		{op.FFT, ins(f(6, 2)), axis(0)}, {op.FFT, ins(f(3, 7, 2)), with(op.Int("axis", 0), op.Flag("inverse", true), op.Str("norm", "ortho"))}, {op.RFFT, ins(f(2, 7)), axis(1)}, {op.RFFT, ins(f(5, 2)), n(8, 0)},
		{op.IRFFT, ins(f(2, 4, 2)), n(7, 1)}, {op.IRFFT, ins(f(3, 2)), n(8, 0, op.Str("norm", "forward"))}, {op.FFTShift, ins(f(5, 4)), with(axes(0, 1))}, {op.FFTShift, ins(f(5, 1)), with(axes(0), op.Flag("inverse", true))},
		{op.STFT, ins(f(2, 9), f(4)), framed(4, 2)}, {op.STFT, ins(f(9), f(3)), framed(5, 3, off, twoSided)},
		{op.ISTFT, ins(f(4, 4, 2), f(4)), framed(7, 3, op.Int("length", 11))}, {op.ISTFT, ins(f(2, 2, 5, 2), f(8)), framed(8, 5, op.Int("length", 20))},
		{op.ISTFT, ins(f(2, 5, 3, 2), f(4)), framed(4, 2)}, {op.ISTFT, ins(f(3, 5, 2), f(4)), framed(5, 2, off, twoSided, op.Int("length", 12))},
	}...)
	inferences = append(inferences, []inference{
		{op.RFFT, ins(f(3, 7, 4)), axis(1), ins(f(3, 4, 4, 2))}, {op.RFFT, ins(f(3)), n(8, 0), ins(f(5, 2))}, {op.IRFFT, ins(f(3, 5, 2)), n(9, 1), ins(f(3, 9))},
		{op.STFT, ins(f(2, 16000), f(400)), framed(400, 160), ins(f(2, 101, 201, 2))}, {op.STFT, ins(f(16), f(4)), framed(4, 4, off, twoSided), ins(f(4, 4, 2))},
		{op.ISTFT, ins(f(2, 101, 201, 2), f(400)), framed(400, 160), ins(f(2, 16000))}, {op.ISTFT, ins(f(4, 3, 2), f(4)), framed(4, 4, off, op.Int("length", 20)), ins(f(20))},
	}...)
}
