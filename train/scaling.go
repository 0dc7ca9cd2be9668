package train

import (
	"math"

	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train/metric"
)

// The metrics of training in f16.
const (
	LossScale    = "loss scale"    // the factor of the loss
	SkippedSteps = "skipped steps" // number of skipped updates since training began
)

// following is a metric whose value is the last value of a tensor that is not part of the output of a step.
type following struct {
	info metric.Info
	last float64
}

func newScaled() []metric.Metric {
	return []metric.Metric{&following{metric.Info{Name: LossScale, System: true}, math.NaN()}, &following{metric.Info{Name: SkippedSteps, System: true}, math.NaN()}}
}

func (m *following) Info() metric.Info                    { return m.info }
func (*following) Measure(metric.Output) []*tensor.Tensor { return nil }
func (m *following) Value() float64                       { return m.last }
func (*following) Reset()                                 {} // the value persists over epochs

func (m *following) Update(s metric.Sample) {
	if len(s.Values) > 0 { // there was an update
		m.last = s.Values[0].Data[0]
	}
}

// backward computes the gradients of the loss times factor; a nil factor means 1.
func (r *run[M, B]) backward(loss, factor *tensor.Tensor) (*tensor.Gradients, error) {
	if factor == nil {
		return loss.Backward()
	}
	return loss.Cast(factor.DType()).Mul(factor).Backward()
}

// settle lets a guarded optimiser count the updates that were skipped. The caller has already waited for the device, so that
// settle adds no wait.
func (r *run[M, B]) settle() error {
	if o, ok := r.parts.Optimizer.(optim.Guarded); ok && r.scaler != nil {
		return o.Settle(r.hard)
	}
	return nil
}
