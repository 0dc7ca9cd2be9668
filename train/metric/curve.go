package metric

import (
	"math"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// curve is a metric that stores all scores of each class or label, because the area depends on their order.
type curve struct {
	Scores [][]Number `json:"scores"`
	Hits   [][]bool   `json:"hits"`
	name   string
	area   func(scores []Number, hits []bool) float64
}

// AUROC returns a metric: the area, in percent, under the curve of the true positive rate over the false positive rate.
//
// If predictions and targets have the same shape, targets are 0 or 1; if they have several axes, each index of the last axis is a label.
// Otherwise predictions are scores [..., classes], targets are class indices [...], and each class is compared with the others. The metric
// is the unweighted mean of the areas of all labels or classes that have both positive and negative targets. Scores need not be
// probabilities. The metric stores all scores until Reset. If a score is NaN, the metric is NaN.
func AUROC() Metric { return &curve{name: "AUROC", area: rocArea} }

// AUPRC returns a metric: the average precision in percent, which is the area under the steps of precision over recall. It
// requires the same inputs as AUROC, and omits labels and classes without positive targets from the mean.
func AUPRC() Metric { return &curve{name: "AUPRC", area: prArea} }

func (m *curve) Info() Info { return Info{Name: m.name, Unit: "%", Better: Higher} }
func (m *curve) State() any { return m }
func (m *curve) Reset()     { m.Scores, m.Hits = nil, nil }

func (m *curve) Measure(o Output) []*tensor.Tensor {
	p, t := o.Predictions, o.Targets
	if p != nil && t != nil && p.Rank() == t.Rank() {
		if !p.Shape().Equal(t.Shape()) {
			fail("%s: predictions %v and targets %v, want equal shapes: %w", m.name, desc(p), desc(t), core.ErrShape)
		}
		return []*tensor.Tensor{p, t}
	}
	scores, targets := classes(m.name, o)
	return []*tensor.Tensor{scores, targets.OneHot(dtype.U8, scores.Shape()[1], -1)}
}

func (m *curve) Update(s Sample) {
	p, t := s.Values[0], s.Values[1]
	columns := 1
	if len(p.Shape) > 1 {
		columns = p.Shape[len(p.Shape)-1]
	}
	for len(m.Scores) < columns {
		m.Scores, m.Hits = append(m.Scores, nil), append(m.Hits, nil)
	}
	for i, v := range p.Data {
		k := i % columns
		m.Scores[k] = append(m.Scores[k], Number(v))
		m.Hits[k] = append(m.Hits[k], t.Data[i] != 0)
	}
}

func (m *curve) Value() float64 {
	var mean Mean
	for k := range m.Scores {
		if slices.ContainsFunc(m.Scores[k], func(v Number) bool { return v != v }) {
			return math.NaN()
		}
		if a := m.area(m.Scores[k], m.Hits[k]); !math.IsNaN(a) {
			mean.Add(100*a, 1)
		}
	}
	return mean.Value()
}

// steps calls f after each group of equal scores, from the greatest down, with the numbers of hits and misses so far. It returns
// their totals.
func steps(scores []Number, hits []bool, f func(tp, fp float64)) (positives, negatives float64) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return a - b
	})
	for i, at := range order {
		if hits[at] {
			positives++
		} else {
			negatives++
		}
		if i+1 == len(order) || scores[order[i+1]] != scores[at] {
			f(positives, negatives)
		}
	}
	return positives, negatives
}

// rocArea returns the area under the ROC curve by the trapezoidal rule, so that a tie counts one half (Fawcett 2006).
func rocArea(scores []Number, hits []bool) float64 {
	var area, lastTP, lastFP float64
	p, n := steps(scores, hits, func(tp, fp float64) {
		area += (fp - lastFP) * (tp + lastTP) / 2
		lastTP, lastFP = tp, fp
	})
	return ratio(area, p*n)
}

func prArea(scores []Number, hits []bool) float64 {
	var area, last float64
	p, n := steps(scores, hits, func(tp, fp float64) {
		area += (tp - last) * tp / (tp + fp)
		last = tp
	})
	if n == 0 && p == 0 {
		return math.NaN()
	}
	return ratio(area, p)
}
