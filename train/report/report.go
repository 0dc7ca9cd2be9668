// Package report writes the history of a training run as one self-contained HTML page with curves. It is a listener of package train, and
// must not influence training. The page must not load anything from a network.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/internal/curve"
	"github.com/goburn/burn/train/metric"
)

// Report is a listener that collects the events of a run. The page can be written at any time between events.
type Report struct {
	path  string // file that is written at the end; empty for none
	start train.Started
	end   train.Ended
	infos []metric.Info
	curve map[string]*curve.Curve // values of training batches, by metric
	notes []string
	tests []train.Record
	past  train.History
	err   error
}

// New returns a report that is written to path, atomically, when training ends and after each later test. If path is empty, only
// Write writes the report.
func New(path string) *Report { return &Report{path: path, curve: map[string]*curve.Curve{}} }

// Err returns the error of the last attempt to write the page to the path, or nil.
func (r *Report) Err() error { return r.err }

// Event records e.
func (r *Report) Event(e train.Event) {
	switch e := e.(type) {
	case train.Started:
		r.start = e
		r.past = e.History
		r.infos = nil
		seen := map[string]bool{}
		for _, s := range []train.Split{train.Train, train.Valid} {
			for _, i := range e.Metrics[s] {
				if !seen[i.Name] {
					seen[i.Name] = true
					r.infos = append(r.infos, i)
				}
			}
		}
		for _, c := range r.curve {
			c.Cut(float64(e.Step))
		}
	case train.Stepped:
		if e.Split != train.Train || !e.Fresh {
			return
		}
		for _, x := range e.Readings {
			c := r.curve[x.Name]
			if c == nil {
				c = &curve.Curve{}
				r.curve[x.Name] = c
			}
			c.Add(float64(e.Step), x.Last)
		}
	case train.EpochEnded:
		if e.Split == train.Test {
			r.tests = append(r.tests, e.Record)
			if !r.end.Time.IsZero() { // the page has been written already
				r.finish()
			}
			return
		}
		r.past = append(r.past[:len(r.past):len(r.past)], e.Record)
	case train.Saved:
		if e.Err != nil {
			r.notes = append(r.notes, "checkpoint failed: "+e.Err.Error())
		}
	case train.Warned:
		r.notes = append(r.notes, e.Text)
	case train.Ended:
		r.end = e
		r.finish()
	}
}

func (r *Report) finish() {
	if r.path != "" {
		r.err = r.save()
	}
}

func (r *Report) save() (err error) {
	f, err := os.CreateTemp(filepath.Dir(r.path), ".report-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer os.Remove(f.Name())
	err = r.Write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), r.path)
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Parse(page))

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	type fact struct{ Name, Value string }
	facts := []fact{{"Device", r.start.Device}, {"Epochs", fmt.Sprintf("%d of %d", r.end.Epochs, r.start.Epochs)}, {"Steps", fmt.Sprint(r.end.Step)},
		{"Parameters", fmt.Sprintf("%d, %d of them trained", r.start.Params.All, r.start.Params.Trained)},
		{"Batches", fmt.Sprintf("%d in training, %d in validation", r.start.Batches[train.Train], r.start.Batches[train.Valid])},
		{"Time", train.Span(r.end.Took)}}
	if r.end.Reason != "" {
		facts = append(facts, fact{"End", string(r.end.Reason)})
	}
	if r.end.Err != nil {
		facts = append(facts, fact{"Error", r.end.Err.Error()})
	}
	if !r.end.Time.IsZero() {
		facts = append(facts, fact{"Date", r.end.Time.UTC().Format(time.DateTime + " UTC")})
	}
	name := r.start.Name
	if name == "" {
		name = "Training"
	}
	return pageTemplate.Execute(w, struct {
		Name   string
		Facts  []fact
		Plots  []plot
		Rows   []row
		Tests  []row
		Notes  []string
		System []plot
	}{name, facts, r.plots(false), rows(r.past, r.infos, true), rows(train.History(r.tests), r.infos, false), r.notes, r.plots(true)})
}

// row holds the best and last value of a metric.
type row struct{ Split, Metric, Best, BestEpoch, Last string }

func rows(h train.History, infos []metric.Info, best bool) (out []row) {
	for _, i := range infos {
		for _, s := range []train.Split{train.Train, train.Valid, train.Test} {
			_, values := h.Series(s, i.Name)
			if len(values) == 0 || i.System {
				continue
			}
			x := row{Split: string(s), Metric: i.Name, Last: train.Format(values[len(values)-1], i.Unit)}
			if b, ok := h.Best(train.Watch{Split: s, Metric: i.Name}, i.Better); best && ok && i.Better != metric.Neither {
				x.Best, x.BestEpoch = train.Format(float64(b.Values[i.Name]), i.Unit), fmt.Sprint(b.Epoch+1)
			}
			out = append(out, x)
		}
	}
	return out
}
