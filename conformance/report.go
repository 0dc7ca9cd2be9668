package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goburn/burn/core"
)

// Status is the outcome of a case.
type Status string

// The outcomes.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is the outcome of one case.
type Result struct {
	ID     string
	Status Status
	// Reason says why a case failed or was skipped.
	Reason   string
	Duration time.Duration
}

// Report is the outcome of a run, results in the order of the cases.
type Report struct {
	Backend                 core.Info
	Seed                    uint64
	Results                 []Result
	Passed, Failed, Skipped int
}

func (r *Report) add(x Result) {
	r.Results = append(r.Results, x)
	switch x.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
}

// Err is nil when at least one case was executed and none failed.
func (r *Report) Err() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("conformance: %s: %d cases failed", r.Backend.Name, r.Failed)
	case r.Passed == 0:
		return fmt.Errorf("conformance: %s: no case was executed", r.Backend.Name)
	}
	return nil
}

// Write prints failures, then skips by reason, then the counts.
func (r *Report) Write(w io.Writer) error {
	var errs []error
	print := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format, args...)
		errs = append(errs, err)
	}
	reasons := map[string]int{}
	var order []string
	for _, x := range r.Results {
		switch x.Status {
		case Failed:
			print("FAIL %s: %s\n", x.ID, strings.ReplaceAll(x.Reason, "\n", "\n    "))
		case Skipped:
			if reasons[x.Reason]++; reasons[x.Reason] == 1 {
				order = append(order, x.Reason)
			}
		}
	}
	for _, reason := range order {
		print("skip %d: %s\n", reasons[reason], reason)
	}
	print("%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return errors.Join(errs...)
}
