package main

import (
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/internal/bench"
)

// Result holds the figures of a run, from which the report is written.
type Result struct {
	Time     time.Time
	Platform string
	CPU      string
	CPUs     int
	Load     string // load average of the last minute before the run; empty if unknown
	Torch    string // versions of PyTorch and its libraries
	ORT      string
	Limits   []bench.Limits // limits of the machine, one for each number of threads
	Ops      []OpResult
	Models   []ModelResult
	Cold     []ColdResult
	Sizes    []SizeResult
	Failed   []Failure
}

// Failure is a case without figures: its results differ from the peer's, or it does not run.
type Failure struct {
	Name    string
	Threads int
	Error   string
}

// fail records a failure and reports it at once.
func (r *Result) fail(name string, threads int, err error) {
	fmt.Fprintf(os.Stderr, "%d  %s: %v\n", threads, name, err)
	r.Failed = append(r.Failed, Failure{name, threads, err.Error()})
}

// OpResult is the result of one op on a number of threads.
type OpResult struct {
	Threads int
	Memory  bool // whether the op is bound by memory bandwidth
	bench.Row
	Torch bench.Stats
}

// Speed returns the speed relative to the peer; above 1, burn is faster.
func (r OpResult) Speed() float64 { return ratio(r.Torch.Median, r.Median) }

// BestSpeed is like Speed, for the best samples.
func (r OpResult) BestSpeed() float64 { return ratio(r.Torch.Best, r.Best) }

// ModelResult is the result of one model on a number of threads. The statistics of a contestant that did not run are zero.
type ModelResult struct {
	Name    string
	Threads int
	Builtin bench.Stats
	Process bench.Stats
	ORT     bench.Stats
	Torch   bench.Stats
}

func ratio(a, b time.Duration) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// ColdResult is the result of one program from its start to its first answer.
type ColdResult struct {
	Model, Program string
	First          bench.Stats // time until the first line of the answer
	Peak           int64       // bytes of resident memory, 0 when unknown
}

// SizeResult is the size of an installation.
type SizeResult struct {
	What  string
	Bytes int64
}
