package metric

import (
	"fmt"
	"math"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Average selects how values per class are averaged.
type Average int

// The averages. For mutually exclusive labels, the micro averages of precision, recall and F-beta all equal the accuracy.
const (
	Macro    Average = iota // the unweighted mean over classes that are predicted or a target
	Micro                   // the value for the counts summed over classes
	Weighted                // the mean over classes, weighted by the number of targets of each
)

func (a Average) String() string {
	return [...]string{"macro", "micro", "weighted"}[a]
}

// LabelOptions holds the settings of metrics that count hits by class.
type LabelOptions struct {
	ClassOptions
	Average Average
	// Threshold is the score above which a label is predicted. It is used if predictions have the shape of the targets; their
	// columns are then labels that do not exclude each other. 0 suits logits, 0.5 probabilities.
	Threshold float64
}

// counts holds true and false positives and false negatives by class.
type counts struct {
	TP []float64 `json:"tp"` // predicted and a target
	FP []float64 `json:"fp"` // predicted but no target
	FN []float64 `json:"fn"` // a target but not predicted
	TN []float64 `json:"tn"`
}

func (c *counts) State() any { return c }
func (c *counts) Reset()     { *c = counts{} }

// measure returns the predictions and the targets as i64: as 0 and 1 [M, labels], or as class indices [M], followed in this case
// by a tensor [0, classes].
func (o LabelOptions) measure(what string, out Output) []*tensor.Tensor {
	p, t := out.Predictions, out.Targets
	if p != nil && t != nil && p.Shape().Equal(t.Shape()) {
		yes := p.GreaterScalar(o.Threshold).Cast(dtype.I64)
		if p.Rank() < 2 {
			return []*tensor.Tensor{yes.Reshape(p.Size(), 1), t.Cast(dtype.I64).Reshape(p.Size(), 1)}
		}
		labels := p.Shape()[p.Rank()-1]
		rows := p.Size() / max(labels, 1)
		return []*tensor.Tensor{yes.Reshape(rows, labels), t.Cast(dtype.I64).Reshape(rows, labels)}
	}
	return classed(what, out)
}

// classed returns the predictions and the targets as class indices [M] (i64), followed by a tensor [0, classes].
func classed(what string, out Output) []*tensor.Tensor {
	scores, targets := classes(what, out)
	// The third tensor carries the number of classes in its shape.
	return []*tensor.Tensor{scores.ArgMax(-1), targets, scores.Slice(0, 0, 0, 1)}
}

func (c *counts) grow(n int) {
	for len(c.TP) < n {
		c.TP, c.FP, c.FN, c.TN = append(c.TP, 0), append(c.FP, 0), append(c.FN, 0), append(c.TN, 0)
	}
}

func (c *counts) add(s Sample, padding int) {
	p, t := s.Values[0], s.Values[1]
	if len(p.Shape) == 2 {
		c.grow(p.Shape[1])
		for i := range p.Data {
			k := i % p.Shape[1]
			if int(t.Data[i]) == padding {
				continue
			}
			switch yes, want := p.Data[i] != 0, t.Data[i] != 0; {
			case yes && want:
				c.TP[k]++
			case yes:
				c.FP[k]++
			case want:
				c.FN[k]++
			default:
				c.TN[k]++
			}
		}
		return
	}
	c.grow(s.Values[2].Shape[1])
	for i := range p.Data {
		got, want := int(p.Data[i]), int(t.Data[i])
		switch {
		case want == padding || want < 0 || want >= len(c.TP):
		case got == want:
			c.TP[got]++
		default:
			c.FP[got]++
			c.FN[want]++
		}
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

// average returns the average of f(tp, fp, fn) over classes, NaN if there are no samples.
func (c *counts) average(a Average, f func(tp, fp, fn float64) float64) float64 {
	if len(c.TP) == 0 {
		return math.NaN()
	}
	if a == Micro {
		return f(sum(c.TP), sum(c.FP), sum(c.FN))
	}
	var total, weight float64
	for k := range c.TP {
		w := 1.0
		if c.TP[k]+c.FP[k]+c.FN[k] == 0 { // neither predicted nor a target
			continue
		}
		if a == Weighted {
			w = c.TP[k] + c.FN[k]
		}
		total += w * f(c.TP[k], c.FP[k], c.FN[k])
		weight += w
	}
	return share(total, weight)
}

type labelled struct {
	counts
	name string
	o    LabelOptions
	f    func(tp, fp, fn float64) float64
}

// Precision returns a metric: the percentage of predictions that are right, 0 if there are no predictions.
func Precision(o LabelOptions) Metric {
	return &labelled{name: "precision", o: o, f: func(tp, fp, _ float64) float64 { return 100 * share(tp, tp+fp) }}
}

// Recall returns a metric: the percentage of targets that were predicted, 0 if there are no targets.
func Recall(o LabelOptions) Metric {
	return &labelled{name: "recall", o: o, f: func(tp, _, fn float64) float64 { return 100 * share(tp, tp+fn) }}
}

// FBeta returns a metric: the weighted harmonic mean of precision and recall in percent, in which recall counts beta times as
// much.
func FBeta(beta float64, o LabelOptions) Metric {
	return &labelled{name: fmt.Sprintf("F%g", beta), o: o, f: func(tp, fp, fn float64) float64 {
		b := beta * beta
		return 100 * share((1+b)*tp, (1+b)*tp+b*fn+fp)
	}}
}

func (m *labelled) Info() Info {
	return Info{Name: m.o.Average.String() + " " + m.name, Unit: "%", Better: Higher}
}
func (m *labelled) Measure(o Output) []*tensor.Tensor { return m.o.measure(m.name, o) }
func (m *labelled) Update(s Sample)                   { m.add(s, m.o.padding()) }
func (m *labelled) Value() float64                    { return m.average(m.o.Average, m.f) }

type hamming struct {
	counts
	o LabelOptions
}

// Hamming returns a metric: the percentage of labels that are right, which is 100 minus the Hamming loss in percent. Predictions
// must have the shape of the targets.
func Hamming(o LabelOptions) Metric { return &hamming{o: o} }

func (*hamming) Info() Info { return Info{Name: "hamming score", Unit: "%", Better: Higher} }

func (m *hamming) Measure(o Output) []*tensor.Tensor {
	if p, t := o.Predictions, o.Targets; p == nil || t == nil || p.Rank() != t.Rank() {
		fail("hamming score: predictions %v and targets %v, want equal shapes: %w", desc(p), desc(t), core.ErrShape)
	}
	return m.o.measure("hamming score", o)
}
func (m *hamming) Update(s Sample) { m.add(s, m.o.padding()) }

func (m *hamming) Value() float64 {
	right := sum(m.TP) + sum(m.TN)
	return 100 * ratio(right, right+sum(m.FP)+sum(m.FN))
}

// Confusion is a metric that counts the items of each target (row) and prediction (column). Its Value is the accuracy in percent.
type Confusion struct {
	o     ClassOptions
	Cells [][]float64 `json:"cells"`
}

// NewConfusion returns a metric for targets that are class indices [...] and predictions that are scores [..., classes].
func NewConfusion(o ClassOptions) *Confusion { return &Confusion{o: o} }

// Info returns the name "confusion accuracy".
func (*Confusion) Info() Info { return Info{Name: "confusion accuracy", Unit: "%", Better: Higher} }

// Measure returns the class with the greatest score and the target of each item.
func (m *Confusion) Measure(o Output) []*tensor.Tensor {
	return classed("confusion", o)
}

// Update counts the items of a step.
func (m *Confusion) Update(s Sample) {
	for n := s.Values[2].Shape[1]; len(m.Cells) < n; {
		m.Cells = append(m.Cells, make([]float64, n))
	}
	for i, want := range s.Values[1].Data {
		if w := int(want); w != m.o.padding() && w >= 0 && w < len(m.Cells) {
			m.Cells[w][int(s.Values[0].Data[i])]++
		}
	}
}

// Value returns the accuracy in percent.
func (m *Confusion) Value() float64 {
	var right, all float64
	for k, row := range m.Cells {
		right += row[k]
		all += sum(row)
	}
	return 100 * ratio(right, all)
}

// Reset forgets all counts.
func (m *Confusion) Reset() { m.Cells = nil }

// State returns m itself.
func (m *Confusion) State() any { return m }

// String returns the matrix as a table, with a row for each target.
func (m *Confusion) String() string {
	var b strings.Builder
	b.WriteString("target\\predicted")
	for k := range m.Cells {
		fmt.Fprintf(&b, "%8d", k)
	}
	for k, row := range m.Cells {
		fmt.Fprintf(&b, "\n%16d", k)
		for _, n := range row {
			fmt.Fprintf(&b, "%8.0f", n)
		}
	}
	return b.String() + "\n"
}
