package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is the outcome of one check.
type Result struct {
	ID      string  `json:"id"`
	Section int     `json:"section"` // of PROTOCOL.md
	Rule    string  `json:"rule"`    // the sentence in that section
	Status  Status  `json:"status"`
	Reason  string  `json:"reason,omitempty"` // why it failed or was skipped
	Seconds float64 `json:"seconds"`
}

// Report is the outcome of a certification.
type Report struct {
	Plugin   string    `json:"plugin"`   // its name, from its answer to Hello; empty if there was none
	Version  string    `json:"version"`  // of the plugin, from its answer to Hello
	Protocol uint32    `json:"protocol"` // the version that was checked
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Skipped  int       `json:"skipped"`
	Results  []Result  `json:"results"`
	// Stderr is the end of the plugin's standard error at the time a check failed.
	Stderr string `json:"stderr,omitempty"`
}

// Err returns nil when a check passed and none failed.
func (r *Report) Err() error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("protocol: %d rules are broken", r.Failed)
	case r.Passed == 0:
		return fmt.Errorf("protocol: nothing was checked")
	}
	return nil
}

// Broken returns an error that lists the violated rules with reasons, or nil.
func (r *Report) Broken() error {
	var errs []error
	for _, x := range r.Results {
		if x.Status == Failed {
			errs = append(errs, fmt.Errorf("%s: %s (section %d: %s)", x.ID, x.Reason, x.Section, x.Rule))
		}
	}
	return errors.Join(errs...)
}

// Write prints failures with their section and rule, skips with their reasons, and the counts last.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	for _, x := range r.Results {
		switch x.Status {
		case Failed:
			fmt.Fprintf(&b, "FAIL %s: %s\n    section %d: %s\n", x.ID, x.Reason, x.Section, x.Rule)
		case Skipped:
			fmt.Fprintf(&b, "skip %s: %s\n", x.ID, x.Reason)
		}
	}
	if r.Failed > 0 && r.Stderr != "" {
		fmt.Fprintf(&b, "last output of the plugin:\n%s\n", r.Stderr)
	}
	fmt.Fprintf(&b, "protocol %d, %s %s: %d passed, %d failed, %d skipped\n", r.Protocol, r.Plugin, r.Version, r.Passed, r.Failed, r.Skipped)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the whole report.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *Report) add(x Result) {
	switch x.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
	r.Results = append(r.Results, x)
}
