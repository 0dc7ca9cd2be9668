package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/goburn/burn/train"
)

// plot is a chart of a metric, in coordinates of the page.
type plot struct {
	Title  string
	Lines  []line
	Points []point
	X, Y   []tick
}

type line struct{ Class, Points string }
type point struct {
	Class, X, Y, Text string
}
type tick struct {
	At    string
	Label string
}

// The size of a chart, and the positions of its axes.
const (
	width, height = 560, 260
	left, right   = 56, 10
	top, bottom   = 10, 28
	plotWidth     = width - left - right
	plotHeight    = height - top - bottom
	ticks         = 5
)

func (r *Report) plots(system bool) (out []plot) {
	for _, i := range r.infos {
		if i.System != system {
			continue
		}
		title := i.Name
		if i.Unit != "" {
			title += " (" + i.Unit + ")"
		}
		var series []drawn
		if c := r.curve[i.Name]; c != nil {
			series = append(series, drawn{"batch", c.X, c.Y})
		}
		for _, s := range []train.Split{train.Train, train.Valid} {
			d := drawn{class: string(s)}
			for _, rec := range r.past {
				v, ok := rec.Values[i.Name]
				if f := float64(v); ok && rec.Split == s && !math.IsNaN(f) && !math.IsInf(f, 0) {
					d.x, d.y = append(d.x, float64(rec.Step)), append(d.y, f)
				}
			}
			series = append(series, d)
		}
		if p, ok := draw(title, i.Unit, series); ok {
			out = append(out, p)
		}
	}
	return out
}

type drawn struct {
	class string
	x, y  []float64
}

// draw returns a chart of series; ok is false if there are no points.
func draw(title, unit string, series []drawn) (p plot, ok bool) {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for i := range s.x {
			x0, x1, y0, y1 = min(x0, s.x[i]), max(x1, s.x[i]), min(y0, s.y[i]), max(y1, s.y[i])
		}
	}
	if x0 > x1 {
		return p, false
	}
	if x0 == x1 {
		x0, x1 = x0-1, x1+1
	}
	if y0 == y1 {
		pad := max(math.Abs(y0)*0.05, 1e-9)
		y0, y1 = y0-pad, y1+pad
	}
	// Halving keeps the difference of huge values finite.
	px := func(x float64) string { return fmt.Sprintf("%.1f", left+plotWidth*((x/2-x0/2)/(x1/2-x0/2))) }
	py := func(y float64) string { return fmt.Sprintf("%.1f", top+plotHeight*(1-(y/2-y0/2)/(y1/2-y0/2))) }
	p.Title = title
	for i := range ticks {
		f := float64(i) / (ticks - 1)
		x, y := math.Round(x0*(1-f)+x1*f), y0*(1-f)+y1*f // steps are integers
		p.X = append(p.X, tick{px(x), fmt.Sprintf("%.0f", x)})
		p.Y = append(p.Y, tick{py(y), fmt.Sprintf("%.4g", y)})
	}
	for _, s := range series {
		var b strings.Builder
		for i := range s.x {
			b.WriteString(px(s.x[i]) + "," + py(s.y[i]) + " ")
			if s.class != "batch" {
				p.Points = append(p.Points, point{s.class, px(s.x[i]), py(s.y[i]), fmt.Sprintf("%s %s, step %.0f", s.class, train.Format(s.y[i], unit), s.x[i])})
			}
		}
		if b.Len() > 0 {
			p.Lines = append(p.Lines, line{s.class, strings.TrimSuffix(b.String(), " ")})
		}
	}
	return p, true
}
