package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Complex tensors are float tensors with a last dimension of 2: the real and the imaginary part.

// Complex combines real and imaginary parts.
func Complex(re, im *Tensor) *Tensor { return Stack(-1, re, im) }

// Real returns the real part of complex t.
func (t *Tensor) Real() *Tensor { return t.part("real", 0) }

// Imag returns the imaginary part of complex t.
func (t *Tensor) Imag() *Tensor { return t.part("imag", 1) }

func (t *Tensor) part(name string, i int) *Tensor {
	if t.Rank() == 0 || t.desc.Shape[t.Rank()-1] != 2 {
		fail("%s: %v, want a last dimension of 2: %w", name, t.desc, op.ErrShape)
	}
	return t.Select(-1, i)
}

// FFTOptions configures the Fourier transforms.
type FFTOptions struct {
	N    int    // length of the transform of RFFT and of the result of IRFFT; 0 means the length n of the axis in RFFT, 2·(n-1) in IRFFT
	Norm string // direction that is scaled: "backward" (also ""), "forward", or "ortho" for both
}

func (o FFTOptions) norm() op.Attr { return op.Str("norm", or(o.Norm, "backward")) }

// frequency returns the attribute of an axis of complex t. Negative axes count from the end, without the last dimension.
func (t *Tensor) frequency(name string, a int) op.Attr {
	return op.Int("axis", t.axis(name, a, max(0, t.Rank()-1)))
}

// FFT returns the discrete Fourier transform of complex t along axis.
func (t *Tensor) FFT(axis int, o FFTOptions) *Tensor {
	return t.un(op.FFT, t.frequency("fft", axis), o.norm())
}

// IFFT returns the inverse of FFT.
func (t *Tensor) IFFT(axis int, o FFTOptions) *Tensor {
	return t.un(op.FFT, t.frequency("ifft", axis), op.Flag("inverse", true), o.norm())
}

// RFFT returns elements 0 to N/2 of the Fourier transform of real t along axis, complex; t is truncated or padded with zeros to
// N.
func (t *Tensor) RFFT(axis int, o FFTOptions) *Tensor {
	return t.along(op.RFFT, axis, op.Int("n", o.N), o.norm())
}

// IRFFT returns the real signal of length N whose RFFT along axis is t; N 0 means 2·(n-1) for an axis of length n, and at least
// 1.
func (t *Tensor) IRFFT(axis int, o FFTOptions) *Tensor {
	a := t.frequency("irfft", axis)
	if o.N == 0 {
		o.N = max(1, 2*(t.desc.Shape[a.Value.Int()]-1))
	}
	return t.un(op.IRFFT, a, op.Int("n", o.N), o.norm())
}

// FFTShift moves the zero frequency to the middle of axes; without axes, of all axes.
func (t *Tensor) FFTShift(axes ...int) *Tensor {
	return t.un(op.FFTShift, op.Ints("axes", t.axes("fftshift", axes)...))
}

// IFFTShift returns the inverse of FFTShift.
func (t *Tensor) IFFTShift(axes ...int) *Tensor {
	return t.un(op.FFTShift, op.Ints("axes", t.axes("ifftshift", axes)...), op.Flag("inverse", true))
}

// STFTOptions holds the settings of STFT and ISTFT. Only N is required.
type STFTOptions struct {
	N        int     // length of a transform
	Hop      int     // distance between frames; 0 for N/4, at least 1
	Window   *Tensor // at most N long; nil for N ones
	NoCenter bool    // frames begin at f·Hop; else they are centred there, and t is mirrored at its ends
	TwoSided bool    // N bins instead of N/2+1
	Length   int     // length of the result of ISTFT; 0 for the length that the frames cover
}

// of returns the operands and the attributes for t. It records a default window in m.
func (o STFTOptions) of(m *temps, t *Tensor) ([]*Tensor, []op.Attr) {
	hop, w := o.Hop, o.Window
	if hop == 0 {
		hop = max(1, o.N/4)
	}
	if w == nil {
		w = m.of(t.within().Ones(t.desc.DType, max(0, o.N)))
	}
	return []*Tensor{t, w}, []op.Attr{op.Int("n_fft", o.N), op.Int("hop", hop), op.Flag("center", !o.NoCenter), op.Flag("onesided", !o.TwoSided)}
}

// STFT returns the Fourier transform of windowed frames of real t[..., length]: complex [..., frames, bins, 2].
func (t *Tensor) STFT(o STFTOptions) *Tensor {
	var m temps
	in, attrs := o.of(&m, t)
	return m.done(Op(op.STFT, in, attrs...)[0])
}

// ISTFT returns the least-squares signal whose STFT with the same options is t[..., frames, bins, 2].
func (t *Tensor) ISTFT(o STFTOptions) *Tensor {
	var m temps
	in, attrs := o.of(&m, t)
	return m.done(Op(op.ISTFT, in, append(attrs, op.Int("length", o.Length))...)[0])
}

func (d *Device) window(c op.Code, dt dtype.DType, n int, periodic bool, attrs ...op.Attr) *Tensor {
	return d.Op(c, nil, append(attrs, op.Int("size", n), op.Flag("periodic", periodic), op.Type("dtype", dt))...)[0]
}

// HannWindow returns n elements 0.5 - 0.5·cos(2πk/N), where N is n if periodic, else n-1.
func (d *Device) HannWindow(dt dtype.DType, n int, periodic bool) *Tensor {
	return d.window(op.HannWindow, dt, n, periodic)
}

// HammingWindow returns n elements 0.54 - 0.46·cos(2πk/N), where N is n if periodic, else n-1.
func (d *Device) HammingWindow(dt dtype.DType, n int, periodic bool) *Tensor {
	return d.window(op.HammingWindow, dt, n, periodic)
}

// BlackmanWindow returns n elements 0.42 - 0.5·cos(2πk/N) + 0.08·cos(4πk/N), where N is n if periodic, else n-1.
func (d *Device) BlackmanWindow(dt dtype.DType, n int, periodic bool) *Tensor {
	return d.window(op.BlackmanWindow, dt, n, periodic)
}

// KaiserWindow returns n elements of the Kaiser window with the given shape beta. PyTorch's beta is 12.
func (d *Device) KaiserWindow(dt dtype.DType, n int, periodic bool, beta float64) *Tensor {
	return d.window(op.KaiserWindow, dt, n, periodic, op.Float("beta", beta))
}
