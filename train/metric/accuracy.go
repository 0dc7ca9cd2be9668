package metric

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// none is the ignored target of metrics that ignore none: no class has this index.
const none = -1 << 62

// ClassOptions holds the settings of metrics over class indices.
type ClassOptions struct {
	// Ignore is a target that does not count, such as padding. It is used only if HasIgnore is set.
	Ignore    int
	HasIgnore bool
}

func (o ClassOptions) padding() int {
	if o.HasIgnore {
		return o.Ignore
	}
	return none
}

// classes checks scores [..., classes] and targets [...] and returns them flattened: [M, classes] and [M] i64.
func classes(what string, o Output) (scores, targets *tensor.Tensor) {
	p, t := o.Predictions, o.Targets
	if p == nil || t == nil || p.Rank() < 2 || t.Rank() != p.Rank()-1 || t.Size()*p.Shape()[p.Rank()-1] != p.Size() {
		fail("%s: predictions %v and targets %v, want scores [..., classes] and class indices [...]: %w", what, desc(p), desc(t), core.ErrShape)
	}
	return p.Reshape(t.Size(), p.Shape()[p.Rank()-1]), t.Reshape(t.Size()).Cast(dtype.I64)
}

func desc(t *tensor.Tensor) string {
	if t == nil {
		return "none"
	}
	return t.Desc().String()
}

func fail(format string, args ...any) { panic(&tensor.Error{Err: fmt.Errorf(format, args...)}) }

type accuracy struct {
	Mean
	k int
	o ClassOptions
}

// Accuracy returns a metric: the percentage of targets [...] whose class has the greatest score in predictions [..., classes].
func Accuracy(o ClassOptions) Metric { return &accuracy{k: 1, o: o} }

// TopK returns a metric: the percentage of targets [...] whose class has one of the k greatest scores in predictions [...,
// classes].
func TopK(k int, o ClassOptions) Metric { return &accuracy{k: k, o: o} }

func (m *accuracy) Info() Info {
	name := "accuracy"
	if m.k > 1 {
		name = fmt.Sprintf("top-%d accuracy", m.k)
	}
	return Info{Name: name, Unit: "%", Better: Higher}
}

func (m *accuracy) Measure(o Output) []*tensor.Tensor {
	scores, targets := classes(m.Info().Name, o)
	var hit *tensor.Tensor
	if m.k == 1 {
		hit = scores.ArgMax(-1).Cast(dtype.I64).Equal(targets)
	} else {
		_, at := scores.TopK(m.k, -1)
		hit = at.Cast(dtype.I64).Equal(targets.Unsqueeze(1)).Any(1)
	}
	counts := targets.NotEqualScalar(float64(m.o.padding()))
	return []*tensor.Tensor{hit.And(counts).Cast(dtype.I64).Sum(), counts.Cast(dtype.I64).Sum()}
}

func (m *accuracy) Update(s Sample) {
	hits, n := s.Values[0].Data[0], s.Values[1].Data[0]
	m.Sum += 100 * hits
	m.Weight += n
	m.last = ratio(100*hits, n)
}
