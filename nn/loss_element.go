package nn

import (
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// MSELoss is (x-target)².
type MSELoss struct{ Reduction tensor.Reduction }

// Forward computes the loss.
func (l MSELoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.MSELoss(target, l.Reduction)
}

// L1Loss is |x-target|.
type L1Loss struct{ Reduction tensor.Reduction }

// Forward computes the loss.
func (l L1Loss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.L1Loss(target, l.Reduction)
}

// LpLoss is |x-target|^P, for P above 0.
type LpLoss struct {
	P         float64
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l LpLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	switch {
	case l.P == 1:
		return x.L1Loss(target, l.Reduction)
	case l.P == 2:
		return x.MSELoss(target, l.Reduction)
	case !(l.P > 0):
		fail("lp_loss: power %v, want one above 0: %w", l.P, core.ErrAttr)
	}
	m := keeping(x, target)
	return m.done(reduced(m, m.of(m.of(m.of(x.Sub(target)).Abs()).PowScalar(l.P)), l.Reduction))
}

// HuberLoss is d²/2 for d = |x-target| up to Delta, else Delta·(d-Delta/2).
type HuberLoss struct {
	Delta     float64 // 0 means 1
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l HuberLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.HuberLoss(target, or(l.Delta, 1), l.Reduction)
}

// SmoothL1Loss is d²/(2·Beta) for d = |x-target| below Beta, else d-Beta/2.
type SmoothL1Loss struct {
	Beta      float64 // 0 means 1
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l SmoothL1Loss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.SmoothL1Loss(target, or(l.Beta, 1), l.Reduction)
}

// BatchMean is a reduction of KLDivLoss: the sum of losses divided by the first dimension of x, which is the mean divergence of the batch.
const BatchMean tensor.Reduction = "batchmean"

// KLDivLoss is target·(log(target)-x) for log probabilities x.
type KLDivLoss struct {
	LogTarget bool             // the target holds logarithms too
	Reduction tensor.Reduction // or BatchMean
}

// Forward computes the loss.
func (l KLDivLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	if l.Reduction != BatchMean {
		return x.KLDivLoss(target, l.LogTarget, l.Reduction)
	}
	if x.Rank() == 0 {
		fail("kl_div: %v, want [N, ...] for a mean over the batch: %w", x.Desc(), core.ErrShape)
	}
	m := keeping(x, target)
	return m.done(m.of(x.KLDivLoss(target, l.LogTarget, tensor.SumLoss)).DivScalar(float64(x.Shape()[0])))
}

// PoissonNLLLoss is exp(x)-target·x for logarithms x of rates.
type PoissonNLLLoss struct {
	Rates     bool    // x holds rates instead of logarithms
	Full      bool    // add Stirling's approximation
	Epsilon   float64 // added to rates before the logarithm; 0 means 1e-8
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l PoissonNLLLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.PoissonNLLLoss(target, tensor.PoissonOptions{Plain: l.Rates, Full: l.Full, Epsilon: l.Epsilon, Reduction: l.Reduction})
}

// GaussianNLLLoss is (log(v) + (x-target)²/v)/2 for variances v.
type GaussianNLLLoss struct {
	Full      bool    // add log(2π)/2
	Epsilon   float64 // the least variance; 0 means 1e-6
	Reduction tensor.Reduction
}

// Forward computes the loss for means x and variances that broadcast to x.
func (l GaussianNLLLoss) Forward(x, target, variance *tensor.Tensor) *tensor.Tensor {
	m := keeping(x, target, variance)
	v := m.of(variance.ClampMin(or(l.Epsilon, 1e-6)))
	y := m.of(m.of(m.of(v.Log()).Add(m.of(m.of(m.of(x.Sub(target)).Square()).Div(v)))).MulScalar(0.5))
	if l.Full {
		y = m.of(y.AddScalar(0.5 * math.Log(2*math.Pi)))
	}
	return m.done(reduced(m, y, l.Reduction))
}

// SoftMarginLoss is log(1+exp(-target·x)) for targets -1 and 1.
type SoftMarginLoss struct{ Reduction tensor.Reduction }

// Forward computes the loss.
func (l SoftMarginLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	m := keeping(x, target)
	return m.done(reduced(m, m.of(m.of(m.of(x.Mul(target)).Neg()).Softplus(1)), l.Reduction))
}

// HingeLoss is max(0, Margin-x·target) for targets -1 and 1.
type HingeLoss struct {
	Margin    *float64 // nil means 1
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l HingeLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.HingeLoss(target, value(l.Margin, 1), l.Reduction)
}

// HingeEmbeddingLoss is x where the target is 1, and max(0, Margin-x) where it is -1.
type HingeEmbeddingLoss struct {
	Margin    *float64 // nil means 1
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l HingeEmbeddingLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.HingeEmbeddingLoss(target, value(l.Margin, 1), l.Reduction)
}
