package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Replica is a copy of the model on another device with its own batches: a step processes one batch per device, and its gradient
// is the mean over the items of all devices. Parameters are kept equal to the parameters of Parts.Model. Buffers, such as running
// statistics, are separate on each device; the buffers of Parts.Model are validated and saved. Create the loaders by
// data.Loader.Shards; the first of them is Parts.Train.
type Replica[M, B any] struct {
	Device *tensor.Device // with autodiff
	Model  M
	Train  Loader[B]
}

// feed yields the batches of a replica by iter.Pull2.
type feed[B any] struct {
	next func() (B, error, bool)
	stop func()
}

// feeds starts the loaders of the replicas, and returns their feeds. stop ends them; it must be called after an error too.
func (r *run[M, B]) feeds() (list []feed[B], stop func(), err error) {
	stop = func() {
		for _, f := range list {
			f.stop()
		}
	}
	for _, p := range r.parts.Replicas {
		if err := seekEpoch(p.Train, r.epoch); err != nil {
			return nil, stop, err
		}
		nn.Train(p.Model)
		next, end := iter.Pull2(p.Train.Batches(r.hard))
		list = append(list, feed[B]{next, end})
	}
	return list, stop, nil
}

// share is the result of one replica in a step.
type share struct {
	items int
	grads []*tensor.Tensor // gradients of the parameters of the run, on the main device; nil for a parameter without one
	measured
	err error
}

func (s *share) release() {
	for _, g := range s.grads {
		if g != nil {
			g.Release()
		}
	}
}

// fork starts the step on every replica that still has a batch. join waits for all of them and returns their results; it may be
// called again.
func (r *run[M, B]) fork(feeds []feed[B]) (join func() []share) {
	shares := make([]share, len(feeds))
	var wg sync.WaitGroup
	for i, f := range feeds {
		wg.Go(func() {
			b, err, ok := f.next()
			switch {
			case !ok:
			case err != nil:
				shares[i].err = err
			default:
				shares[i] = r.share(&r.parts.Replicas[i], b)
			}
		})
	}
	return func() []share {
		wg.Wait()
		return shares
	}
}

func (r *run[M, B]) share(p *Replica[M, B], b B) (s share) {
	defer release(b)
	s.err = r.guarded(p.Device, false, b, func(b B) error {
		o, err := r.TrainStep(r.hard, p.Model, b)
		if err != nil {
			return err
		}
		if err := checkLoss(o); err != nil {
			return err
		}
		s.items = o.Count()
		factor := r.factor
		if factor != nil {
			if factor, err = factor.To(r.hard, p.Device); err != nil {
				return err
			}
			if factor != r.factor {
				defer factor.Release()
			}
		}
		grads, err := r.backward(o.Loss, factor)
		if err != nil {
			return err
		}
		defer grads.Release()
		own := nn.Trained(p.Model)
		if len(own) != len(r.params) {
			return fmt.Errorf("a replica has %d trained parameters, the model %d: want equal models", len(own), len(r.params))
		}
		for _, x := range own {
			g := grads.Of(x.Value())
			if g != nil {
				if g, err = g.To(r.hard, r.parts.Device); err != nil {
					return err
				}
			}
			s.grads = append(s.grads, g)
		}
		s.measured = r.train.measure(o, r.rate, p.Device)
		return nil
	})
	return s
}

// merge replaces the gradients of the main device by the mean over the items of all devices. items is the number of items of the
// main device.
func (r *run[M, B]) merge(items int, grads *tensor.Gradients, shares []share) error {
	total := items
	for _, s := range shares {
		if s.err != nil {
			return s.err
		}
		total += s.items
	}
	if total == items {
		return nil
	}
	for k, p := range r.params {
		var sum *tensor.Tensor
		add := func(g *tensor.Tensor, items int) {
			if g == nil {
				return
			}
			part := g.MulScalar(float64(items) / float64(total))
			if sum == nil {
				sum = part
				return
			}
			next := sum.Add(part)
			sum.Release()
			part.Release()
			sum = next
		}
		old := grads.Of(p.Value())
		add(old, items)
		for _, s := range shares {
			if s.items > 0 {
				add(s.grads[k], s.items)
			}
		}
		if sum != nil {
			grads.Set(p.Value(), sum)
		}
		if old != nil {
			old.Release()
		}
	}
	return nil
}

// spread copies the parameters of the model to the replicas.
func (r *run[M, B]) spread() error {
	errs := make([]error, len(r.parts.Replicas))
	var wg sync.WaitGroup
	for i := range r.parts.Replicas {
		wg.Go(func() {
			p := &r.parts.Replicas[i]
			for k, x := range nn.Trained(p.Model) {
				t, err := r.params[k].Value().To(r.hard, p.Device)
				if err != nil {
					errs[i] = err
					return
				}
				x.Set(t)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// align checks the replicas, and copies the parameters and buffers of the model to them.
func (r *run[M, B]) align(ctx context.Context) error {
	for i := range r.parts.Replicas {
		p := &r.parts.Replicas[i]
		if p.Device == nil || p.Train == nil || !p.Device.Autodiff() {
			return fmt.Errorf("train: replica %d without Device, Train or gradients, want all of them", i)
		}
		if _, err := nn.LoadStateDict(ctx, p.Model, nn.Entries(nn.StateDict(r.parts.Model)), nn.LoadOptions{}); err != nil {
			return fmt.Errorf("train: replica %d: %w", i, err)
		}
	}
	return nil
}
