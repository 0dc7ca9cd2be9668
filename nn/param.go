package nn

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Param is a tensor that a module owns. It is trained, or it is a buffer, which is only stored with the module, such as running
// statistics. On a device with autodiff a trained parameter is tracked.
type Param struct {
	value   *tensor.Tensor
	buffer  bool
	derived bool
	frozen  bool
}

// NewParam returns a trained parameter with the value t. It takes ownership of t.
func NewParam(t *tensor.Tensor) *Param {
	p := &Param{}
	p.Set(t)
	return p
}

// NewBuffer returns a buffer with the value t. It takes ownership of t.
func NewBuffer(t *tensor.Tensor) *Param {
	p := &Param{buffer: true}
	p.Set(t)
	return p
}

// NewDerived returns a buffer whose value t follows from the settings of its module, such as a table of positions: it moves with
// the module but is not part of the state dict.
func NewDerived(t *tensor.Tensor) *Param {
	p := NewBuffer(t)
	p.derived = true
	return p
}

// Derived reports whether p was created by NewDerived.
func (p *Param) Derived() bool { return p.derived }

// get returns the value, or nil if p is nil.
func (p *Param) get() *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.value
}

// Value returns the current tensor, for computations. The parameter owns it: the caller must not release it, and it is valid
// until the next Set.
func (p *Param) Value() *tensor.Tensor { return p.value }

// Set replaces the value by t, detached from its history, and releases the old value. The parameter becomes the owner of t, which
// outlives the scope that it was created in. Tensors and gradients computed from the old value stay valid.
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

// Trainable reports whether p is trained; buffers and frozen parameters are not.
func (p *Param) Trainable() bool { return !p.buffer && !p.frozen }

// Buffer reports whether p is a buffer.
func (p *Param) Buffer() bool { return p.buffer }

// SetTrainable freezes or unfreezes p. It has no effect on a buffer.
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
