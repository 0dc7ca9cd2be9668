package optim

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// ScalerConfig holds the settings of a Scaler; they are the same as in PyTorch's GradScaler.
type ScalerConfig struct {
	Initial  float64 // initial factor; 0 means 65536
	Growth   float64 // multiplies the factor after Interval steps without a skipped one; 0 means 2
	Backoff  float64 // multiplies the factor after a skipped step; 0 means 0.5
	Interval int     // 0 means 2000
}

// Scaling is the state of a Scaler.
type Scaling struct {
	Factor  float64 `json:"factor"`  // factor of the loss
	Good    int     `json:"good"`    // steps since the factor changed
	Skipped int     `json:"skipped"` // total number of skipped steps
}

// Scaler keeps gradients in the range of f16: the loss is multiplied by a factor, and gradients are divided by the factor before they
// are used. A step whose gradients contain an infinity or NaN is skipped and reduces the factor (Micikevicius et al., Mixed precision
// training, ICLR 2018). The factor changes as in PyTorch's GradScaler. All of this happens on the device, without waiting: call
// Scaling to learn whether steps were skipped. Compute the gradients of Scale's result. Call Unscale before
// clipping or reading gradients, and Step instead of the optimiser's Step. Loss, parameters and gradients must be on the scaler's
// device. Only one goroutine may use a Scaler at a time.
type Scaler struct {
	config                ScalerConfig
	device                *tensor.Device
	factor, good, skipped *tensor.Tensor // f32, i32 and i32 of rank 0
	found                 *tensor.Tensor // after Unscale: whether the gradients are not all finite
	progs                 programs
}

// NewScaler returns a scaler for training on d.
func NewScaler(d *tensor.Device, c ScalerConfig) (*Scaler, error) {
	if c.Interval == 0 {
		c.Interval = 2000
	}
	c.Initial, c.Growth, c.Backoff = or(c.Initial, 65536), or(c.Growth, 2), or(c.Backoff, 0.5)
	if !(c.Initial > 0) || math.IsInf(float64(float32(c.Initial)), 0) || !(c.Growth > 1) || !(c.Backoff > 0 && c.Backoff < 1) || c.Interval < 1 {
		return nil, fmt.Errorf("optim: scaler: %+v, want a finite Initial above 0, Growth above 1, Backoff between 0 and 1 and Interval of 1 or more: %w", c, core.ErrAttr)
	}
	s := &Scaler{config: c, device: d}
	s.Restore(Scaling{Factor: c.Initial})
	return s, nil
}

// Restore restores a state of the scaler.
func (s *Scaler) Restore(at Scaling) {
	release([]*tensor.Tensor{s.factor, s.good, s.skipped, s.found})
	s.found = nil
	s.factor = tensor.From(s.device, []float32{float32(at.Factor)}, []int{}...).Keep()
	s.good = tensor.From(s.device, []int32{int32(at.Good)}, []int{}...).Keep()
	s.skipped = tensor.From(s.device, []int32{int32(at.Skipped)}, []int{}...).Keep()
}

// Scaling waits for the steps so far, and returns the state of the scaler.
func (s *Scaler) Scaling(ctx context.Context) (Scaling, error) {
	var tx tensor.Transaction
	var factor []float32
	var good, skipped []int32
	tensor.Fetch(&tx, s.factor, &factor)
	tensor.Fetch(&tx, s.good, &good)
	tensor.Fetch(&tx, s.skipped, &skipped)
	if err := tx.Execute(ctx); err != nil {
		return Scaling{}, fmt.Errorf("optim: scaler: %w", err)
	}
	return Scaling{float64(factor[0]), int(good[0]), int(skipped[0])}, nil
}

// Factor returns the factor of the loss, f32 of rank 0, for callers that read it later with other tensors. The scaler owns the tensor,
// which is valid until the next step.
func (s *Scaler) Factor() *tensor.Tensor { return s.factor }

// Skipped returns the total number of skipped steps, i32 of rank 0. It is owned and valid like the result of Factor.
func (s *Scaler) Skipped() *tensor.Tensor { return s.skipped }

// Scale returns the loss times the factor, in f32.
func (s *Scaler) Scale(loss *tensor.Tensor) *tensor.Tensor { return loss.Cast(dtype.F32).Mul(s.factor) }

// Unscale divides the gradients of params by the factor. Call it at most once before a step, to clip or inspect gradients. The
// replaced gradients are released.
func (s *Scaler) Unscale(params []nn.Named, grads *tensor.Gradients) error {
	if s.found != nil {
		return fmt.Errorf("optim: scaler: unscaled twice before a step: %w", core.ErrAttr)
	}
	found, _, err := s.inspect(params, grads, true)
	if err == nil {
		s.found = found
	}
	return err
}

// Step runs opt.Step with gradients of the scaled loss, divided by the factor unless Unscale did so, and adapts the factor. The
// step is skipped if the gradients are not all finite. If the optimiser does not implement Guarded, Step waits for that
// condition.
func (s *Scaler) Step(opt Optimizer, lr float64, params []nn.Named, grads *tensor.Gradients) error {
	guard := Guard{Skip: s.found}
	if s.found == nil {
		var err error
		if guard.Skip, guard.Unscale, err = s.inspect(params, grads, false); err != nil {
			return err
		}
	}
	s.found = nil
	defer release([]*tensor.Tensor{guard.Skip, guard.Unscale})
	if err := stepUnless(opt, lr, params, grads, guard); err != nil {
		return err
	}
	return s.adapt(guard.Skip)
}

