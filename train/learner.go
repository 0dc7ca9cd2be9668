package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/metric"
)

// Output is what a step gives.
type Output = metric.Output

// Loader gives batches, epoch after epoch, and can be put where it stood, as a data.Loader does.
type Loader[B any] interface {
	Len() int // batches of an epoch
	Batches(ctx context.Context) iter.Seq2[B, error]
	Position() data.Position
	Seek(p data.Position) error
}

// Parts are what lives on a device and is made anew after a backend was lost.
type Parts[M, B any] struct {
	Device    *tensor.Device // with autodiff
	Model     M              // as nn has modules
	Optimizer optim.Optimizer
	Rate      schedule.Scheduler
	Train     Loader[B]
	Valid     Loader[B] // or nil
	Replicas  []Replica[M, B]
	// Close gives up everything; nil closes the devices.
	Close func() error
}

// check reports parts that are nil.
func (p *Parts[M, B]) check() error {
	if p == nil || p.Device == nil || missing(p.Model) {
		return fmt.Errorf("train: parts without Device or Model, want both: %w", core.ErrAttr)
	}
	return nil
}

// missing reports whether m is nil or a nil pointer.
func missing(m any) bool {
	v := reflect.ValueOf(m)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func (p *Parts[M, B]) close() error {
	if p.Close != nil {
		return p.Close()
	}
	errs := []error{p.Device.Close()}
	for _, r := range p.Replicas {
		if r.Device != nil {
			errs = append(errs, r.Device.Close())
		}
	}
	return errors.Join(errs...)
}

// Step computes the output of a batch. b's tensors belong to the scope of the step; a *tensor.Error that it panics with becomes an
// error of the run. The model is in the mode of the split.
type Step[M, B any] func(ctx context.Context, m M, b B) (Output, error)

// Checkpoints says when snapshots are written, and which stay.
type Checkpoints struct {
	Off   bool
	Every int   // updates within an epoch, beside the one at its end; 0 for none
	Keep  int   // how many stay beside the best; 0 stands for 2, less than 0 for all
	Best  Watch // what makes one the best; without validation, the loss in training
}

// Learner says how to train. One Run of a Learner goes on at a time.
//
// The batches that a Loader gives are the learner's, which releases them after the step: by a method Release, or else every tensor in
// exported fields. A tensor that batches share is kept out of exported fields.
type Learner[M, B any] struct {
	Name string // of the run, for people

	// Open makes everything that lives on a device. It is called at the start, and again after a backend was lost; what it gives then
	// is brought to where the last checkpoint was.
	Open      func(ctx context.Context) (*Parts[M, B], error)
	TrainStep Step[M, B]
	ValidStep Step[M, B] // nil for TrainStep; nothing is recorded for gradients
	Epochs    int

	Metrics      []metric.Metric // in training and in validation; nil stands for the loss
	TrainMetrics []metric.Metric // in training only, as metric.LearningRate and metric.Speed
	ValidMetrics []metric.Metric // in validation and tests only
	// ReadEvery is how many training batches pass between two waits for the device, in which the metrics of all of them
	// are read; 0 stands for 1. A batch that is not read is not waited for.
	ReadEvery int

	Accumulate int         // batches whose mean gradient makes one update; 0 stands for 1
	Clip       *optim.Clip // or nil
	// Autocast runs steps in mixed precision, in training, validation and tests: see tensor.Autocast. It is dtype.BF16, dtype.F16, or
	// the zero value for none. Parameters, gradients and the state of the optimiser stay as they are. In F16 the loss is scaled, as
	// optim.Scaler has it: updates whose gradients overflow are skipped, and count as steps all the same; the metrics
	// LossScale and SkippedSteps are added to those of training.
	Autocast     dtype.DType
	Scaling      optim.ScalerConfig // of the loss in F16
	RatePerEpoch bool               // the scheduler advances after each epoch, not after each update

	Dir         string // where checkpoints and logs are; empty for neither
	Config      any    // written to config.json in Dir, if not nil
	Checkpoints Checkpoints
	Resume      bool       // go on from the last checkpoint in Dir, if there is one
	Stop        *EarlyStop // or nil

	// NonFinite is how many training batches in a row may have a loss that is NaN or infinite: that many end the run with an error
	// that wraps ErrDiverged, and so does a trained parameter that is not finite when an epoch ends or a checkpoint is due. No
	// checkpoint is written meanwhile, so that the last good one stays. 0 stands for 3, less than 0 for no such end.
	NonFinite int

	// Restarts is how many times Open is tried anew after the backend was lost (core.ErrBackendLost); a lost backend after
	// that is an error, and so is one that is lost twice in a row at the same step with the same error, unless that has a method
	// Transient that reports true, as when somebody killed the process. The count starts again whenever an epoch ends.
	Restarts int
	Backoff  time.Duration // before the first try, doubled for each; 0 stands for 100 ms

	// Kill, when it is done, ends the run at once, without a checkpoint. The context of Run ends it after the step. May be nil.
	Kill context.Context

	Listeners []Listener

	fallback []metric.Metric // what nil Metrics stand for
	scaled   []metric.Metric // what F16 adds in training
}

// Result is what a run leaves.
type Result[M, B any] struct {
	*Parts[M, B] // still open; the caller closes them
	Reason       Reason
	Epochs       int // that were finished, those before Resume included
	Step         int
	History      History
	Took         time.Duration // in this process
	Saved        error         // of writing the last checkpoint; a failure does not end training

	infos []metric.Info
}

// Summary is History.Summary with what the metrics are.
func (r *Result[M, B]) Summary() string { return r.History.Summary(r.infos...) }

// Close closes the parts.
func (r *Result[M, B]) Close() error { return r.close() }

func (l *Learner[M, B]) check() error {
	switch {
	case l == nil:
		return fmt.Errorf("train: the learner is nil: %w", core.ErrAttr)
	case l.Open == nil || l.TrainStep == nil:
		return fmt.Errorf("train: learner without Open or TrainStep, want both: %w", core.ErrAttr)
	case slices.ContainsFunc(l.Listeners, func(x Listener) bool { return x == nil }):
		return fmt.Errorf("train: a listener is nil: %w", core.ErrAttr)
	case l.Autocast != dtype.Invalid && l.Autocast != dtype.BF16 && l.Autocast != dtype.F16:
		return fmt.Errorf("train: autocast to %v, want %v or %v: %w", l.Autocast, dtype.BF16, dtype.F16, core.ErrUnsupported)
	case l.Epochs < 1:
		return fmt.Errorf("train: %d epochs, want at least 1", l.Epochs)
	case l.Accumulate < 0 || l.ReadEvery < 0 || l.Restarts < 0 || l.Checkpoints.Every < 0:
		return fmt.Errorf("train: accumulate %d, read every %d, restarts %d, checkpoint every %d, want 0 or more", l.Accumulate, l.ReadEvery, l.Restarts, l.Checkpoints.Every)
	case l.Resume && (l.Dir == "" || l.Checkpoints.Off):
		return fmt.Errorf("train: resume without checkpoints: set Dir and leave Checkpoints on")
	case l.Restarts > 0 && (l.Dir == "" || l.Checkpoints.Off):
		return fmt.Errorf("train: restarts without checkpoints: set Dir and leave Checkpoints on")
	}
	for split, list := range map[Split][]metric.Metric{Train: l.metrics(Train), Valid: l.metrics(Valid)} {
		seen := map[string]bool{}
		for i, m := range list {
			if m == nil {
				return fmt.Errorf("train: metric %d in %s is nil: %w", i, split, core.ErrAttr)
			}
			if name := m.Info().Name; seen[name] {
				return fmt.Errorf("train: two metrics in %s are named %q, want names that differ", split, name)
			} else {
				seen[name] = true
			}
		}
	}
	return nil
}

// metrics are those of a split, in the order of readings.
func (l *Learner[M, B]) metrics(s Split) []metric.Metric {
	more := l.ValidMetrics
	if s == Train {
		more = l.TrainMetrics
	}
	shared := l.Metrics
	if shared == nil {
		shared = l.standard()
	}
	all := append(append([]metric.Metric(nil), shared...), more...)
	if s == Train && l.Autocast == dtype.F16 {
		if l.scaled == nil {
			l.scaled = newScaled()
		}
		all = append(all, l.scaled...)
	}
	return all
}

// standard is what nil Metrics stand for.
func (l *Learner[M, B]) standard() []metric.Metric {
	if l.fallback == nil {
		l.fallback = []metric.Metric{metric.Loss()}
	}
	return l.fallback
}

func (l *Learner[M, B]) checkpointDir() string { return filepath.Join(l.Dir, "checkpoint") }

// direction is that of a watched metric, and whether there is one.
func (l *Learner[M, B]) direction(w Watch) (metric.Direction, error) {
	w = w.fill()
	for _, m := range l.metrics(w.Split) {
		if i := m.Info(); i.Name == w.Metric {
			if i.Better == metric.Neither {
				return i.Better, fmt.Errorf("train: %v has no better or worse: watch another metric", w)
			}
			return i.Better, nil
		}
	}
	return metric.Neither, fmt.Errorf("train: no metric is named %v: add it to Metrics", w)
}
