package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// trainEpoch runs the rest of the training split of the epoch.
func (r *run[M, B]) trainEpoch() error {
	began := time.Now()
	nn.Train(r.parts.Model)
	if err := seekEpoch(r.parts.Train, r.epoch); err != nil {
		return err
	}
	r.train.start(r.resumed)
	r.emit(EpochStarted{Train, r.epoch, r.parts.Train.Position().Batch})
	batches := r.parts.Train.Len()
	others, end, err := r.feeds()
	defer end()
	if err != nil {
		return err
	}
	unread := 0
	var readings []Reading
	for b, err := range r.parts.Train.Batches(r.hard) {
		if err != nil {
			return fmt.Errorf("train: epoch %d: %w", r.epoch+1, err)
		}
		done := r.parts.Train.Position().Batch
		items, updated, err := r.trainBatch(b, others, done == batches)
		if err != nil {
			return fmt.Errorf("train: epoch %d, batch %d: %w", r.epoch+1, done, err)
		}
		unread++
		stop := r.soft.Err() != nil && updated
		every := r.Checkpoints.Every
		save := r.store != nil && updated && every > 0 && r.step%every == 0 && done < batches
		fresh := unread >= max(r.ReadEvery, 1) || done == batches || save || stop
		if fresh {
			unread = 0
			if readings, err = r.train.read(r.hard); err == nil {
				err = r.settle()
			}
			if err != nil {
				return fmt.Errorf("train: epoch %d, batch %d: %w", r.epoch+1, done, err)
			}
		}
		r.emit(Stepped{Split: Train, Epoch: r.epoch, Batch: done, Batches: batches, Step: r.step, Items: items, Rate: r.rate,
			Readings: readings, Fresh: fresh, Time: time.Now()})
		if fresh {
			if err := r.follow(r.train.losses); err != nil {
				return err
			}
		}
		if save || stop {
			if err := r.save(false); err != nil {
				return err
			}
		}
		if stop {
			return errInterrupted
		}
	}
	r.finish(Train, r.train, began)
	return nil
}

// trainBatch runs one batch on each device, forward and backward. If enough batches have been accumulated or last is set, it also
// updates the parameters. items is the number of items of all devices.
func (r *run[M, B]) trainBatch(b B, others []feed[B], last bool) (items int, updated bool, err error) {
	defer release(b)
	r.rate = r.parts.Rate.Rate()
	if r.scaler != nil {
		r.factor = r.scaler.Factor()
	}
	join := r.fork(others)
	pushed := false
	defer func() {
		for _, s := range join() {
			s.release()
			if !pushed {
				s.measured.release()
			}
		}
	}()
	var grads *tensor.Gradients // gradients of the parameters; they outlive the scope
	err = r.guarded(r.parts.Device, false, b, func(b B) error {
		o, err := r.TrainStep(r.hard, r.parts.Model, b)
		if err != nil {
			return err
		}
		if err := checkLoss(o); err != nil {
			return err
		}
		items = o.Count()
		g, err := r.backward(o.Loss, r.factor)
		if err != nil {
			return err
		}
		if err := r.merge(items, g, join()); err != nil {
			return err
		}
		if !slices.ContainsFunc(r.params, func(p nn.Named) bool { return g.Of(p.Value()) != nil }) {
			g.Release()
			return fmt.Errorf("no trained parameter has a gradient: does the loss depend on the model, and was nothing detached on the way?: %w", core.ErrAttr)
		}
		for _, p := range r.params {
			if t := g.Of(p.Value()); t != nil {
				t.Keep()
			}
		}
		grads = g
		r.train.push(r.train.measure(o, r.rate, r.parts.Device), r.step+1)
		for _, s := range join() {
			if s.items > 0 {
				r.train.push(s.measured, r.step+1)
				items += s.items
			}
		}
		pushed = true
		return nil
	})
	if err != nil {
		if grads != nil {
			grads.Release()
		}
		return items, false, err
	}
	// The tape of the step has ended with the scope, so that only the model refers to the parameters, and they are updated in
	// place.
	if updated, err = r.gather(grads, last); err == nil && updated && len(r.parts.Replicas) > 0 {
		err = r.spread()
	}
	return items, updated, err
}

// gather takes ownership of grads, accumulates them, and updates the parameters if enough batches have been accumulated or last
// is set.
func (r *run[M, B]) gather(grads *tensor.Gradients, last bool) (updated bool, err error) {
	if every := max(r.Accumulate, 1); every > 1 {
		if err := r.sum.Add(r.params, grads); err != nil {
			return false, err
		}
		if r.sum.Len() < every && !last {
			return false, nil
		}
		if grads, err = r.sum.Take(r.params, true); err != nil {
			return false, err
		}
	}
	return true, r.update(grads)
}