// inspect queues the check of all gradients and, if change is set, their division by the factor. found is true if an element is not
// finite. inverse is the reciprocal of the factor, or nil if change is set.
func (s *Scaler) inspect(params []nn.Named, grads *tensor.Gradients, change bool) (found, inverse *tensor.Tensor, err error) {
	items, err := collect("scaler", params, grads)
	if err != nil {
		return nil, nil, err
	}
	key := []byte{0}
	if change {
		key[0] = 1
	}
	inputs, give := []*tensor.Tensor{s.factor}, []bool{false}
	descs := []op.Desc{{DType: dtype.F32, Shape: shape.Of()}}
	for _, it := range items {
		if it.Value().Device().Core() != s.device.Core() {
			return nil, nil, fmt.Errorf("optim: scaler: %s is on %s, want %s: %w", it.Name, it.Value().Device(), s.device, core.ErrAttr)
		}
		inputs, give = append(inputs, it.grad), append(give, change)
		descs = append(descs, op.Desc{DType: it.grad.DType(), Shape: it.grad.Shape()})
		key = appendKey(key, it.grad.DType(), it.grad.Shape(), 0)
	}
	exec, err := s.progs.get(s.device, "scaler", key, descs, func(b *body, in []op.Desc) ([]op.Desc, error) {
		inverse := b.Do(op.Div, b.c(in[0], 1), in[0])
		outs := []op.Desc{b.Do(op.Not, b.finite(in[1:])), inverse}
		if change {
			for _, g := range in[1:] {
				a := arithmetic(g.DType)
				outs = append(outs, b.Cast(b.mul(b.Cast(g, a), b.Cast(inverse, a)), g.DType))
			}
		}
		return outs, nil
	})
	if err != nil {
		return nil, nil, err
	}
	outs, err := apply(s.device, exec, inputs, give)
	if err != nil {
		return nil, nil, fmt.Errorf("optim: scaler: %w", err)
	}
	for i, g := range outs[2:] {
		grads.Set(items[i].Value(), g)
	}
	if change {
		outs[1].Release()
		outs[1] = nil
	}
	return outs[0].Keep(), outs[1], nil
}

// finite records whether all elements of xs are finite. It needs one pass over each tensor, because the greatest magnitude is infinite or
// NaN if an element is.
func (b *body) finite(xs []op.Desc) op.Desc {
	wide := dtype.F32
	var most []op.Desc
	for _, x := range xs {
		if x.DType == dtype.F64 {
			wide = dtype.F64
		}
	}
	for _, x := range xs {
		if x.Shape.Size() == 0 {
			continue
		}
		axes := make([]int, len(x.Shape))
		for i := range axes {
			axes[i] = i
		}
		most = append(most, b.Reshape(b.Cast(b.Reduce(op.ReduceMax, b.Do(op.Abs, x), false, axes...), wide), shape.Of(1)))
	}
	if len(most) == 0 {
		return b.Do(op.IsFinite, b.Scalar(wide, 0))
	}
	return b.Do(op.IsFinite, b.Reduce(op.ReduceMax, b.Concat(0, most...), false, 0))
}

// adapt queues the update of the factor and the counts after a step.
func (s *Scaler) adapt(found *tensor.Tensor) error {
	c := s.config
	key := binary.AppendUvarint([]byte{2}, uint64(c.Interval))
	number, count := op.Desc{DType: dtype.F32, Shape: shape.Of()}, op.Desc{DType: dtype.I32, Shape: shape.Of()}
	descs := []op.Desc{{DType: dtype.Bool, Shape: shape.Of()}, number, count, count}
	exec, err := s.progs.get(s.device, "scaler", key, descs, func(b *body, in []op.Desc) ([]op.Desc, error) {
		found, factor, good, skipped := in[0], in[1], in[2], in[3]
		none := b.Scalar(dtype.I32, 0)
		one := b.Scalar(dtype.I32, 1)
		more := b.add(good, one)
		full := b.Do(op.Equal, more, b.Scalar(dtype.I32, float64(c.Interval)))
		grown := b.times(factor, c.Growth)
		grows := b.Do(op.And, full, b.Do(op.IsFinite, grown))
		return []op.Desc{
			b.Do(op.Where, found, b.times(factor, c.Backoff), b.Do(op.Where, grows, grown, factor)),
			b.Do(op.Where, b.Do(op.Or, found, full), none, more),
			b.add(skipped, b.Do(op.Where, found, one, none)),
		}, nil
	})
	if err != nil {
		return err
	}
	outs, err := apply(s.device, exec, []*tensor.Tensor{found, s.factor, s.good, s.skipped}, []bool{false, false, true, false})
	if err != nil {
		return fmt.Errorf("optim: scaler: %w", err)
	}
	release([]*tensor.Tensor{s.factor, s.skipped})
	s.factor, s.good, s.skipped = outs[0].Keep(), outs[1].Keep(), outs[2].Keep()
	return nil
}
