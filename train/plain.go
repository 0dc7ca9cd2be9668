package train

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/train/metric"
)

// PlainOptions holds the settings of Plain.
type PlainOptions struct {
	// Every is the least time between lines about batches within an epoch. 0 means 10 s; a negative value disables these lines.
	Every time.Duration
}

// Plain is a listener that writes at most one line per event, each with one call of Write. It is intended for logs and other
// outputs that are not terminals.
type Plain struct {
	w      io.Writer
	every  time.Duration
	infos  map[string]metric.Info
	epochs int
	last   time.Time
	batch0 int
	start  time.Time
}

// NewPlain returns a renderer that writes to w. It ignores errors of w.
func NewPlain(w io.Writer, o PlainOptions) *Plain {
	if o.Every == 0 {
		o.Every = 10 * time.Second
	}
	return &Plain{w: w, every: o.Every, infos: map[string]metric.Info{}}
}

func (p *Plain) line(format string, args ...any) {
	_, _ = io.WriteString(p.w, fmt.Sprintf(format, args...)+"\n")
}

// Event writes the line for e, if there is one.
func (p *Plain) Event(e Event) {
	switch e := e.(type) {
	case Started:
		p.epochs = e.Epochs
		for _, list := range e.Metrics {
			for _, i := range list {
				p.infos[i.Name] = i
			}
		}
		name := e.Name
		if name == "" {
			name = "training"
		}
		if e.Step > 0 {
			p.line("%s goes on at epoch %d of %d, step %d, on %s", name, min(e.Epoch+1, e.Epochs), e.Epochs, e.Step, e.Device)
			return
		}
		p.line("%s: %d epochs of %d batches on %s, %d parameters", name, e.Epochs, e.Batches[Train], e.Device, e.Params.Trained)
	case EpochStarted:
		p.last, p.start, p.batch0 = time.Time{}, time.Time{}, e.Batch
	case Stepped:
		p.step(e)
	case EpochEnded:
		best := ""
		if e.Best {
			best = " (best)"
		}
		p.line("%s %s in %s%s", p.place(e.Split, e.Epoch), p.readings(e.Readings), Span(time.Duration(e.Seconds*float64(time.Second))), best)
	case Saved:
		switch {
		case e.Err != nil:
			p.line("checkpoint failed: %v", e.Err)
		case e.Best:
			p.line("checkpoint %s (best)", filepath.Base(e.Path))
		default:
			p.line("checkpoint %s", filepath.Base(e.Path))
		}
	case Warned:
		p.line("warning: %s", e.Text)
	case Ended:
		if e.Err != nil {
			p.line("%s after %d epochs, %d steps, %s: %v", e.Reason, e.Epochs, e.Step, Span(e.Took), e.Err)
			return
		}
		p.line("%s after %d epochs, %d steps, %s", e.Reason, e.Epochs, e.Step, Span(e.Took))
	}
}

func (p *Plain) step(e Stepped) {
	if p.every < 0 {
		return
	}
	if p.start.IsZero() {
		p.start, p.last = e.Time, e.Time
		p.batch0 = e.Batch
		return
	}
	if e.Time.Sub(p.last) < p.every || e.Batch == e.Batches || e.Readings == nil {
		return
	}
	p.last = e.Time
	left := ""
	if n := e.Batch - p.batch0; n > 0 {
		left = ", " + Span(e.Time.Sub(p.start)/time.Duration(n)*time.Duration(e.Batches-e.Batch)) + " left"
	}
	p.line("%s %d/%d %s%s", p.place(e.Split, e.Epoch), e.Batch, e.Batches, p.readings(e.Readings), left)
}

func (p *Plain) place(s Split, epoch int) string {
	if s == Test {
		return "test"
	}
	return fmt.Sprintf("epoch %d/%d %s", epoch+1, p.epochs, s)
}

func (p *Plain) readings(list []Reading) string {
	parts := make([]string, 0, len(list))
	for _, r := range list {
		if !math.IsNaN(r.Value) || !p.infos[r.Name].System {
			parts = append(parts, r.Name+" "+Format(r.Value, p.infos[r.Name].Unit))
		}
	}
	return strings.Join(parts, ", ")
}

// Format formats a value with four significant digits and its unit: "97.5 %", "0.0312".
func Format(v float64, unit string) string {
	s := fmt.Sprintf("%.4g", v)
	switch {
	case unit != "":
		if a := math.Abs(v); a >= 1e4 && a < 1e15 {
			s = fmt.Sprintf("%.0f", v)
		}
		return s + " " + unit
	}
	return s
}

// Span formats a duration for people: "450ms", "3.2s", "4m05s", "2h03m".
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
