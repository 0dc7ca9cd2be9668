package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// AdaptiveAvgPool is the mean of windows that divide the last dimensions of x into Size results. An entry 0 keeps the dimension.
type AdaptiveAvgPool struct{ Size []int }

// AdaptiveMaxPool is the maximum of the windows of AdaptiveAvgPool.
type AdaptiveMaxPool struct{ Size []int }

// target returns the size of the result, and the size of the windows if they divide x evenly, else nil.
func target(name string, x *tensor.Tensor, want []int) (size, window []int) {
	first := x.Rank() - len(want)
	if first < 0 {
		fail("%s: %v for %d spatial dimensions, want as many dimensions: %w", name, x.Desc(), len(want), core.ErrShape)
	}
	even := true
	for i, n := range want {
		have := x.Shape()[first+i]
		n = or(n, have)
		size = append(size, n)
		if even = even && n > 0 && have > 0 && have%n == 0; even {
			window = append(window, have/n)
		}
	}
	if !even {
		window = nil
	}
	return size, window
}

// Forward computes the layer. If the windows divide x evenly it uses a pooling of fixed windows, or a mean if there is only one.
func (l *AdaptiveAvgPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	size, window := target("adaptive_avg_pool", x, l.Size)
	if window == nil {
		return x.AdaptiveAvgPool(size...)
	}
	axes := make([]int, 0, len(size))
	for i, n := range size {
		if n == 1 {
			axes = append(axes, x.Rank()-len(size)+i)
		}
	}
	if len(axes) == len(size) {
		return x.MeanKeep(axes...)
	}
	return x.AvgPool(window, tensor.PoolOptions{})
}

// Forward computes the layer.
func (l *AdaptiveMaxPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	size, window := target("adaptive_max_pool", x, l.Size)
	if window == nil {
		return x.AdaptiveMaxPool(size...)
	}
	return x.MaxPool(window, tensor.PoolOptions{})
}

// Adaptive pooling layers by the number of their spatial dimensions.
type (
	AdaptiveAvgPool1d struct{ AdaptiveAvgPool }
	AdaptiveAvgPool2d struct{ AdaptiveAvgPool }
	AdaptiveAvgPool3d struct{ AdaptiveAvgPool }
	AdaptiveMaxPool1d struct{ AdaptiveMaxPool }
	AdaptiveMaxPool2d struct{ AdaptiveMaxPool }
	AdaptiveMaxPool3d struct{ AdaptiveMaxPool }
)

// NewAdaptiveAvgPool1d pools x[..., L].
func NewAdaptiveAvgPool1d(size int) *AdaptiveAvgPool1d {
	return &AdaptiveAvgPool1d{AdaptiveAvgPool{[]int{size}}}
}

// NewAdaptiveAvgPool2d pools x[..., H, W].
func NewAdaptiveAvgPool2d(size [2]int) *AdaptiveAvgPool2d {
	return &AdaptiveAvgPool2d{AdaptiveAvgPool{size[:]}}
}

// NewAdaptiveAvgPool3d pools x[..., D, H, W].
func NewAdaptiveAvgPool3d(size [3]int) *AdaptiveAvgPool3d {
	return &AdaptiveAvgPool3d{AdaptiveAvgPool{size[:]}}
}

// NewAdaptiveMaxPool1d pools x[..., L].
func NewAdaptiveMaxPool1d(size int) *AdaptiveMaxPool1d {
	return &AdaptiveMaxPool1d{AdaptiveMaxPool{[]int{size}}}
}

// NewAdaptiveMaxPool2d pools x[..., H, W].
func NewAdaptiveMaxPool2d(size [2]int) *AdaptiveMaxPool2d {
	return &AdaptiveMaxPool2d{AdaptiveMaxPool{size[:]}}
}

// NewAdaptiveMaxPool3d pools x[..., D, H, W].
func NewAdaptiveMaxPool3d(size [3]int) *AdaptiveMaxPool3d {
	return &AdaptiveMaxPool3d{AdaptiveMaxPool{size[:]}}
}
