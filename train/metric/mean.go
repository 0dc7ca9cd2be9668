package metric

import (
	"encoding/json"
	"math"

	"github.com/goburn/burn/tensor"
)

// Mean accumulates a weighted mean: the weighted sum and the total weight.
type Mean struct {
	Sum    float64
	Weight float64
	last   float64
}

// Add adds v with weight w.
func (m *Mean) Add(v, w float64) {
	m.Sum += v * w
	m.Weight += w
	m.last = v
}

// Value returns the weighted mean, NaN if nothing was added.
func (m *Mean) Value() float64 { return ratio(m.Sum, m.Weight) }

// Last returns the value that was added last.
func (m *Mean) Last() float64 { return m.last }

// Reset forgets everything.
func (m *Mean) Reset() { *m = Mean{} }

// State returns m itself.
func (m *Mean) State() any { return m }

// meanState is the JSON form of a Mean. Its fields are Numbers, because a sum may be NaN or infinite.
type meanState struct {
	Sum    Number `json:"sum"`
	Weight Number `json:"weight"`
}

// MarshalJSON encodes the sum and the weight, even if they are not finite.
func (m *Mean) MarshalJSON() ([]byte, error) {
	return json.Marshal(meanState{Number(m.Sum), Number(m.Weight)})
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (m *Mean) UnmarshalJSON(b []byte) error {
	s := meanState{Number(m.Sum), Number(m.Weight)}
	err := json.Unmarshal(b, &s)
	m.Sum, m.Weight = float64(s.Sum), float64(s.Weight)
	return err
}

// ratio returns a/b, NaN for b = 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// share returns a/b, 0 for b = 0, as scikit-learn defines precision and recall of absent classes.
func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

type loss struct{ Mean }

// Loss returns a metric: the mean loss over items.
func Loss() Metric { return &loss{} }

func (*loss) Info() Info                        { return Info{Name: "loss", Better: Lower} }
func (*loss) Measure(o Output) []*tensor.Tensor { return []*tensor.Tensor{o.Loss} }
func (m *loss) Update(s Sample)                 { m.Add(s.Values[0].Data[0], float64(s.Items)) }

type perplexity struct{ Mean }

// Perplexity returns a metric: exp of the mean loss. The loss must be the cross-entropy in nats. Batches are weighted by Items,
// which should be the number of tokens.
func Perplexity() Metric { return &perplexity{} }

func (*perplexity) Info() Info                        { return Info{Name: "perplexity", Better: Lower} }
func (*perplexity) Measure(o Output) []*tensor.Tensor { return []*tensor.Tensor{o.Loss} }
func (m *perplexity) Update(s Sample)                 { m.Add(s.Values[0].Data[0], float64(s.Items)) }
func (m *perplexity) Value() float64                  { return math.Exp(m.Mean.Value()) }
func (m *perplexity) Last() float64                   { return math.Exp(m.Mean.Last()) }

// value is a metric that the caller computes on the device.
type value struct {
	Mean
	info Info
	f    func(Output) *tensor.Tensor
}

// Func returns a metric: the mean over items of a number that f computes on the device from the output of a step. f returns a
// tensor of one element, the mean over the items of the step.
func Func(info Info, f func(Output) *tensor.Tensor) Metric { return &value{info: info, f: f} }

func (m *value) Info() Info                        { return m.info }
func (m *value) Measure(o Output) []*tensor.Tensor { return []*tensor.Tensor{m.f(o)} }
func (m *value) Update(s Sample)                   { m.Add(s.Values[0].Data[0], float64(s.Items)) }
