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

// Output is the result of a step: see metric.Output.
type Output = metric.Output

// Loader yields batches, epoch after epoch, and can seek to a position, as a data.Loader does.
type Loader[B any] interface {
	Len() int // batches per epoch
	Batches(ctx context.Context) iter.Seq2[B, error]
	Position() data.Position
	Seek(p data.Position) error
}

// Parts holds everything on a device that must be recreated after the loss of a backend.
type Parts[M, B any] struct {
	Device    *tensor.Device // with autodiff
	Model     M              // a model for package nn
	Optimizer optim.Optimizer
	Rate      schedule.Scheduler
	Train     Loader[B]
	Valid     Loader[B] // may be nil
	Replicas  []Replica[M, B]
	// Close releases the parts. If it is nil, the devices are closed instead.
	Close func() error
}

// check returns an error if p, its Device or its Model is nil.
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

// Step computes the output of a batch. The tensors of b belong to the scope of the step. If it panics with *tensor.Error, the run
// ends with this error. The model is in training mode in training, and in inference mode otherwise.
type Step[M, B any] func(ctx context.Context, m M, b B) (Output, error)

// Checkpoints determines when snapshots are written, and which are kept.
type Checkpoints struct {
	Off   bool
	Every int   // updates between snapshots within an epoch, in addition to the snapshot at its end; 0 for none
	Keep  int   // number of snapshots to keep, in addition to the best; 0 means 2, negative means all
	Best  Watch // criterion for the best; the zero value means the loss in validation, or in training if there is no validation
}

// Learner trains a model. Only one Run of a Learner may be in progress.
//
// The learner owns the batches of a Loader and releases them after the step: by their method Release, or, if they have none, by
// releasing every tensor in their exported fields. A tensor that several batches share must not be in exported fields.
type Learner[M, B any] struct {
	Name string // name of the run, for people

	// Open creates everything that lives on a device. It is called at the start, and again after the loss of a backend; the new
	// parts are then restored from the last checkpoint.
	Open      func(ctx context.Context) (*Parts[M, B], error)
	TrainStep Step[M, B]
	ValidStep Step[M, B] // nil means TrainStep; no gradients are recorded
	Epochs    int

	Metrics      []metric.Metric // in training and in validation; nil means the loss
	TrainMetrics []metric.Metric // in training only, such as metric.LearningRate and metric.Speed
	ValidMetrics []metric.Metric // in validation and tests only
	// ReadEvery is the number of training batches after which the learner waits for the device and reads the metrics of all of
	// these batches; 0 means 1. Between these points it does not wait.
	ReadEvery int

	Accumulate int         // number of batches whose mean gradient is used for one update; 0 means 1
	Clip       *optim.Clip // may be nil
	// Autocast runs steps in mixed precision, in training, validation and tests: see tensor.Autocast. It is dtype.BF16,
	// dtype.F16, or the zero value for none. The types of parameters, gradients and the state of the optimiser do not change. In
	// F16 the loss is scaled by an optim.Scaler: updates whose gradients overflow are skipped, but count as steps; the metrics
	// LossScale and SkippedSteps are added to the metrics of training.
	Autocast     dtype.DType
	Scaling      optim.ScalerConfig // settings of the loss scale in F16
	RatePerEpoch bool               // the scheduler advances after each epoch instead of each update

	Dir         string // folder of checkpoints and logs; empty for neither
	Config      any    // written to config.json in Dir, if not nil
	Checkpoints Checkpoints
	Resume      bool       // resume from the last checkpoint in Dir, if there is one
	Stop        *EarlyStop // may be nil

	// NonFinite is the number of consecutive training batches with a loss that is NaN or infinite after which the run ends with
	// an error that wraps ErrDiverged. The run also ends with such an error if a trained parameter is not finite when an epoch
	// ends or a checkpoint is due. While the loss is not finite no checkpoint is written, so that the last good one is kept. 0
	// means 3; a negative value disables the check.
	NonFinite int

	// Restarts is the number of times that Open is called again after the loss of the backend (core.ErrBackendLost); a further
	// loss is an error. Two consecutive losses at the same step with the same cause are an error too, unless the error has a
	// method Transient that returns true, for example because a user killed the process. The count is reset when an epoch ends.
	Restarts int
	Backoff  time.Duration // delay before the first restart, doubled for each further one; 0 means 100 ms

	// When Kill is done, the run ends at once, without a checkpoint. When the context of Run is done, by contrast, the run ends after the
	// current step. Kill may be nil.
	Kill context.Context

	Listeners []Listener

	fallback []metric.Metric // replaces nil Metrics
	scaled   []metric.Metric // added by F16 in training
}

// Result is the result of a run.
type Result[M, B any] struct {
	*Parts[M, B] // still open; the caller closes them
	Reason       Reason
	Epochs       int // number of finished epochs, including epochs before Resume
	Step         int
	History      History
	Took         time.Duration // duration in this process
	Saved        error         // error of writing the last checkpoint; such an error does not end training

	infos []metric.Info
}

// Summary returns History.Summary with the descriptions of the metrics.
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
	for _, split := range []Split{Train, Valid} {
		seen := map[string]bool{}
		for i, m := range l.metrics(split) {
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

// metrics returns the metrics of a split, in the order of readings.
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

// standard returns the metrics that replace nil Metrics.
func (l *Learner[M, B]) standard() []metric.Metric {
	if l.fallback == nil {
		l.fallback = []metric.Metric{metric.Loss()}
	}
	return l.fallback
}

func (l *Learner[M, B]) checkpointDir() string { return filepath.Join(l.Dir, "checkpoint") }

// direction returns the direction of a watched metric, and an error if there is no such metric.
func (l *Learner[M, B]) direction(w Watch) (metric.Direction, error) {
	w = w.fill()
	for _, m := range l.metrics(w.Split) {
		if i := m.Info(); i.Name == w.Metric {
			if i.Better == metric.Neither {
				return i.Better, fmt.Errorf("train: %v has no direction (Info.Better is Neither): watch another metric", w)
			}
			return i.Better, nil
		}
	}
	return metric.Neither, fmt.Errorf("train: no metric is named %v: add it to Metrics", w)
}
