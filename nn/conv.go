package nn

import (
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// ConvConfig holds the settings of convolutions. Lists have one entry for each spatial dimension, or one entry for all. Defaults
// are stride 1, no padding and dilation 1.
type ConvConfig struct {
	Stride, Padding, Dilation []int
	PadLo, PadHi              []int // zeros before and after, if they differ; set both or none
	Same                      bool  // padding with which a stride of 1 keeps the size; if the total is odd, one more zero is after than before
	Groups                    int   // number of groups of channels; 0 means 1
	NoBias                    bool
	Init, BiasInit            Init // by default uniform within ±1/√(operands per result), as PyTorch does
}

// spread expands a setting to n entries.
func spread(name string, v []int, n, missing int) []int {
	switch len(v) {
	case 0:
		return slices.Repeat([]int{missing}, n)
	case 1:
		return slices.Repeat(v, n)
	case n:
		return slices.Clone(v)
	}
	fail("%s: %v has %d entries, want 1 or %d: %w", name, v, len(v), n, core.ErrAttr)
	return nil
}

// Conv is the convolution of x[N, in, spatial...] with Weight[out, in/Groups, kernel...] plus Bias[out], with as many spatial
// dimensions as the kernel. PadLo and PadHi are the zeros before and after.
type Conv struct {
	Weight                         *Param
	Bias                           *Param // may be nil
	Stride, PadLo, PadHi, Dilation []int
	Groups                         int
}

func newConv(name string, d *tensor.Device, in, out int, kernel []int, c ConvConfig) Conv {
	n, groups := len(kernel), max(1, c.Groups)
	positive(name, append([]int{in, out}, kernel...)...)
	if in%groups != 0 || out%groups != 0 {
		fail("%s: %d groups of %d and %d channels, want a number that divides both: %w", name, groups, in, out, core.ErrShape)
	}
	l := Conv{Groups: groups, Stride: spread(name+": stride", c.Stride, n, 1), Dilation: spread(name+": dilation", c.Dilation, n, 1)}
	l.PadLo = spread(name+": padding", c.Padding, n, 0)
	l.PadHi = slices.Clone(l.PadLo)
	if c.PadLo != nil || c.PadHi != nil {
		if c.PadLo == nil || c.PadHi == nil || c.Padding != nil || c.Same {
			fail("%s: padding %v, %v before and %v after, same %v: want one kind of padding: %w", name, c.Padding, c.PadLo, c.PadHi, c.Same, core.ErrAttr)
		}
		l.PadLo, l.PadHi = spread(name+": padding before", c.PadLo, n, 0), spread(name+": padding after", c.PadHi, n, 0)
	}
	if c.Same {
		for i, k := range kernel {
			total := l.Dilation[i] * (k - 1)
			l.PadLo[i], l.PadHi[i] = total/2, total-total/2
		}
	}
	size := shape.Shape(kernel).Size()
	l.Weight, l.Bias = convParams(d, c.Init, c.BiasInit, c.NoBias, fan{in / groups * size, out / groups * size}, out,
		append([]int{out, in / groups}, kernel...))
	return l
}

// convParams returns the weight and bias of a convolution. As in PyTorch, the default distribution follows from the weight's dimensions
// after the first.
func convParams(d *tensor.Device, init, biasInit Init, noBias bool, f fan, out int, dims []int) (w, b *Param) {
	def := fanIn(shape.Shape(dims[1:]).Size())
	w = NewParam(init.or(def).New(d, f.in, f.out, dims...))
	if !noBias {
		b = NewParam(biasInit.or(def).New(d, f.in, f.out, out))
	}
	return w, b
}

// Forward computes the layer: [N, out, spatial...].
func (l *Conv) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Conv(l.Weight.Value(), tensor.ConvOptions{Strides: l.Stride, PadLo: l.PadLo, PadHi: l.PadHi, Dilation: l.Dilation,
		Groups: l.Groups, Bias: l.Bias.get()})
}

// Conv1d is a Conv over x[N, in, L].
type Conv1d struct{ Conv }

// Conv2d is a Conv over x[N, in, H, W].
type Conv2d struct{ Conv }

// Conv3d is a Conv over x[N, in, D, H, W].
type Conv3d struct{ Conv }

// NewConv1d returns a convolution of in to out channels.
func NewConv1d(d *tensor.Device, in, out, kernel int, c ConvConfig) *Conv1d {
	return &Conv1d{newConv("conv1d", d, in, out, []int{kernel}, c)}
}

// NewConv2d returns a convolution of in to out channels with a kernel of the given height and width.
func NewConv2d(d *tensor.Device, in, out int, kernel [2]int, c ConvConfig) *Conv2d {
	return &Conv2d{newConv("conv2d", d, in, out, kernel[:], c)}
}

// NewConv3d returns a convolution of in to out channels with a kernel of the given depth, height and width.
func NewConv3d(d *tensor.Device, in, out int, kernel [3]int, c ConvConfig) *Conv3d {
	return &Conv3d{newConv("conv3d", d, in, out, kernel[:], c)}
}
