package nn

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Param is a tensor that a module owns: trained, or, as a buffer, only kept with it, as running statistics are. On a device
// with autodiff a trained parameter is tracked.
type Param struct {
	value   *tensor.Tensor
	buffer  bool
	derived bool
	frozen  bool
}

// NewParam makes a trained parameter of t, which it takes over.
func NewParam(t *tensor.Tensor) *Param {
	p := &Param{}
	p.Set(t)
	return p
}

// NewBuffer makes a buffer of t, which it takes over.
func NewBuffer(t *tensor.Tensor) *Param {
	p := &Param{buffer: true}
	p.Set(t)
	return p
}

// NewDerived makes a buffer of t that follows from the settings of its module, as a table of positions does: it moves with the module
// and is no part of the state dict.
func NewDerived(t *tensor.Tensor) *Param {
	p := NewBuffer(t)
	p.derived = true
	return p
}

// Derived reports whether p was made by NewDerived.
func (p *Param) Derived() bool { return p.derived }

// get returns the value, nil of a parameter that a layer lacks.
func (p *Param) get() *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.value
}

// Value returns the current tensor, to compute with. It is the parameter's: it must not be released, and is valid until the next Set.
func (p *Param) Value() *tensor.Tensor { return p.value }

// Set replaces the value by t, cut off from what t was computed from, and releases the old one. t is taken over: it
// outlives the scope it was made in. Tensors and gradients that were computed from the old value are not touched.
func (p *Param) Set(t *tensor.Tensor) {
	if t == p.value {
		return
	}
	if t.Tracked() {
		c := t.Detach()
		t.Release()
		t = c
	}
	t.Keep()
	if p.Trainable() && t.Device().Autodiff() {
		t.RequireGrad()
	}
	if p.value != nil {
		p.value.Release()
	}
	p.value = t
}

// Trainable is false for buffers and frozen parameters.
func (p *Param) Trainable() bool { return !p.buffer && !p.frozen }

// Buffer reports whether p is a buffer.
func (p *Param) Buffer() bool { return p.buffer }

// SetTrainable freezes p or sets it free. It does nothing to a buffer.
func (p *Param) SetTrainable(on bool) {
	if p.buffer || p.frozen == !on {
		return
	}
	p.frozen = !on
	old := p.value
	p.value = nil
	c := old.Detach()
	old.Release()
	p.Set(c)
}

// Shape returns the shape of the value.
func (p *Param) Shape() shape.Shape { return p.value.Shape() }

// DType returns the element type of the value.
func (p *Param) DType() dtype.DType { return p.value.DType() }

// Size returns the number of elements.
func (p *Param) Size() int { return p.value.Size() }
