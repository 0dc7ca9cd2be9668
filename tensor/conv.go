package tensor

import "github.com/goburn/burn/core/op"

// ConvOptions holds the settings of Conv, one entry per spatial dimension. A missing entry means stride 1, no padding, or no dilation;
// Groups 0 means 1.
type ConvOptions struct {
	Strides       []int
	Padding       []int // zeros at each end for which PadLo or PadHi is nil
	PadLo, PadHi  []int // zeros before and after; negative numbers remove elements
	Dilation      []int // distance between elements of the kernel
	InputDilation []int // distance between elements of t, with zeros between them
	Groups        int
	Bias          *Tensor // one per output channel; may be nil
}

// spatial returns v as an attribute of n entries, in which missing entries have the value missing.
func spatial(name string, n int, v []int, missing int) op.Attr {
	full := make([]int, n)
	for i := range full {
		full[i] = missing
		if i < len(v) {
			full[i] = v[i]
		}
	}
	if len(v) > n {
		fail("%s: %d entries, want at most one for each of %d spatial dimensions: %w", name, len(v), n, op.ErrAttr)
	}
	return op.Ints(name, full...)
}

// pads returns the attributes for padding: lo and hi, or both where they are nil.
func pads(n int, both, lo, hi []int) []op.Attr {
	if lo == nil {
		lo = both
	}
	if hi == nil {
		hi = both
	}
	return []op.Attr{spatial("pad_lo", n, lo, 0), spatial("pad_hi", n, hi, 0)}
}

// perChannel returns t plus bias along axis 1, and releases t. If bias is nil, it returns t.
func (t *Tensor) perChannel(bias *Tensor) *Tensor {
	if bias == nil {
		return t
	}
	if bias.Rank() != 1 || bias.Size() != t.desc.Shape[1] {
		fail("bias: %v for %v, want one for each of %d channels: %w", bias.desc, t.desc, t.desc.Shape[1], op.ErrShape)
	}
	var m temps // t is an intermediate result
	return m.done(m.of(t).Add(m.of(bias.channels(t.Rank()))))
}

// channels reshapes a vector of channels so that it broadcasts along axis 1 of a tensor of the given rank.
func (t *Tensor) channels(rank int) *Tensor {
	dims := make([]int, rank-1)
	for i := range dims {
		dims[i] = 1
	}
	dims[0] = t.Size()
	return t.Reshape(dims...)
}

func (t *Tensor) wantRank(name string, rank int) {
	if t.Rank() != rank {
		fail("%s: %v has rank %d, want %d: %w", name, t.desc, t.Rank(), rank, op.ErrShape)
	}
}

// Conv returns the cross-correlation of t[N, C, spatial...] with w[O, C/Groups, kernel...].
func (t *Tensor) Conv(w *Tensor, o ConvOptions) *Tensor {
	n := max(0, t.Rank()-2)
	attrs := append(pads(n, o.Padding, o.PadLo, o.PadHi), spatial("strides", n, o.Strides, 1), spatial("kernel_dilation", n, o.Dilation, 1),
		spatial("input_dilation", n, o.InputDilation, 1), op.Int("groups", max(1, o.Groups)))
	return Op(op.Conv, []*Tensor{t, w}, attrs...)[0].perChannel(o.Bias)
}

// Conv1d is Conv for t[N, C, L] with w[O, C/Groups, k] and a bias[O] that may be nil.
func (t *Tensor) Conv1d(w, bias *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv1d", 3, w, bias, o)
}

// Conv2d is Conv for t[N, C, H, W] with w[O, C/Groups, kh, kw] and a bias[O] that may be nil.
func (t *Tensor) Conv2d(w, bias *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv2d", 4, w, bias, o)
}

// Conv3d is Conv for t[N, C, D, H, W] with w[O, C/Groups, kd, kh, kw] and a bias[O] that may be nil.
func (t *Tensor) Conv3d(w, bias *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv3d", 5, w, bias, o)
}

func (t *Tensor) conv(name string, rank int, w, bias *Tensor, o ConvOptions) *Tensor {
	t.wantRank(name, rank)
	if bias != nil {
		o.Bias = bias
	}
	return t.Conv(w, o)
}

// ConvTransposeOptions holds the settings of ConvTranspose, one entry per spatial dimension. A missing entry means stride 1, no padding, or
// no dilation; Groups 0 means 1.
type ConvTransposeOptions struct {
	Strides       []int
	Padding       []int // elements removed at each end for which PadLo or PadHi is nil
	PadLo, PadHi  []int // elements removed before and after
	OutputPadding []int // elements added after
	Dilation      []int // distance between elements of the kernel
	Groups        int
	Bias          *Tensor // one per output channel; may be nil
}

