package optim

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Clip limits gradients before a step. Only one goroutine may use it at a time.
type Clip struct {
	Value float64 // every element is clamped to [-Value, Value]; 0 for no limit
	Norm  float64 // all gradients together are scaled down to this 2-norm, after clamping; 0 for no limit

	progs programs
}

// Apply replaces the gradients of params by clipped ones. It returns the 2-norm of all gradients together, after clamping and
// before scaling: an f32 or f64 tensor of rank 0 that the caller owns. Parameters without a gradient are ignored. If no parameter
// has a gradient, the norm is nil. The gradients must be on one device. Apply queues one program and does not wait.
func (c *Clip) Apply(params []nn.Named, grads *tensor.Gradients) (norm *tensor.Tensor, err error) {
	if !(c.Value >= 0) || !(c.Norm >= 0) {
		return nil, fmt.Errorf("optim: clip: bounds %v and %v, want at least 0: %w", c.Value, c.Norm, core.ErrAttr)
	}
	items, err := collect("clip", params, grads)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	dev := items[0].Value().Device()
	wide := arithmetic(items[0].grad.DType())
	key := binary.AppendUvarint(nil, math.Float64bits(c.Value))
	key = binary.AppendUvarint(key, math.Float64bits(c.Norm))
	inputs := make([]*tensor.Tensor, len(items))
	descs := make([]op.Desc, len(items))
	for i, it := range items {
		if it.Value().Device().Core() != dev.Core() {
			return nil, fmt.Errorf("optim: clip: %s is on %s, %s on %s, want one device: clip by device: %w", it.Name, it.Value().Device(), items[0].Name, dev, core.ErrAttr)
		}
		inputs[i] = it.grad
		descs[i] = op.Desc{DType: it.grad.DType(), Shape: it.grad.Shape()}
		key = appendKey(key, it.grad.DType(), it.grad.Shape(), 0)
	}
	exec, err := c.progs.get(dev, "clip", key, descs, func(b *body, in []op.Desc) ([]op.Desc, error) {
		out := make([]op.Desc, len(in))
		squares := make([]op.Desc, len(in))
		for i, g := range in {
			out[i] = g
			if c.Value > 0 {
				out[i] = b.Un(op.Clamp, g, op.ScalarFloat("min", -c.Value), op.ScalarFloat("max", c.Value))
			}
			w := b.Cast(out[i], arithmetic(g.DType))
			squares[i] = b.Reshape(b.Cast(b.dot(w, w), wide), shape.Of(1))
		}
		norm := b.sqrt(b.Reduce(op.Sum, b.Concat(0, squares...), false, 0))
		if c.Norm > 0 {
			scale := b.Do(op.Min, b.c(norm, 1), b.div(b.c(norm, c.Norm), b.plus(norm, 1e-6)))
			for i, g := range out {
				a := arithmetic(g.DType)
				out[i] = b.Cast(b.mul(b.Cast(g, a), b.Cast(scale, a)), g.DType)
			}
		}
		return append(out, norm), nil
	})
	if err != nil {
		return nil, err
	}
	outs, err := apply(dev, exec, inputs, slices.Repeat([]bool{true}, len(inputs)))
	if err != nil {
		return nil, fmt.Errorf("optim: clip: %w", err)
	}
	for i, it := range items {
		grads.Set(it.Value(), outs[i])
	}
	return outs[len(items)], nil
}
