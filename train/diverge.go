package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/goburn/burn/tensor"
)

// ErrDiverged is wrapped by the error of a run whose loss stayed NaN or infinite, or whose parameters became NaN or infinite.
var ErrDiverged = errors.New("training diverged")

// patience returns the number of consecutive losses that are NaN or infinite at which the run fails, 0 for none.
func (l *Learner[M, B]) patience() int {
	switch {
	case l.NonFinite < 0:
		return 0
	case l.NonFinite == 0:
		return 3
	}
	return l.NonFinite
}

// divergence describes the current row of consecutive losses that are NaN or infinite.
type divergence struct {
	row    int     // number of losses in the row
	step   int     // step of the first of the losses
	value  float64 // value of the first of the losses
	tensor string  // name of the first parameter that was not finite then, or "loss"; empty before the check
}

// stepLoss is the loss of a batch and the number of its update.
type stepLoss struct {
	step  int
	value float64
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// follow checks the losses of a reading. It fails if too many consecutive ones are not finite.
func (r *run[M, B]) follow(losses []stepLoss) error {
	d, most := &r.diverged, r.patience()
	for _, l := range losses {
		if finite(l.value) {
			*d = divergence{}
			continue
		}
		if d.row == 0 {
			d.step, d.value = l.step, l.value
		}
		if d.row++; d.row == most {
			break
		}
	}
	if d.row == 0 {
		return nil
	}
	if d.tensor == "" {
		name, err := r.brokenParam()
		if err != nil {
			return err
		}
		d.tensor = "loss"
		if name != "" {
			d.tensor = name
		}
		if !r.warned {
			r.warned = true
			r.warn("the loss is %v in epoch %d, step %d: lower the learning rate, clip gradients, or go back to an earlier checkpoint", d.value, r.epoch+1, d.step)
		}
	}
	if most > 0 && d.row >= most {
		return r.divergedError()
	}
	return nil
}

// divergedError returns an error that tells at which step the losses became NaN or infinite.
func (r *run[M, B]) divergedError() error {
	d := r.diverged
	what := fmt.Sprintf("tensor %q is the first that is not finite", d.tensor)
	if d.tensor == "loss" {
		what = "all parameters are finite, only the loss is not"
	}
	return fmt.Errorf("train: the loss is %v since step %d, for %d batches in a row; %s; %s: lower the learning rate or clip gradients: %w",
		d.value, d.step, d.row, what, r.lastGood(), ErrDiverged)
}

// checkParams returns an error if a trained parameter is not finite.
func (r *run[M, B]) checkParams() error {
	if r.patience() == 0 {
		return nil
	}
	name, err := r.brokenParam()
	if err != nil || name == "" {
		return err
	}
	return fmt.Errorf("train: after step %d tensor %q has elements that are NaN or infinite; %s: lower the learning rate or clip gradients: %w",
		r.step, name, r.lastGood(), ErrDiverged)
}

// lastGood describes the checkpoint that is kept.
func (r *run[M, B]) lastGood() string {
	if r.store == nil {
		return "there are no checkpoints"
	}
	if err := r.store.Wait(); err != nil {
		return fmt.Sprintf("the last checkpoint was not written: %v", err)
	}
	steps, err := r.store.Steps()
	if err != nil || len(steps) == 0 {
		return "no checkpoint was written before"
	}
	return fmt.Sprintf("the checkpoint of step %d is the last good one", steps[len(steps)-1])
}

// brokenParam returns the name of the first trained parameter with an element that is NaN or infinite, empty for none. It waits
// for the device.
func (r *run[M, B]) brokenParam() (string, error) {
	var tx tensor.Transaction
	whole := make([][]bool, len(r.params))
	var flags []*tensor.Tensor
	err := tensor.Try(func() {
		for i, p := range r.params {
			if p.Size() == 0 || !p.DType().IsFloat() {
				continue
			}
			flags = append(flags, tensor.NoGrad(p.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
				return []*tensor.Tensor{p.Value().In(d).IsFinite().All()}
			})...)
			tensor.Fetch(&tx, flags[len(flags)-1], &whole[i])
		}
	})
	if err == nil {
		err = tx.Execute(r.hard)
	}
	for _, t := range flags {
		t.Release()
	}
	if err != nil {
		return "", fmt.Errorf("train: check parameters: %w", err)
	}
	for i, w := range whole {
		if len(w) == 1 && !w[0] {
			return r.params[i].Name, nil
		}
	}
	return "", nil
}
