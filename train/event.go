package train

import (
	"time"

	"github.com/goburn/burn/train/metric"
)

// Split is a part of the data.
type Split string

// Splits.
const (
	Train Split = "train"
	Valid Split = "valid"
	Test  Split = "test"
)

// Event is something that happened: one of the types below.
type Event interface{ event() }

// Listener is told what happens, in order and one event at a time. It must return soon: training waits for it. What it is given
// must not be changed.
type Listener interface{ Event(e Event) }

// ListenerFunc is a function as a Listener.
type ListenerFunc func(e Event)

// Event calls f.
func (f ListenerFunc) Event(e Event) { f(e) }

// Started comes first, and again when training goes on after a backend was lost.
type Started struct {
	Name    string
	Dir     string
	Device  string
	Epochs  int                        // to train in all
	Epoch   int                        // to begin with, from 0
	Step    int                        // done before, in the run that is resumed
	Batches map[Split]int              // of an epoch
	Metrics map[Split][]metric.Info    // in the order of readings
	History History                    // of epochs before
	Params  struct{ Trained, All int } // elements
	Time    time.Time
}

// EpochStarted opens a split of an epoch.
type EpochStarted struct {
	Split Split
	Epoch int
	Batch int // done before, when it is resumed in its midst
}

// Reading is a metric at some time.
type Reading struct {
	Name  string
	Value float64 // over the epoch so far
	Last  float64 // of the last step alone, or Value where the metric has no such thing
}

// Stepped comes after each batch. Readings are those of the last batch that was read, nil before the first.
type Stepped struct {
	Split    Split
	Epoch    int
	Batch    int // done in this epoch
	Batches  int // of the epoch
	Step     int // updates of the parameters so far, over all epochs
	Items    int // of the batch
	Rate     float64
	Readings []Reading
	Fresh    bool // Readings are of this batch
	Time     time.Time
}

// EpochEnded closes a split of an epoch.
type EpochEnded struct {
	Record
	Readings []Reading
	Best     bool // by what checkpoints are judged by
	Time     time.Time
}

// Saved comes when a checkpoint is on the disk, or could not be written.
type Saved struct {
	Path string
	Best bool
	Err  error
}

// Warned is something that a person should know and that training overcame.
type Warned struct{ Text string }

// Ended comes last.
type Ended struct {
	Reason  Reason
	Err     error
	Epochs  int // that were finished
	Step    int
	History History
	Took    time.Duration
	Time    time.Time
}

func (Started) event()      {}
func (EpochStarted) event() {}
func (Stepped) event()      {}
func (EpochEnded) event()   {}
func (Saved) event()        {}
func (Warned) event()       {}
func (Ended) event()        {}

// Reason is why training ended.
type Reason string

// Reasons.
const (
	Completed    Reason = "completed"
	StoppedEarly Reason = "stopped early"
	Interrupted  Reason = "interrupted"
	Failed       Reason = "failed"
)
