package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// Status is the outcome of a case.
type Status string

// The outcomes.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	Skipped  Status = "skipped"
	Expected Status = "expected" // failed, as expected
)

// Result is the outcome of one case.
type Result struct {
	ID     string
	Status Status
	// Reason says why a case failed or was skipped.
	Reason string
	// Minimal is a small node that fails in the same way, if one was looked for and the case has a node.
	Minimal  *Minimal
	Duration time.Duration
	// Op and Type are the row under test and the type of its first operand; none for cases of the contract.
	Op    string
	Type  dtype.DType
	Types dtype.Set // every type that the case needs
	// Moot: the case was skipped because there is nothing on the device that it could check.
	Moot     bool
	Profiles []Profile
}

// text returns the reason with the minimal node.
func (r *Result) text() string {
	if r.Minimal == nil {
		return r.Reason
	}
	return r.Reason + "\n" + r.Minimal.String()
}

// Report is the outcome of a run, results in the order of the cases.
type Report struct {
	Suite        Suite
	Backend      core.Info
	Capabilities *core.Capabilities
	Plugin       Plugin
	Environment  Environment
	Options      Options
	Seed         uint64   // the seed of cases of the contract: the first of Seeds
	Seeds        []uint64 // the seeds of cases whose values are drawn
	Started      time.Time
	Duration     time.Duration
	Results      []Result

	Passed, Failed, Skipped, Expected int
	// Timings are the results of Perf.
	Timings []Timing
	// Accuracy is the worst error of each op and type, over the cases that were run.
	Accuracy []Accuracy
	// Modes say how the device computes; set by a run of whole profiles.
	Modes   []Mode
	Machine Machine
	asked   []string // ids of the cases that were selected
	devices []DeviceDocument
	// Profiles is complete once the run is.
	Profiles []ProfileResult
	// Lean packages have neither JUnitFile nor PageFile, which can be derived from the rest, and durations of cases are in hundredths of a
	// second.
	Lean bool
}

func newReport(all []testCase, o Options, seeds []uint64) *Report {
	r := &Report{Suite: Current(), Options: o, Seed: seeds[0], Seeds: seeds, Started: time.Now().UTC(), Environment: environment()}
	for _, p := range Profiles() {
		x := ProfileResult{Profile: p, Verdict: NotExecuted}
		for _, c := range all {
			if c.in(p) {
				x.Total++
			}
		}
		r.Profiles = append(r.Profiles, x)
	}
	return r
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
	case Expected:
		r.Expected++
	}
	for i := range r.Profiles {
		p := &r.Profiles[i]
		in := p.Profile == All
		for _, q := range x.Profiles {
			in = in || q == p.Profile
		}
		if in {
			p.count(x.Status)
		}
	}
}

func (r *Report) finish() {
	r.Duration = time.Since(r.Started)
	for i := range r.Profiles {
		r.Profiles[i].judge()
	}
}

// Err returns nil if at least one case was executed and none failed, except expected failures. The error names the first cases that failed,
// with their reasons.
func (r *Report) Err() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("conformance: %s: %d cases failed%s", r.Backend.Name, r.Failed, r.failures(5))
	case r.Passed+r.Expected == 0:
		return fmt.Errorf("conformance: %s: no case was executed", r.Backend.Name)
	}
	return nil
}

// failures lists the first most cases that failed.
func (r *Report) failures(most int) string {
	var b strings.Builder
	for _, x := range r.Results {
		if x.Status != Failed {
			continue
		}
		if most--; most < 0 {
			b.WriteString("; and more")
			break
		}
		reason, _, _ := strings.Cut(x.Reason, "\n")
		fmt.Fprintf(&b, "; %s: %s", x.ID, reason)
	}
	return b.String()
}

func (r *Report) counts() string {
	s := fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
	if r.Expected > 0 {
		s += fmt.Sprintf(", %d failed as expected", r.Expected)
	}
	return s
}

// Write prints failures, then skips by reason, the matrix of ops and types, the verdicts of the profiles, and last the
// counts.
func (r *Report) Write(w io.Writer) error {
	var errs []error
	print := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format, args...)
		errs = append(errs, err)
	}
	reasons := map[string]int{}
	var order []string
	for i := range r.Results {
		x := &r.Results[i]
		switch x.Status {
		case Failed:
			print("FAIL %s: %s\n", x.ID, strings.ReplaceAll(x.text(), "\n", "\n    "))
		case Expected:
			print("expected %s: %s\n", x.ID, strings.ReplaceAll(x.Reason, "\n", "\n    "))
		case Skipped:
			if reasons[x.Reason]++; reasons[x.Reason] == 1 {
				order = append(order, x.Reason)
			}
		}
	}
	const most = 20
	for i, reason := range order {
		if i == most {
			rest := 0
			for _, reason := range order[i:] {
				rest += reasons[reason]
			}
			print("skip %d: %d other reasons\n", rest, len(order)-most)
			break
		}
		print("skip %d: %s\n", reasons[reason], reason)
	}
	errs = append(errs, r.Matrix().Write(w))
	for _, p := range r.Profiles {
		print("profile %-13s %-13s %5d passed %5d failed %5d skipped of %d\n", p.Profile, p.Verdict, p.Passed, p.Failed+p.Expected, p.Skipped, p.Total)
		for _, l := range r.holeLines(p) {
			print("    %s\n", l)
		}
	}
	print("%s\n", r.counts())
	return errors.Join(errs...)
}
