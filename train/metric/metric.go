// Package metric is what training is judged by. A metric reduces the output of a step on the device to what it needs, which is read
// together with that of all others in one wait, and adds it up on the host. Metrics are used by one goroutine at a time.
package metric

import (
	"slices"
	"time"

	"github.com/goburn/burn/tensor"
)

// Output is what a step gives to metrics.
type Output struct {
	// Loss is the mean over the items of the batch: a float of one element.
	Loss *tensor.Tensor
	// Predictions are scores [N, classes] or [N, T, classes], or one score per element, as the metric says. May be nil.
	Predictions *tensor.Tensor
	// Targets are class indices [N] or [N, T], or 0 and 1 in the shape of Predictions, as the metric says. May be nil.
	Targets *tensor.Tensor
	// Items is how many items the batch has; 0 stands for 1. Means over an epoch weigh batches by it.
	Items int
}

// Count is Items, at least 1.
func (o Output) Count() int { return max(o.Items, 1) }

// Sample is one step on the host.
type Sample struct {
	Values []Array        // what Measure gave, in its order
	Items  int            // of the batch, at least 1
	Rate   float64        // learning rate; NaN in validation
	Took   time.Duration  // since the sample before, or the start of the epoch
	Device *tensor.Device // where the step ran
}

// Array is a tensor on the host: its elements, widened, in row-major order.
type Array struct {
	Shape []int
	Data  []float64
}

// Rows cuts a at its last axis; an array of rank 0 is one row.
func (a Array) Rows() [][]float64 {
	n := 1
	if len(a.Shape) > 0 {
		n = a.Shape[len(a.Shape)-1]
	}
	if n == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(a.Data, n))
}

// Direction says which values of a metric are better.
type Direction int

// Directions.
const (
	Neither Direction = iota
	Lower
	Higher
)

// Better reports whether a is better than b. NaN is never better, and everything else is better than NaN.
func (d Direction) Better(a, b float64) bool {
	switch {
	case d == Neither || a != a:
		return false
	case b != b:
		return true
	case d == Lower:
		return a < b
	}
	return a > b
}

// Info describes a metric.
type Info struct {
	Name   string // "accuracy"; unique among the metrics of a run
	Unit   string // "%", "items/s", or empty
	Better Direction
	System bool // about the machine or the settings, not the model: not shown in summaries of quality
}

// Metric is one number that is followed through training.
type Metric interface {
	Info() Info
	// Measure queues on the device what the metric needs of a step and returns the tensors to read, of any element type. It
	// waits for nothing. It may run in a scope: the tensors are read before the scope ends, or are kept by the caller.
	Measure(o Output) []*tensor.Tensor
	// Update adds a step. The slices of s are the metric's to keep.
	Update(s Sample)
	// Value returns the metric of the steps since Reset, NaN before the first.
	Value() float64
	Reset()
}

// Stateful is implemented by metrics whose unfinished sums are saved with a checkpoint, so that an epoch that is resumed in its
// midst ends with the same value. Others start the rest of the epoch anew.
type Stateful interface {
	// State returns a pointer to what JSON can write and read back.
	State() any
}

// Momentary is implemented by metrics that know the value of the last step alone.
type Momentary interface{ Last() float64 }
