package nn

import "github.com/goburn/burn/tensor"

// Sequential is modules one after the other. Its parameters are named by index: "0.weight".
type Sequential []Module

// Forward computes the modules in order.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	for _, m := range s {
		x = m.Forward(x)
	}
	return x
}

// Func is a function as a module without parameters.
type Func func(x *tensor.Tensor) *tensor.Tensor

// Forward calls f.
func (f Func) Forward(x *tensor.Tensor) *tensor.Tensor { return f(x) }

// Flatten joins the dimensions of x from First on into one: [N, C, H, W] into [N, C·H·W] by default, that is with First 1.
type Flatten struct{ First int }

// NewFlatten keeps the first dimension.
func NewFlatten() *Flatten { return &Flatten{1} }

// Forward reshapes x.
func (l *Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.FlattenFrom(l.First, -1) }
