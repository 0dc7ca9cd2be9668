package dashboard

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/internal/curve"
	"github.com/goburn/burn/train/metric"
)

// recentSteps is the number of values in the recent history of a metric.
const recentSteps = 240

// story accumulates the events so far.
type story struct {
	start    train.Started
	metrics  []*followed
	split    train.Split // current split
	epoch    int
	done     map[train.Split]int // batches done in the epoch
	step     int
	pace     map[train.Split]*pace
	messages []string
	warnings int
	end      *train.Ended
}

// followed is the history of a metric.
type followed struct {
	metric.Info
	all    curve.Curve // values of batches in training
	last   series      // most recent values of batches in training
	epochs map[train.Split]*series
	now    map[train.Split]float64 // value of the current epoch, or of the previous one before the first reading
	best   float64
	has    bool // whether best is set
}

type series struct{ x, y []float64 }

func (s *series) add(x, y float64) { s.x, s.y = append(s.x, x), append(s.y, y) }

// pace measures the duration of batches.
type pace struct {
	last  time.Time
	took  time.Duration
	count int
}

func (p *pace) mean() time.Duration {
	if p == nil || p.count == 0 {
		return 0
	}
	return p.took / time.Duration(p.count)
}

func (s *story) add(e train.Event) {
	switch e := e.(type) {
	case train.Started:
		s.begin(e)
	case train.EpochStarted:
		s.split, s.epoch = e.Split, e.Epoch
		s.done[e.Split] = e.Batch
		if p := s.pace[e.Split]; p != nil {
			p.last = time.Time{}
		}
	case train.Stepped:
		s.stepped(e)
	case train.EpochEnded:
		s.ended(e)
	case train.Saved:
		switch {
		case e.Err != nil:
			s.warnings++
			s.say("checkpoint failed: %v", e.Err)
		case e.Best:
			s.say("checkpoint %s, the best so far", filepath.Base(e.Path))
		default:
			s.say("checkpoint %s", filepath.Base(e.Path))
		}
	case train.Warned:
		s.warnings++
		s.say("warning: %s", e.Text)
	case train.Ended:
		s.end = &e
		if e.Err != nil {
			s.say("%s: %v", e.Reason, e.Err)
		}
	}
}

func (s *story) say(format string, args ...any) {
	s.messages = append(s.messages, fmt.Sprintf(format, args...))
	if n := len(s.messages); n > 50 {
		s.messages = s.messages[n-50:]
	}
}

// begin handles the start of a run. If the run is resumed, it keeps the points of the curves up to the first step.
func (s *story) begin(e train.Started) {
	s.start, s.epoch, s.step, s.end = e, e.Epoch, e.Step, nil
	s.done, s.pace = map[train.Split]int{}, map[train.Split]*pace{}
	old := map[string]*followed{}
	for _, m := range s.metrics {
		old[m.Name] = m
	}
	s.metrics = nil
	seen := map[string]bool{}
	for _, split := range []train.Split{train.Train, train.Valid} {
		for _, i := range e.Metrics[split] {
			if seen[i.Name] {
				continue
			}
			seen[i.Name] = true
			m := &followed{Info: i, epochs: map[train.Split]*series{}, now: map[train.Split]float64{}}
			if o := old[i.Name]; o != nil {
				m.all = o.all
				m.all.Cut(float64(e.Step))
			}
			s.metrics = append(s.metrics, m)
		}
	}
	for _, r := range e.History {
		s.record(r)
	}
}

func (s *story) find(name string) *followed {
	for _, m := range s.metrics {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (s *story) stepped(e train.Stepped) {
	s.split, s.epoch, s.step = e.Split, e.Epoch, e.Step
	s.done[e.Split] = e.Batch
	p := s.pace[e.Split]
	if p == nil {
		p = &pace{}
		s.pace[e.Split] = p
	}
	if !p.last.IsZero() {
		p.took += e.Time.Sub(p.last)
		p.count++
	}
	p.last = e.Time
	if !e.Fresh {
		return
	}
	for _, r := range e.Readings {
		m := s.find(r.Name)
		if m == nil {
			continue
		}
		m.now[e.Split] = r.Value
		if e.Split == train.Train {
			m.all.Add(float64(e.Step), r.Last)
			if r.Last == r.Last {
				m.last.add(float64(e.Step), r.Last)
			}
			if n := len(m.last.x); n >= 2*recentSteps {
				m.last = series{append([]float64(nil), m.last.x[n-recentSteps:]...), append([]float64(nil), m.last.y[n-recentSteps:]...)}
			}
		}
	}
}

func (s *story) ended(e train.EpochEnded) {
	s.record(e.Record)
	if e.Split == train.Test {
		for _, r := range e.Readings {
			i := metric.Info{}
			if m := s.find(r.Name); m != nil {
				i = m.Info
			}
			s.say("test %s %s", r.Name, train.Format(r.Value, i.Unit))
		}
	}
}

func (s *story) record(r train.Record) {
	for name, n := range r.Values {
		m, v := s.find(name), float64(n)
		if m == nil || v != v {
			continue
		}
		if m.epochs[r.Split] == nil {
			m.epochs[r.Split] = &series{}
		}
		m.epochs[r.Split].add(float64(r.Step), v)
		m.now[r.Split] = v
		judged := train.Valid
		if s.start.Batches[train.Valid] == 0 {
			judged = train.Train
		}
		if r.Split == judged && (!m.has || m.Better.Better(v, m.best)) {
			m.best, m.has = v, m.Better != metric.Neither
		}
	}
}

// progress returns the fraction of the work of all epochs that is done, with batches weighted by their mean duration, and the
// estimated remaining time, 0 if unknown.
func (s *story) progress() (share float64, left time.Duration) {
	var total, done float64
	for _, split := range []train.Split{train.Train, train.Valid} {
		n := s.start.Batches[split]
		mean := s.pace[split].mean()
		weight := max(mean.Seconds(), 1e-3)
		if split == train.Valid && mean == 0 {
			weight = max(s.pace[train.Train].mean().Seconds()/3, 1e-3) // the forward pass is about a third of a step
		}
		in := min(s.done[split], n)
		if s.split == train.Train && split == train.Valid {
			in = 0
		}
		at := s.epoch*n + in
		total += weight * float64(s.start.Epochs*n)
		done += weight * float64(at)
	}
	if total == 0 {
		return 0, 0
	}
	if s.pace[train.Train].mean() > 0 {
		left = time.Duration((total - done) * float64(time.Second))
	}
	return min(done/total, 1), max(left, 0)
}
