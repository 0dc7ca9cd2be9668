package nn

import "github.com/goburn/burn/tensor"

// PoolConfig holds the settings of pooling. Lists have one entry for each spatial dimension, or one entry for all.
type PoolConfig struct {
	Stride     []int // by default the size of the window
	Padding    []int // at both ends
	Dilation   []int // by default 1
	Ceil       bool  // keep a last window that extends beyond the end
	ExcludePad bool  // for AvgPool: padding is not counted in the mean
}

// pool holds the settings that the pooling layers share.
type pool struct {
	Window, Stride, Padding, Dilation []int
	Ceil                              bool
}

func newPool(name string, window []int, c PoolConfig) pool {
	positive(name, window...)
	n := len(window)
	p := pool{Window: append([]int{}, window...), Stride: append([]int{}, window...), Ceil: c.Ceil}
	if c.Stride != nil {
		p.Stride = spread(name+": stride", c.Stride, n, 1)
	}
	p.Padding, p.Dilation = spread(name+": padding", c.Padding, n, 0), spread(name+": dilation", c.Dilation, n, 1)
	return p
}

func (p *pool) options() tensor.PoolOptions {
	return tensor.PoolOptions{Strides: p.Stride, Padding: p.Padding, Dilation: p.Dilation, Ceil: p.Ceil}
}

// MaxPool is the maximum of a window that slides over the last dimensions of x.
type MaxPool struct{ pool }

// Forward computes the layer.
func (l *MaxPool) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MaxPool(l.Window, l.options()) }

// AvgPool is the mean of a window that slides over the last dimensions of x.
type AvgPool struct {
	pool
	ExcludePad bool
}

// Forward computes the layer.
func (l *AvgPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	o := l.options()
	o.ExcludePad = l.ExcludePad
	return x.AvgPool(l.Window, o)
}

// LpPool is the P-norm of a window that slides over the last dimensions of x.
type LpPool struct {
	pool
	P float64
}

// Forward computes the layer.
func (l *LpPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LpPool(l.P, l.Window, l.options())
}

// Pooling layers by the number of their spatial dimensions.
type (
	MaxPool1d struct{ MaxPool }
	MaxPool2d struct{ MaxPool }
	MaxPool3d struct{ MaxPool }
	AvgPool1d struct{ AvgPool }
	AvgPool2d struct{ AvgPool }
	AvgPool3d struct{ AvgPool }
	LpPool1d  struct{ LpPool }
	LpPool2d  struct{ LpPool }
	LpPool3d  struct{ LpPool }
)

// NewMaxPool1d pools x[..., L].
func NewMaxPool1d(window int, c PoolConfig) *MaxPool1d {
	return &MaxPool1d{MaxPool{newPool("max_pool1d", []int{window}, c)}}
}

// NewMaxPool2d pools x[..., H, W].
func NewMaxPool2d(window [2]int, c PoolConfig) *MaxPool2d {
	return &MaxPool2d{MaxPool{newPool("max_pool2d", window[:], c)}}
}

// NewMaxPool3d pools x[..., D, H, W].
func NewMaxPool3d(window [3]int, c PoolConfig) *MaxPool3d {
	return &MaxPool3d{MaxPool{newPool("max_pool3d", window[:], c)}}
}

// NewAvgPool1d pools x[..., L].
func NewAvgPool1d(window int, c PoolConfig) *AvgPool1d {
	return &AvgPool1d{AvgPool{newPool("avg_pool1d", []int{window}, c), c.ExcludePad}}
}

// NewAvgPool2d pools x[..., H, W].
func NewAvgPool2d(window [2]int, c PoolConfig) *AvgPool2d {
	return &AvgPool2d{AvgPool{newPool("avg_pool2d", window[:], c), c.ExcludePad}}
}

// NewAvgPool3d pools x[..., D, H, W].
func NewAvgPool3d(window [3]int, c PoolConfig) *AvgPool3d {
	return &AvgPool3d{AvgPool{newPool("avg_pool3d", window[:], c), c.ExcludePad}}
}

// NewLpPool1d pools x[..., L] by the p-norm.
func NewLpPool1d(p float64, window int, c PoolConfig) *LpPool1d {
	return &LpPool1d{LpPool{newPool("lp_pool1d", []int{window}, c), p}}
}

// NewLpPool2d pools x[..., H, W] by the p-norm.
func NewLpPool2d(p float64, window [2]int, c PoolConfig) *LpPool2d {
	return &LpPool2d{LpPool{newPool("lp_pool2d", window[:], c), p}}
}

// NewLpPool3d pools x[..., D, H, W] by the p-norm.
func NewLpPool3d(p float64, window [3]int, c PoolConfig) *LpPool3d {
	return &LpPool3d{LpPool{newPool("lp_pool3d", window[:], c), p}}
}
