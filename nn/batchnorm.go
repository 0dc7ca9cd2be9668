package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// BatchNormConfig is the settings of BatchNorm.
type BatchNormConfig struct {
	Epsilon  float64 // 0 stands for 1e-5
	Momentum float64 // the share of a batch in the running statistics; 0 stands for 0.1
	Plain    bool    // neither weight nor bias
}

// BatchNorm normalises each channel of x[N, C] or x[N, C, spatial...]: in training by the mean and variance of the batch, from which it
// updates its running statistics, and in inference by those.
type BatchNorm struct {
	mode
	Weight, Bias            *Param // [C], or nil
	RunningMean, RunningVar *Param // [C], buffers; the variance is the unbiased one
	Epsilon, Momentum       float64
}

// NewBatchNorm makes a layer for channels, in any number of spatial dimensions.
func NewBatchNorm(d *tensor.Device, channels int, c BatchNormConfig) *BatchNorm {
	positive("batch_norm", channels)
	l := &BatchNorm{Epsilon: or(c.Epsilon, 1e-5), Momentum: or(c.Momentum, 0.1)}
	l.Weight, l.Bias = NormConfig{Plain: c.Plain}.affine(d, channels)
	l.RunningMean = NewBuffer(Zeros().New(d, 0, 0, channels))
	l.RunningVar = NewBuffer(Ones().New(d, 0, 0, channels))
	return l
}

// Forward computes the layer. In training a batch has more than one element per channel.
func (l *BatchNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.inference {
		return x.BatchNorm(l.Weight.get(), l.Bias.get(), l.RunningMean.Value(), l.RunningVar.Value(), l.Epsilon)
	}
	if x.Rank() < 2 {
		fail("batch_norm: %v, want [N, C, ...]: %w", x.Desc(), core.ErrShape)
	}
	n := x.Size() / max(1, x.Shape()[1])
	if n < 2 {
		fail("batch_norm: %v has %d element per channel, want more than one to train with; call nn.Eval to infer: %w", x.Desc(), n, core.ErrShape)
	}
	y, mean, variance := x.BatchNormTrain(l.Weight.get(), l.Bias.get(), l.Epsilon)
	l.blend(l.RunningMean, mean, 1)
	l.blend(l.RunningVar, variance, float64(n)/float64(n-1))
	mean.Release()
	variance.Release()
	return y
}

// blend moves a running statistic towards factor·batch.
func (l *BatchNorm) blend(p *Param, batch *tensor.Tensor, factor float64) {
	next := tensor.NoGrad(batch.Device(), func(d *tensor.Device) []*tensor.Tensor {
		return []*tensor.Tensor{p.Value().In(d).MulScalar(1 - l.Momentum).Add(batch.In(d).MulScalar(l.Momentum * factor))}
	})
	p.Set(next[0])
}
