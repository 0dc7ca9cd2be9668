package libtorch

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// Fourier transforms. burn represents complex numbers by a last dimension of size two, torch by complex elements. A val with complex
// elements has the shape of the complex tensor and the type of its real parts. 16-bit floats are transformed in f32.

var spectra = map[op.Code]rule{
	op.FFT:      {run: fft, types: floats, needs: needsLists},
	op.RFFT:     {run: rfft, types: floats, needs: needsLists},
	op.IRFFT:    {run: irfft, types: floats, needs: needsLists},
	op.FFTShift: {run: fftShift, types: anyType, needs: needsLists},
}

var (
	opViewComplex = aten("view_as_complex")
	opViewReal    = aten("view_as_real")
	opFFT         = aten("fft_fft")
	opIFFT        = aten("fft_ifft")
	opRFFT        = aten("fft_rfft")
	opIRFFT       = aten("fft_irfft")
	opRoll        = aten("roll")
)

// complexOf returns x, of shape [..., 2], as a tensor of complex elements. The two parts of an element must be adjacent in memory.
func (w *worker) complexOf(x val) val {
	x = w.convert(x, x.d)
	return w.call(opViewComplex, x.d, x.s[:len(x.s)-1], func(t *torch.Thread) { t.Tensor(x.h) })
}

// partsOf returns a tensor of complex elements as a real tensor of shape [..., 2].
func (w *worker) partsOf(x val) val {
	return w.call(opViewReal, x.d, append(x.s.Clone(), 2), func(t *torch.Thread) { t.Tensor(x.h) })
}

// transform computes a transform of x, with a result of shape s, along the axis of the node, with length n, scaled by the attribute norm.
func (w *worker) transform(o *torch.Operator, x val, s shape.Shape, n int) val {
	axis, norm := w.n.Attrs.Int("axis"), w.n.Attrs.Str("norm")
	return w.call(o, x.d, s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.SomeInt(n)
		t.Int(axis)
		t.SomeText(norm)
	})
}

func fft(w *worker) {
	x, o := w.wide(w.in[0]), opFFT
	if w.n.Attrs.Bool("inverse") {
		o = opIFFT
	}
	if x.s.Size() == 0 {
		w.out[0] = w.empty(w.in[0].d, x.s)
		return
	}
	z := w.complexOf(x)
	w.out[0] = w.to(w.partsOf(w.transform(o, z, z.s, z.s[w.n.Attrs.Int("axis")])), w.in[0].d)
}

func rfft(w *worker) {
	x, d, n := w.wide(w.in[0]), w.n.Outputs[0], w.n.Attrs.Int("n")
	if n == 0 {
		n = x.s[w.n.Attrs.Int("axis")]
	}
	if x.s.Size() == 0 {
		w.out[0] = w.fill(d.DType, d.Shape, op.ScalarInt("", 0).Value)
		return
	}
	w.out[0] = w.to(w.partsOf(w.transform(opRFFT, x, d.Shape[:len(d.Shape)-1], n)), d.DType)
}

func irfft(w *worker) {
	x, d := w.wide(w.in[0]), w.n.Outputs[0]
	if x.s.Size() == 0 {
		w.out[0] = w.fill(d.DType, d.Shape, op.ScalarInt("", 0).Value)
		return
	}
	w.out[0] = w.to(w.transform(opIRFFT, w.complexOf(x), d.Shape, w.n.Attrs.Int("n")), d.DType)
}

func fftShift(w *worker) {
	x, axes := w.in[0], w.n.Attrs.Ints("axes")
	if len(axes) == 0 || x.s.Size() == 0 {
		w.out[0] = x
		return
	}
	by := make([]int, len(axes))
	for i, axis := range axes {
		by[i] = x.s[axis] / 2
		if w.n.Attrs.Bool("inverse") {
			by[i] = -by[i]
		}
	}
	w.out[0] = w.call(opRoll, x.d, x.s, func(t *torch.Thread) {
		t.Tensor(x.h)
		t.Ints(by...)
		t.Ints(axes...)
	})
}
