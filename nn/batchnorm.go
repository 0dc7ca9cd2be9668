package nn

import (
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// BatchNormConfig holds the settings of BatchNorm.
type BatchNormConfig struct {
	Epsilon  float64 // 0 means 1e-5
	Momentum float64 // weight of a batch in the running statistics; 0 means 0.1
	Plain    bool    // neither weight nor bias
}

// BatchNorm normalises each channel of x[N, C] or x[N, C, spatial...]. In training it uses the mean and variance of the batch,
// and updates its running statistics; in inference it uses the running statistics.
type BatchNorm struct {
	mode
	Weight, Bias            *Param // [C], or nil
	RunningMean, RunningVar *Param // [C], buffers; the variance is unbiased
	Epsilon, Momentum       float64
}

// NewBatchNorm returns a layer for channels, in any number of spatial dimensions.
func NewBatchNorm(d *tensor.Device, channels int, c BatchNormConfig) *BatchNorm {
	positive("batch_norm", channels)
	l := &BatchNorm{Epsilon: or(c.Epsilon, 1e-5), Momentum: or(c.Momentum, 0.1)}
	l.Weight, l.Bias = NormConfig{Plain: c.Plain}.affine(d, channels)
	l.RunningMean = NewBuffer(Zeros().New(d, 0, 0, channels))
	l.RunningVar = NewBuffer(Ones().New(d, 0, 0, channels))
	return l
}

// Forward computes the layer. In training a batch must have more than one element per channel.
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
	y, mean, variance := batchNorm(x, l.Weight.get(), l.Bias.get(), l.Epsilon)
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

// batchNorm is Tensor.BatchNormTrain with a fused gradient. The gradient includes the path through the statistics: gain·(dy - mean(dy) -
// hat·mean(dy·hat)) by channel, where hat is the normalised x (Ioffe and Szegedy 2015).
func batchNorm(x, weight, bias *tensor.Tensor, epsilon float64) (y, mean, variance *tensor.Tensor) {
	axes := []int{0}
	for i := 2; i < x.Rank(); i++ {
		axes = append(axes, i)
	}
	in := []*tensor.Tensor{x}
	if weight != nil {
		in = append(in, weight, bias)
	}
	f := tensor.Function{Name: "batch_norm",
		Forward: func(constants []*tensor.Tensor) (y, saved []*tensor.Tensor) {
			var w, b *tensor.Tensor
			if len(in) > 1 {
				w, b = constants[1], constants[2]
			}
			variance, mean := constants[0].VarMean(0, axes...)
			y = []*tensor.Tensor{constants[0].BatchNorm(w, b, mean, variance, epsilon), mean, variance}
			return y, append(append(saved, constants...), mean, variance)
		},
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor {
			return batchNormGrad(saved, grads, axes, epsilon)
		}}
	out := f.Apply(in...)
	return out[0], out[1], out[2]
}

// batchNormGrad returns the gradients of x, and of weight and bias if present, from the gradients of y, mean and variance. Gradients of
// mean and variance occur in second derivatives.
func batchNormGrad(saved, grads []*tensor.Tensor, axes []int, epsilon float64) []*tensor.Tensor {
	x, mean, variance := saved[0], saved[len(saved)-2], saved[len(saved)-1]
	n := float64(x.Size() / x.Shape()[1])
	byChannel := func(v *tensor.Tensor) *tensor.Tensor {
		dims := slices.Repeat([]int{1}, x.Rank()-1)
		dims[0] = x.Shape()[1]
		return v.Reshape(dims...)
	}
	out := make([]*tensor.Tensor, len(saved)-2)
	add := func(g *tensor.Tensor) {
		if out[0] != nil {
			g = out[0].Add(g)
		}
		out[0] = g
	}
	if dy := grads[0]; dy != nil {
		total := dy.Sum(axes...)
		along := dy.Mul(x.BatchNorm(nil, nil, mean, variance, epsilon)).Sum(axes...)
		gain := variance.AddScalar(epsilon).Rsqrt()
		if len(out) > 1 {
			gain, out[1], out[2] = gain.Mul(saved[1]), along, total
		}
		part := gain.DivScalar(-n)
		add(dy.Mul(byChannel(gain)).Add(x.BatchNorm(part.Mul(along), part.Mul(total), mean, variance, epsilon)))
	}
	if d := grads[1]; d != nil {
		add(byChannel(d.DivScalar(n)).Expand(x.Shape()...))
	}
	if d := grads[2]; d != nil {
		add(x.Sub(byChannel(mean)).Mul(byChannel(d.MulScalar(2 / n))))
	}
	return out
}
