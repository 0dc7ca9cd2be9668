package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// ConvTransposeConfig holds the settings of transposed convolutions, like ConvConfig. OutputPadding extends the end of each dimension of
// the result.
type ConvTransposeConfig struct {
	Stride, Padding, OutputPadding, Dilation []int
	Groups                                   int
	NoBias                                   bool
	Init, BiasInit                           Init
}

// ConvTranspose is the transposed convolution of x[N, in, spatial...] with Weight[in, out/Groups, kernel...] plus Bias[out]. A
// spatial dimension becomes (n-1)·stride - 2·padding + dilation·(kernel-1) + output padding + 1.
type ConvTranspose struct {
	Weight                                   *Param
	Bias                                     *Param // may be nil
	Stride, Padding, OutputPadding, Dilation []int
	Groups                                   int
}

func newConvTranspose(name string, d *tensor.Device, in, out int, kernel []int, c ConvTransposeConfig) ConvTranspose {
	n, groups := len(kernel), max(1, c.Groups)
	positive(name, append([]int{in, out}, kernel...)...)
	if in%groups != 0 || out%groups != 0 {
		fail("%s: %d groups of %d and %d channels, want a number that divides both: %w", name, groups, in, out, core.ErrShape)
	}
	l := ConvTranspose{Groups: groups, Stride: spread(name+": stride", c.Stride, n, 1), Padding: spread(name+": padding", c.Padding, n, 0),
		OutputPadding: spread(name+": output padding", c.OutputPadding, n, 0), Dilation: spread(name+": dilation", c.Dilation, n, 1)}
	size := shape.Shape(kernel).Size()
	l.Weight, l.Bias = convParams(d, c.Init, c.BiasInit, c.NoBias, fan{out / groups * size, in / groups * size}, out,
		append([]int{in, out / groups}, kernel...))
	return l
}

// Forward computes the layer: [N, out, spatial...].
func (l *ConvTranspose) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.ConvTranspose(l.Weight.Value(), tensor.ConvTransposeOptions{Strides: l.Stride, Padding: l.Padding, OutputPadding: l.OutputPadding,
		Dilation: l.Dilation, Groups: l.Groups, Bias: l.Bias.get()})
}

// ConvTranspose1d is a ConvTranspose over x[N, in, L].
type ConvTranspose1d struct{ ConvTranspose }

// ConvTranspose2d is a ConvTranspose over x[N, in, H, W].
type ConvTranspose2d struct{ ConvTranspose }

// ConvTranspose3d is a ConvTranspose over x[N, in, D, H, W].
type ConvTranspose3d struct{ ConvTranspose }

// NewConvTranspose1d returns a transposed convolution of in to out channels.
func NewConvTranspose1d(d *tensor.Device, in, out, kernel int, c ConvTransposeConfig) *ConvTranspose1d {
	return &ConvTranspose1d{newConvTranspose("conv_transpose1d", d, in, out, []int{kernel}, c)}
}

// NewConvTranspose2d returns a transposed convolution with a kernel of the given height and width.
func NewConvTranspose2d(d *tensor.Device, in, out int, kernel [2]int, c ConvTransposeConfig) *ConvTranspose2d {
	return &ConvTranspose2d{newConvTranspose("conv_transpose2d", d, in, out, kernel[:], c)}
}

// NewConvTranspose3d returns a transposed convolution with a kernel of the given depth, height and width.
func NewConvTranspose3d(d *tensor.Device, in, out int, kernel [3]int, c ConvTransposeConfig) *ConvTranspose3d {
	return &ConvTranspose3d{newConvTranspose("conv_transpose3d", d, in, out, kernel[:], c)}
}

// DeformConvConfig holds the settings of DeformConv2d, like ConvConfig.
type DeformConvConfig struct {
	Stride, Padding, Dilation []int
	Groups                    int // number of groups of channels; 0 means 1
	OffsetGroups              int // number of groups of channels that share offsets; 0 means 1
	NoBias                    bool
	Init, BiasInit            Init
}

// DeformConv2d is a convolution whose kernel reads its operands at positions shifted by given offsets.
type DeformConv2d struct {
	Weight                    *Param // [out, in/Groups, kh, kw]
	Bias                      *Param // [out]; may be nil
	Stride, Padding, Dilation []int
	Groups, OffsetGroups      int
}

// NewDeformConv2d returns a deformable convolution of in to out channels.
func NewDeformConv2d(d *tensor.Device, in, out int, kernel [2]int, c DeformConvConfig) *DeformConv2d {
	base := newConv("deform_conv2d", d, in, out, kernel[:], ConvConfig{Stride: c.Stride, Padding: c.Padding, Dilation: c.Dilation,
		Groups: c.Groups, NoBias: c.NoBias, Init: c.Init, BiasInit: c.BiasInit})
	return &DeformConv2d{Weight: base.Weight, Bias: base.Bias, Stride: base.Stride, Padding: base.PadLo, Dilation: base.Dilation,
		Groups: base.Groups, OffsetGroups: max(1, c.OffsetGroups)}
}

// Forward computes the layer on x[N, in, H, W] with offset[N, OffsetGroups·kh·kw·2, outH, outW], vertical before horizontal, and
// mask[N, OffsetGroups·kh·kw, outH, outW], which may be nil.
func (l *DeformConv2d) Forward(x, offset, mask *tensor.Tensor) *tensor.Tensor {
	return x.DeformConv2d(l.Weight.Value(), offset, tensor.DeformConvOptions{Strides: l.Stride, Padding: l.Padding, Dilation: l.Dilation,
		Groups: l.Groups, OffsetGroups: l.OffsetGroups, Mask: mask, Bias: l.Bias.get()})
}