// ConvTranspose returns the transposed convolution of t[N, C, spatial...] with w[C, O/Groups, kernel...]. A spatial dimension of
// the result is (n-1)·stride + (k-1)·dilation + 1 - PadLo - PadHi + OutputPadding.
func (t *Tensor) ConvTranspose(w *Tensor, o ConvTransposeOptions) *Tensor {
	n := max(0, t.Rank()-2)
	attrs := append(pads(n, o.Padding, o.PadLo, o.PadHi), spatial("strides", n, o.Strides, 1), spatial("dilation", n, o.Dilation, 1),
		spatial("output_padding", n, o.OutputPadding, 0), op.Int("groups", max(1, o.Groups)))
	return Op(op.ConvTranspose, []*Tensor{t, w}, attrs...)[0].perChannel(o.Bias)
}

// ConvTranspose1d is ConvTranspose for t[N, C, L]; bias[O] may be nil.
func (t *Tensor) ConvTranspose1d(w, bias *Tensor, o ConvTransposeOptions) *Tensor {
	return t.convTranspose("conv_transpose1d", 3, w, bias, o)
}

// ConvTranspose2d is ConvTranspose for t[N, C, H, W]; bias[O] may be nil.
func (t *Tensor) ConvTranspose2d(w, bias *Tensor, o ConvTransposeOptions) *Tensor {
	return t.convTranspose("conv_transpose2d", 4, w, bias, o)
}

// ConvTranspose3d is ConvTranspose for t[N, C, D, H, W]; bias[O] may be nil.
func (t *Tensor) ConvTranspose3d(w, bias *Tensor, o ConvTransposeOptions) *Tensor {
	return t.convTranspose("conv_transpose3d", 5, w, bias, o)
}

func (t *Tensor) convTranspose(name string, rank int, w, bias *Tensor, o ConvTransposeOptions) *Tensor {
	t.wantRank(name, rank)
	if bias != nil {
		o.Bias = bias
	}
	return t.ConvTranspose(w, o)
}

// DeformConvOptions holds the settings of DeformConv2d, vertical before horizontal. A missing entry means stride 1, no padding, or no
// dilation; a number of groups of 0 means 1.
type DeformConvOptions struct {
	Strides, Padding, Dilation []int
	Groups                     int     // number of groups of channels
	OffsetGroups               int     // number of groups of channels that share offsets
	Mask                       *Tensor // [N, OffsetGroups·kh·kw, outH, outW]; may be nil
	Bias                       *Tensor // one per output channel; may be nil
}

// DeformConv2d returns the convolution of t[N, C, H, W] with w[O, C/Groups, kh, kw]. It reads the elements of t by linear
// interpolation, 0 outside, at positions shifted by offset[N, OffsetGroups·kh·kw·2, outH, outW], vertical before horizontal, and
// scales them by Mask.
func (t *Tensor) DeformConv2d(w, offset *Tensor, o DeformConvOptions) *Tensor {
	in := []*Tensor{t, w, offset}
	if o.Mask != nil {
		in = append(in, o.Mask)
	}
	attrs := append(pads(2, o.Padding, nil, nil), spatial("strides", 2, o.Strides, 1), spatial("dilation", 2, o.Dilation, 1),
		op.Int("groups", max(1, o.Groups)), op.Int("offset_groups", max(1, o.OffsetGroups)))
	return Op(op.DeformConv, in, attrs...)[0].perChannel(o.Bias)
}

// WindowOptions holds the geometry of the windows of Im2Col and Col2Im, one entry per spatial dimension. A missing entry means stride 1, no
// padding, or no dilation.
type WindowOptions struct{ Strides, Padding, PadLo, PadHi, Dilation []int }

func (o WindowOptions) attrs(window []int) []op.Attr {
	n := len(window)
	return append(pads(n, o.Padding, o.PadLo, o.PadHi), op.Ints("window", window...), spatial("strides", n, o.Strides, 1),
		spatial("dilation", n, o.Dilation, 1))
}

// Im2Col returns the windows that slide over t[N, C, spatial...] as columns: [N, C·W, L] for windows of W elements at L
// positions, both in row-major order. PyTorch calls it unfold.
func (t *Tensor) Im2Col(window []int, o WindowOptions) *Tensor {
	return t.un(op.Im2Col, o.attrs(window)...)
}

// Col2Im adds the columns of Im2Col to a result [N, C, size...] at their original positions. PyTorch calls it fold.
func (t *Tensor) Col2Im(size, window []int, o WindowOptions) *Tensor {
	return t.un(op.Col2Im, append(o.attrs(window), op.Ints("size", size...))...)
}
