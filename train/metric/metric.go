// Package metric defines the metrics of training. A metric reduces the output of a step on the device to a few tensors, and accumulates
// them on the host. The tensors of all metrics are read in one wait. Package train calls metrics after each step, from one goroutine at a
// time. A metric must not wait for the device itself.
package metric

import (
	"slices"
	"time"

	"github.com/goburn/burn/tensor"
)

// Output is the result of a step, from which metrics are computed.
type Output struct {
	// Loss is the mean over the items of the batch: a float of one element.
	Loss *tensor.Tensor
	// Predictions are scores [N, classes] or [N, T, classes], or one score per element, as the metric requires. May be nil.
	Predictions *tensor.Tensor
	// Targets are class indices [N] or [N, T], or 0 and 1 in the shape of Predictions, as the metric requires. May be nil.
	Targets *tensor.Tensor
	// Items is the number of items of the batch; 0 means 1. It weights the batch in means over an epoch.
	Items int
}

// Count returns Items, at least 1.
func (o Output) Count() int { return max(o.Items, 1) }

// Sample contains the values of one step on the host.
type Sample struct {
	Values []Array        // tensors returned by Measure, in its order
	Items  int            // items of the batch, at least 1
	Rate   float64        // learning rate; NaN in validation
	Took   time.Duration  // time since the previous sample, or since the start of the epoch
	Device *tensor.Device // the device of the step
}

// Array is a tensor on the host: its shape, and its elements as float64 in row-major order.
type Array struct {
	Shape []int
	Data  []float64
}

// Rows returns the rows of a along its last axis; an array of rank 0 is one row. The rows share the memory of a.
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

// Direction determines which values of a metric are better.
type Direction int

// The directions.
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
	System bool // whether the metric describes the machine or the settings, not the model; summaries omit it
}

// Metric computes one number throughout training.
type Metric interface {
	Info() Info
	// Measure queues the reduction of a step on the device, and returns the tensors to read, of any element type. It must not
	// wait. It may run in a scope: the caller reads the tensors before the scope ends, or keeps them.
	Measure(o Output) []*tensor.Tensor
	// Update adds a step. The metric may keep the slices of s.
	Update(s Sample)
	// Value returns the value over the steps since Reset, NaN before the first.
	Value() float64
	Reset()
}

// Stateful is implemented by metrics whose unfinished sums are saved with a checkpoint, so that an epoch that is resumed midway
// ends with the same value. Other metrics start anew for the rest of the epoch.
type Stateful interface {
	// State returns a pointer to a value that encoding/json can encode and decode, even if the metric is NaN or infinite.
	State() any
}

// Momentary is implemented by metrics that know the value of the last step alone.
type Momentary interface{ Last() float64 }