// update updates the parameters. It takes ownership of grads.
func (r *run[M, B]) update(grads *tensor.Gradients) error {
	defer grads.GiveUp().Release()
	if r.Clip != nil && r.scaler != nil {
		if err := r.scaler.Unscale(r.params, grads); err != nil {
			return err
		}
	}
	if r.Clip != nil {
		norm, err := r.Clip.Apply(r.params, grads)
		if err != nil {
			return err
		}
		if norm != nil {
			norm.Release()
		}
	}
	var err error
	if r.scaler == nil {
		err = r.parts.Optimizer.Step(r.rate, r.params, grads)
	} else if err = r.scaler.Step(r.parts.Optimizer, r.rate, r.params, grads); err == nil {
		r.train.attach(r.scaled, r.scaler.Factor(), r.scaler.Skipped())
	}
	if err != nil {
		return err
	}
	r.step++
	if !r.RatePerEpoch {
		r.parts.Rate.Advance()
	}
	return nil
}

// validEpoch runs the validation split of the epoch, from its start.
func (r *run[M, B]) validEpoch() error {
	began := time.Now()
	if err := seekEpoch(r.parts.Valid, r.epoch); err != nil {
		return err
	}
	if p := r.parts.Valid.Position(); p.Batch != 0 {
		p.Batch = 0
		if err := r.parts.Valid.Seek(p); err != nil {
			return err
		}
	}
	interrupted := false
	err := r.judge(Valid, r.parts.Valid, r.ValidStep, func() bool {
		interrupted = r.soft.Err() != nil
		return interrupted
	})
	if err != nil {
		return err
	}
	if interrupted {
		if err := r.save(false); err != nil { // a resumed run repeats the whole validation
			return err
		}
		return errInterrupted
	}
	r.finish(Valid, r.valid, began)
	return nil
}

// judge runs the validation step and its metrics over the batches of l, until they end or stop returns true after a batch. It
// leaves the model in training mode.
func (r *run[M, B]) judge(split Split, l Loader[B], step Step[M, B], stop func() bool) error {
	if step == nil {
		step = r.TrainStep
	}
	nn.Eval(r.parts.Model)
	defer nn.Train(r.parts.Model)
	r.valid.start(false)
	r.emit(EpochStarted{split, r.epoch, 0})
	batches, done := l.Len(), 0
	for b, err := range l.Batches(r.hard) {
		done++
		items := 0
		if err == nil {
			err = r.judgeBatch(b, step, &items)
		}
		var readings []Reading
		if err == nil {
			readings, err = r.valid.read(r.hard)
		}
		if err != nil {
			return fmt.Errorf("train: epoch %d, %s batch %d: %w", r.epoch+1, split, done, err)
		}
		r.emit(Stepped{Split: split, Epoch: r.epoch, Batch: done, Batches: batches, Step: r.step, Items: items, Rate: r.rate,
			Readings: readings, Fresh: true, Time: time.Now()})
		if done < batches && stop() {
			break
		}
	}
	return nil
}

func (r *run[M, B]) judgeBatch(b B, step Step[M, B], items *int) error {
	defer release(b)
	return r.guarded(r.parts.Device, true, b, func(b B) error {
		o, err := step(r.hard, r.parts.Model, b)
		if err != nil {
			return err
		}
		if err := checkLoss(o); err != nil {
			return err
		}
		*items = o.Count()
		r.valid.push(r.valid.measure(o, math.NaN(), r.parts.Device), r.step)
		return nil
	})
}

// guarded runs f in a scope of dev with a view of b in this scope. If mute is set, nothing is recorded for gradients. If f panics
// with *tensor.Error, guarded returns it as an error.
func (r *run[M, B]) guarded(dev *tensor.Device, mute bool, b B, f func(b B) error) error {
	var ferr error
	step := func(d *tensor.Device) []*tensor.Tensor {
		ferr = f(view(b, d))
		return nil
	}
	inner := step
	if r.Autocast != dtype.Invalid {
		inner = func(d *tensor.Device) []*tensor.Tensor { return tensor.Autocast(d, r.Autocast, step) }
	}
	scope := tensor.Scope
	if mute {
		scope = tensor.NoGrad
	}
	err := tensor.Try(func() { scope(dev, inner) })
	return errors.Join(err, ferr)
}

func checkLoss(o Output) error {
	if o.Loss == nil {
		return errors.New("the step returned no loss, want a tensor of one element in Output.Loss")
	}
	if o.Loss.Size() != 1 {
		return fmt.Errorf("the step gave a loss %v, want one element: take its mean", o.Loss.Desc())
	}
	return nil
}
