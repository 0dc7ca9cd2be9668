package nn

import (
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// InterpolateConfig holds the settings of Interpolate layers: either Size or Scale, with one entry for each dimension, or one for
// all.
type InterpolateConfig struct {
	Size         []int
	Scale        []float64
	Mode         string // "nearest" (also ""), "nearest-exact", "linear", "cubic" or "lanczos"
	AlignCorners bool   // keeps the positions of the centres of the outermost elements
	Antialias    bool
}

// Interpolate1d resamples x[N, C, L].
type Interpolate1d struct{ interpolate }

// Interpolate2d resamples x[N, C, H, W].
type Interpolate2d struct{ interpolate }

type interpolate struct {
	InterpolateConfig
	dims int
}

// NewInterpolate1d returns a layer over one dimension.
func NewInterpolate1d(c InterpolateConfig) *Interpolate1d {
	return &Interpolate1d{newInterpolate("interpolate1d", 1, c)}
}

// NewInterpolate2d returns a layer over height and width.
func NewInterpolate2d(c InterpolateConfig) *Interpolate2d {
	return &Interpolate2d{newInterpolate("interpolate2d", 2, c)}
}

func newInterpolate(name string, n int, c InterpolateConfig) interpolate {
	if (c.Size == nil) == (c.Scale == nil) {
		fail("%s: size %v and scale %v, want one of them: %w", name, c.Size, c.Scale, core.ErrAttr)
	}
	if c.Size != nil {
		c.Size = spread(name+": size", c.Size, n, 0)
	} else if len(c.Scale) == 1 {
		c.Scale = append([]float64{}, c.Scale...)
		for len(c.Scale) < n {
			c.Scale = append(c.Scale, c.Scale[0])
		}
	}
	if c.Scale != nil && len(c.Scale) != n {
		fail("%s: scale %v, want 1 or %d entries: %w", name, c.Scale, n, core.ErrAttr)
	}
	return interpolate{c, n}
}

// Forward computes the layer. A scaled dimension is rounded down.
func (l *interpolate) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != l.dims+2 {
		fail("interpolate: %v, want %d dimensions: %w", x.Desc(), l.dims+2, core.ErrShape)
	}
	size := l.Size
	if size == nil {
		for i, s := range l.Scale {
			size = append(size, int(math.Floor(float64(x.Shape()[2+i])*s)))
		}
	}
	return x.Interpolate(tensor.InterpolateOptions{Mode: l.Mode, AlignCorners: l.AlignCorners, Antialias: l.Antialias, Scales: l.Scale}, size...)
}

// PixelShuffle moves channels into blocks: x[N, C·r², H, W] becomes [N, C, H·r, W·r].
type PixelShuffle struct{ Factor int }

// Forward computes the layer.
func (l *PixelShuffle) Forward(x *tensor.Tensor) *tensor.Tensor { return x.PixelShuffle(l.Factor) }

// PixelUnshuffle is the inverse of PixelShuffle.
type PixelUnshuffle struct{ Factor int }

// Forward computes the layer.
func (l *PixelUnshuffle) Forward(x *tensor.Tensor) *tensor.Tensor { return x.PixelUnshuffle(l.Factor) }

// UnfoldConfig holds the geometry of the windows of Unfold4d and Fold4d; one entry applies to both dimensions.
type UnfoldConfig struct{ Stride, Padding, Dilation []int }

func (c UnfoldConfig) options(name string) tensor.WindowOptions {
	return tensor.WindowOptions{Strides: spread(name+": stride", c.Stride, 2, 1), Padding: spread(name+": padding", c.Padding, 2, 0),
		Dilation: spread(name+": dilation", c.Dilation, 2, 1)}
}

// Unfold4d returns the windows that slide over x[N, C, H, W] as columns [N, C·kh·kw, positions].
type Unfold4d struct {
	Window [2]int
	UnfoldConfig
}

// NewUnfold4d returns a layer for windows of the given height and width.
func NewUnfold4d(window [2]int, c UnfoldConfig) *Unfold4d { return &Unfold4d{window, c} }

// Forward computes the layer.
func (l *Unfold4d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Im2Col(l.Window[:], l.options("unfold4d"))
}

// Fold4d adds the columns of Unfold4d to a result [N, C, Size...] at their original positions.
type Fold4d struct {
	Size, Window [2]int
	UnfoldConfig
}

// NewFold4d returns a layer for results of the given height and width.
func NewFold4d(size, window [2]int, c UnfoldConfig) *Fold4d { return &Fold4d{size, window, c} }

// Forward computes the layer.
func (l *Fold4d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Col2Im(l.Size[:], l.Window[:], l.options("fold4d"))
}
