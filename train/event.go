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

// Event is one of the types below.
type Event interface{ event() }

// Listener receives the events in order, one at a time. Event must return soon, as training waits for it, and must not change its
// argument.
type Listener interface{ Event(e Event) }

// ListenerFunc adapts a function to Listener.
type ListenerFunc func(e Event)

// Event calls f.
func (f ListenerFunc) Event(e Event) { f(e) }

// Started is the first event of Run. It is sent again when training resumes after the loss of a backend.
type Started struct {
	Name    string
	Dir     string
	Device  string
	Epochs  int                        // number of epochs to train in total
	Epoch   int                        // first epoch, from 0
	Step    int                        // steps done before, if the run is resumed
	Batches map[Split]int              // batches per epoch
	Metrics map[Split][]metric.Info    // in the order of readings
	History History                    // records of earlier epochs
	Params  struct{ Trained, All int } // number of elements
	Time    time.Time
}

// EpochStarted is sent at the start of a split of an epoch.
type EpochStarted struct {
	Split Split
	Epoch int
	Batch int // batches done before, if the epoch is resumed midway
}

// Reading is the value of a metric at some time.
type Reading struct {
	Name  string
	Value float64 // value over the epoch so far
	Last  float64 // value of the last step alone, or Value if the metric has no such value
}

// Stepped is sent after each batch. Readings are the values of the metrics when they were last read, nil before the first
// reading.
type Stepped struct {
	Split    Split
	Epoch    int
	Batch    int // batches done in this epoch
	Batches  int // batches per epoch
	Step     int // updates of the parameters so far, over all epochs
	Items    int // items in the batch
	Rate     float64
	Readings []Reading
	Fresh    bool // whether Readings are the values at this batch
	Time     time.Time
}

// EpochEnded is sent at the end of a split of an epoch.
type EpochEnded struct {
	Record
	Readings []Reading
	Best     bool // whether the epoch is the best so far by the criterion of Checkpoints.Best
	Time     time.Time
}

// Saved is sent when a checkpoint has been written to disk, or when writing it has failed.
type Saved struct {
	Path string
	Best bool
	Err  error
}

// Warned reports a problem that does not end training, but that the user should know about.
type Warned struct{ Text string }

// Ended is the last event of Run.
type Ended struct {
	Reason  Reason
	Err     error
	Epochs  int // number of finished epochs
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

// Reason is the reason for which training ended.
type Reason string

// The reasons.
const (
	Completed    Reason = "completed"
	StoppedEarly Reason = "stopped early"
	Interrupted  Reason = "interrupted"
	Failed       Reason = "failed"
)
