package optim

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// problem is the loss as a function of one flat vector.
type problem struct {
	ctx    context.Context
	params []nn.Named
	f      Closure
	made   []*tensor.Tensor // intermediate tensors
	points []*tensor.Tensor // gradients of the points of a step
}

// of records t to be released by free.
func (p *problem) of(t *tensor.Tensor) *tensor.Tensor {
	p.made = append(p.made, t)
	return t
}

func (p *problem) free() {
	release(p.made)
	p.made = nil
}

// point holds the loss and its gradient at some point.
type point struct {
	loss float64
	grad *tensor.Tensor
}

func newProblem(ctx context.Context, params []nn.Named, f Closure) (*problem, error) {
	if ctx == nil || f == nil {
		return nil, fmt.Errorf("optim: lbfgs: the context or the closure is nil, want both: %w", core.ErrAttr)
	}
	p := &problem{ctx: ctx, f: f}
	for i, q := range params {
		if q.Param == nil || q.Value() == nil {
			return nil, fmt.Errorf("optim: lbfgs: parameter %d, %q, is nil: %w", i, q.Name, core.ErrAttr)
		}
		if !q.Trainable() {
			continue
		}
		if d := q.DType(); d != dtype.F32 && d != dtype.F64 || len(p.params) > 0 && d != p.params[0].DType() {
			return nil, fmt.Errorf("optim: lbfgs: %s is %v, want all of f32 or all of f64: %w", q.Name, d, core.ErrDType)
		}
		if len(p.params) > 0 && q.Value().Device().Core() != p.params[0].Value().Device().Core() {
			return nil, fmt.Errorf("optim: lbfgs: %s is on %s, want one device: %w", q.Name, q.Value().Device(), core.ErrAttr)
		}
		p.params = append(p.params, q)
	}
	if len(p.params) == 0 {
		return nil, noParams("lbfgs", params)
	}
	return p, nil
}

// evaluate returns the loss and the gradient at the current values. The gradient of parameters that do not take part is zero.
func (p *problem) evaluate() (point, error) {
	loss, grads, err := p.f()
	if err != nil {
		return point{}, err
	}
	if loss == nil || grads == nil {
		return point{}, fmt.Errorf("the closure returned a nil loss or nil gradients, want both: %w", core.ErrAttr)
	}
	defer p.free()
	var parts []*tensor.Tensor
	for _, q := range p.params {
		g := grads.Of(q.Value())
		if g == nil {
			g = p.of(q.Value().Device().Zeros(q.DType(), q.Size()))
		}
		parts = append(parts, p.of(g.Reshape(q.Size())))
	}
	flat := tensor.Concat(0, parts...).Keep()
	p.points = append(p.points, flat)
	v, err := loss.Float64(p.ctx)
	grads.Release()
	loss.Release()
	return point{v, flat}, err
}

// move adds t·d to the parameters.
func (p *problem) move(d *tensor.Tensor, t float64) {
	at := 0
	for _, q := range p.params {
		part := p.of(p.of(d.Narrow(0, at, q.Size())).Reshape(q.Shape()...))
		at += q.Size()
		step := p.of(part.MulScalar(t))
		q.Param.Set(tensor.NoGrad(q.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
			return []*tensor.Tensor{q.Value().In(d).Add(step)}
		})[0])
	}
	p.free()
}

// values returns the current values of the parameters, which set restores.
func (p *problem) values() []*tensor.Tensor {
	vs := make([]*tensor.Tensor, len(p.params))
	for i, q := range p.params {
		vs[i] = q.Value().Detach()
	}
	return vs
}

func (p *problem) set(vs []*tensor.Tensor) {
	for i, q := range p.params {
		q.Param.Set(vs[i].Detach())
	}
}

func (p *problem) number(t *tensor.Tensor) (float64, error) {
	defer t.Release()
	return t.Float64(p.ctx)
}

func (p *problem) dot(a, b *tensor.Tensor) (float64, error) { return p.number(a.Dot(b)) }

// top returns the greatest magnitude of the elements of t.
func (p *problem) top(t *tensor.Tensor) (float64, error) { return p.number(p.of(t.Abs()).Max()) }
