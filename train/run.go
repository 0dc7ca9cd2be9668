package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/internal/lost"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/checkpoint"
	"github.com/goburn/burn/train/metric"
)

// run is one call of Run.
type run[M, B any] struct {
	*Learner[M, B]
	soft, hard context.Context // soft ends the run after the current step, hard ends it at once

	parts  *Parts[M, B]
	params []nn.Named
	copies []copying
	train  *gauge
	valid  *gauge
	sum    optim.Accumulator
	scaler *optim.Scaler     // may be nil
	factor *tensor.Tensor    // loss scale of the step; nil for none
	store  *checkpoint.Store // may be nil

	epoch   int
	phase   Split // current phase of the epoch: Train or Valid
	step    int
	history History
	resumed bool // the epoch is resumed midway
	rate    float64

	restarts int
	lostAt   int    // step of the last loss of the backend
	lostWay  string // cause of the last loss
	began    time.Time
	diverged divergence
	warned   bool // about a loss that is not finite

	mu        sync.Mutex // serialises events
	listeners []Listener
}

// errInterrupted is the error that ends the loop after a step when soft has ended.
var errInterrupted = errors.New("interrupted")

// Run trains the model. When ctx ends, Run finishes the step, writes a checkpoint and returns a result with the reason
// Interrupted and no error. Before it returns an error, it closes the parts and waits until the last checkpoint is on disk.
func (l *Learner[M, B]) Run(ctx context.Context) (*Result[M, B], error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, fmt.Errorf("train: the context is nil: %w", core.ErrAttr)
	}
	l.scaled = nil // from a previous run
	r := &run[M, B]{Learner: l, soft: ctx, hard: l.Kill, phase: Train, began: time.Now(), listeners: l.Listeners}
	if r.hard == nil {
		r.hard = context.WithoutCancel(ctx)
	}
	r.train = newGauge(l.metrics(Train), time.Now)
	r.valid = newGauge(l.metrics(Valid), time.Now)
	if l.Dir != "" {
		logs, err := openArtifacts(l.Dir, l.Config)
		if err != nil {
			return nil, err
		}
		defer logs.close()
		r.listeners = append([]Listener{logs}, l.Listeners...)
	}
	reason, err := r.all()
	r.unite()
	var saved error
	if r.store != nil {
		saved = r.store.Wait()
	}
	took := time.Since(r.began)
	r.emit(Ended{Reason: reason, Err: err, Epochs: r.epoch, Step: r.step, History: r.history, Took: took, Time: time.Now()})
	if err != nil {
		if r.parts != nil {
			err = errors.Join(err, ignoreLost(r.parts.close()))
		}
		return nil, err
	}
	return &Result[M, B]{r.parts, reason, r.epoch, r.step, r.history, took, saved, append(r.train.infos(), r.valid.infos()...)}, nil
}

// ignoreLost returns err, or nil if err results from closing a lost backend.
func ignoreLost(err error) error {
	if errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed) {
		return nil
	}
	return err
}

func (r *run[M, B]) emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.listeners {
		l.Event(e)
	}
}

func (r *run[M, B]) warn(format string, args ...any) { r.emit(Warned{fmt.Sprintf(format, args...)}) }

// all trains until the end, and restarts after the loss of a backend.
func (r *run[M, B]) all() (Reason, error) {
	if r.Dir != "" && !r.Checkpoints.Off {
		var err error
		r.store, err = checkpoint.Open(r.checkpointDir(), r.Checkpoints.Keep, func(path string, best bool, err error) {
			r.emit(Saved{path, best, err})
		})
		if err != nil {
			return Failed, err
		}
	}
	resume := r.Resume
	for {
		err := r.open(resume)
		if err == nil {
			err = r.epochs()
		}
		switch {
		case err == nil:
			if r.diverged.row > 0 && r.patience() > 0 {
				return Failed, r.divergedError()
			}
			if r.epoch < r.Epochs {
				return StoppedEarly, nil
			}
			return Completed, nil
		case errors.Is(err, errInterrupted):
			return Interrupted, nil
		case !errors.Is(err, core.ErrBackendLost) || r.restarts >= r.Restarts || r.hard.Err() != nil:
			return Failed, err
		}
		way := lost.Way(err)
		if r.restarts > 0 && r.step == r.lostAt && way == r.lostWay && !lost.Transient(err) {
			return Failed, fmt.Errorf("train: the backend was lost twice in the same way at step %d, which is not tried again: %w", r.step, err)
		}
		r.lostAt, r.lostWay = r.step, way
		if err := r.restart(err); err != nil {
			return Failed, err
		}
		resume = true
	}
}

