package nn

import "github.com/goburn/burn/tensor"

// Sequential applies modules one after another. Its parameters are named by index: "0.weight".
type Sequential []Module

// Forward computes the modules in order.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	for _, m := range s {
		x = m.Forward(x)
	}
	return x
}

// Func adapts a function to a module without parameters.
type Func func(x *tensor.Tensor) *tensor.Tensor

// Forward calls f.
func (f Func) Forward(x *tensor.Tensor) *tensor.Tensor { return f(x) }

// Flatten merges the dimensions of x from First on into one. The default, 1, turns [N, C, H, W] into [N, C·H·W].
type Flatten struct{ First int }

// NewFlatten returns a layer that keeps the first dimension.
func NewFlatten() *Flatten { return &Flatten{1} }

// Forward reshapes x.
func (l *Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.FlattenFrom(l.First, -1) }