// restart closes the lost parts and waits for the backoff time.
func (r *run[M, B]) restart(cause error) error {
	r.restarts++
	r.train.drop()
	r.valid.drop()
	r.sum = optim.Accumulator{}
	r.diverged = divergence{}
	r.copies = nil // they end with the device
	if r.parts != nil {
		if err := ignoreLost(r.parts.close()); err != nil {
			r.warn("closing the lost backend: %v", err)
		}
		r.parts = nil
	}
	wait := r.Backoff
	if wait == 0 {
		wait = 100 * time.Millisecond
	}
	wait <<= min(r.restarts-1, 8)
	r.warn("the backend was lost: %v; opening it again (try %d of %d)", cause, r.restarts, r.Restarts)
	select {
	case <-time.After(wait):
		return nil
	case <-r.soft.Done():
		return cause
	case <-r.hard.Done():
		return cause
	}
}

// open creates the parts and restores them from the last checkpoint.
func (r *run[M, B]) open(resume bool) error {
	p, err := r.Learner.Open(r.hard)
	if err != nil {
		return fmt.Errorf("train: open: %w", err)
	}
	r.parts = p
	if p == nil || p.Device == nil || p.Optimizer == nil || p.Rate == nil || p.Train == nil || missing(p.Model) {
		r.parts = nil
		var cerr error
		if p != nil && (p.Close != nil || p.Device != nil) {
			cerr = p.close()
		}
		return errors.Join(fmt.Errorf("train: Open returned parts without Device, Model, Optimizer, Rate or Train, want all of them: %w", core.ErrAttr), cerr)
	}
	if !p.Device.Autodiff() {
		return fmt.Errorf("train: device %s records no gradients: open it with them, burn.Open(ctx, name, burn.WithGradients()): %w", p.Device, core.ErrUnsupported)
	}
	if p.Train.Len() == 0 {
		return fmt.Errorf("train: the training loader has no batches: is the dataset empty, or smaller than a batch that DropLast drops?")
	}
	r.epoch, r.step, r.phase, r.history, r.resumed, r.rate = 0, 0, Train, nil, false, p.Rate.Rate()
	if err := r.watched(); err != nil {
		return err
	}
	if r.Autocast == dtype.F16 {
		if r.scaler, err = optim.NewScaler(p.Device, r.Scaling); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	if resume {
		if err := r.restore(); err != nil {
			return err
		}
	}
	if r.params, err = trained(p.Model); err != nil {
		return err
	}
	if err := r.align(r.hard); err != nil {
		return err
	}
	if err := r.split(); err != nil {
		return err
	}
	s := Started{Name: r.Name, Dir: r.Dir, Device: p.Device.String(), Epochs: r.Epochs, Epoch: r.epoch, Step: r.step, History: r.history,
		Batches: map[Split]int{Train: p.Train.Len()}, Metrics: map[Split][]metric.Info{Train: r.train.infos(), Valid: r.valid.infos()}, Time: time.Now()}
	if p.Valid != nil {
		s.Batches[Valid] = p.Valid.Len()
	}
	s.Params.Trained, s.Params.All = nn.Count(p.Model)
	r.emit(s)
	return nil
}

// trained returns the trained parameters of m. It returns an error if there are none, or if nn.Hidden finds parameters in fields
// that training cannot see.
func trained(m any) ([]nn.Named, error) {
	list := nn.Trained(m)
	if hidden := nn.Hidden(m); len(hidden) > 0 {
		return nil, fmt.Errorf("train: %T has parameters that training cannot see, in %s: export the fields (Proj, not proj), or give them the tag `nn:\"-\"` to leave them as they are: %w",
			m, strings.Join(hidden, ", "), core.ErrAttr)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("train: %T has no trained parameters, want at least one: are all of them frozen?: %w", m, core.ErrAttr)
	}
	return list, nil
}

// watched returns an error if a metric on which early stopping or the best checkpoint depends does not exist.
func (r *run[M, B]) watched() error {
	if r.Stop != nil {
		if _, err := r.direction(r.watch(r.Stop.Watch)); err != nil {
			return err
		}
	}
	if r.store != nil && r.Checkpoints.Best != (Watch{}) {
		if _, err := r.direction(r.watch(r.Checkpoints.Best)); err != nil {
			return err
		}
	}
	return nil
}

// watch returns w with its defaults filled in. The default split is Train if there is no validation.
func (r *run[M, B]) watch(w Watch) Watch { return w.in(r.parts.Valid != nil) }

// epochs trains from the current position to the last epoch, or until training is stopped or interrupted.
func (r *run[M, B]) epochs() error {
	for r.epoch < r.Epochs {
		if r.phase == Train && !r.resumed && r.stopped() {
			return nil
		}
		if r.phase == Train {
			if err := r.trainEpoch(); err != nil {
				return err
			}
			r.phase = Valid
		}
		if r.parts.Valid != nil {
			if err := r.validEpoch(); err != nil {
				return err
			}
		}
		if r.RatePerEpoch {
			r.parts.Rate.Advance()
		}
		r.observe()
		best := r.isBest()
		r.epoch++
		r.phase, r.resumed, r.restarts = Train, false, 0
		if err := r.save(best); err != nil {
			return err
		}
		if r.soft.Err() != nil && r.epoch < r.Epochs && !r.stopped() {
			return errInterrupted
		}
	}
	return nil
}

// stopped reports whether early stopping ends training here.
func (r *run[M, B]) stopped() bool {
	if r.Stop == nil {
		return false
	}
	stop := *r.Stop
	stop.Watch = r.watch(stop.Watch)
	d, err := r.direction(stop.Watch)
	return err == nil && len(r.history) > 0 && stop.done(r.history, d) // open checked the error
}

// If the scheduler follows a metric, observe passes it the last value of the metric of Checkpoints.Best.
func (r *run[M, B]) observe() {
	o, ok := r.parts.Rate.(interface{ Observe(metric float64) })
	if !ok {
		return
	}
	w := r.watch(r.Checkpoints.Best)
	if _, values := r.history.Series(w.Split, w.Metric); len(values) > 0 {
		o.Observe(values[len(values)-1])
	}
}

// isBest reports whether the current epoch, which has ended, is the best so far.
func (r *run[M, B]) isBest() bool {
	w := r.watch(r.Checkpoints.Best)
	d, err := r.direction(w)
	if err != nil {
		return false
	}
	best, ok := r.history.Best(w, d)
	return ok && best.Epoch == r.epoch
}

// finish appends the record of a split that has ended to the history, and sends EpochEnded.
func (r *run[M, B]) finish(s Split, g *gauge, began time.Time) {
	readings := g.readings()
	rec := Record{Split: s, Epoch: r.epoch, Step: r.step, Values: map[string]Number{}, Seconds: time.Since(began).Seconds()}
	for _, x := range readings {
		rec.Values[x.Name] = Number(x.Value)
	}
	r.history = append(r.history[:len(r.history):len(r.history)], rec)
	r.emit(EpochEnded{Record: rec, Readings: readings, Best: s == r.watch(r.Checkpoints.Best).Split && r.isBest(), Time: time.Now()})
}

// seekEpoch moves a loader to the start of the epoch, unless it is within that epoch already.
func seekEpoch[B any](l Loader[B], epoch int) error {
	if l.Position().Epoch == epoch {
		return nil
	}
	return l.Seek(data.Position{Epoch: epoch})
}
