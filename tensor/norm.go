package tensor

import "github.com/goburn/burn/core/op"

// with returns t and those of the tensors others that are not nil. A nil tensor must not precede one that is not nil.
func (t *Tensor) with(name string, others ...*Tensor) []*Tensor {
	in := []*Tensor{t}
	for i, o := range others {
		if o == nil {
			continue
		}
		if len(in) != i+1 {
			fail("%s: operand %d without the one before it, want both or none: %w", name, i+1, op.ErrAttr)
		}
		in = append(in, o)
	}
	return in
}

// LayerNorm normalises over axis and all later axes; scale and bias may be nil, and scale may be nil only if bias is nil.
func (t *Tensor) LayerNorm(axis int, scale, bias *Tensor, epsilon float64) *Tensor {
	return Op(op.LayerNorm, t.with("layer_norm", scale, bias), op.Int("axis", t.axis("layer_norm", axis, t.Rank())),
		op.Float("epsilon", epsilon))[0]
}

// RMSNorm returns t divided by the root mean square over axis and all later axes, times scale, which may be nil.
func (t *Tensor) RMSNorm(axis int, scale *Tensor, epsilon float64) *Tensor {
	return Op(op.RMSNorm, t.with("rms_norm", scale), op.Int("axis", t.axis("rms_norm", axis, t.Rank())), op.Float("epsilon", epsilon))[0]
}

// affine returns scale and bias for t's channels. It replaces a nil scale by ones and a nil bias by zeros, which it records in m.
func (t *Tensor) affine(m *temps, name string, scale, bias *Tensor) (*Tensor, *Tensor) {
	if t.Rank() < 2 {
		fail("%s: %v has rank %d, want 2 or more: %w", name, t.desc, t.Rank(), op.ErrShape)
	}
	if scale == nil {
		scale = m.of(t.within().Ones(t.desc.DType, t.desc.Shape[1]))
	}
	if bias == nil {
		bias = m.of(t.within().Zeros(t.desc.DType, t.desc.Shape[1]))
	}
	return scale, bias
}

// GroupNorm normalises t[N, C, ...] over each group of channels and all spatial positions; scale[C] and bias[C] may be nil.
func (t *Tensor) GroupNorm(groups int, scale, bias *Tensor, epsilon float64) *Tensor {
	var m temps
	scale, bias = t.affine(&m, "group_norm", scale, bias)
	return m.done(Op(op.GroupNorm, []*Tensor{t, scale, bias}, op.Int("groups", groups), op.Float("epsilon", epsilon))[0])
}

// InstanceNorm normalises each channel of t[N, C, ...] over all spatial positions; scale[C] and bias[C] may be nil.
func (t *Tensor) InstanceNorm(scale, bias *Tensor, epsilon float64) *Tensor {
	var m temps
	scale, bias = t.affine(&m, "instance_norm", scale, bias)
	return m.done(t.GroupNorm(t.desc.Shape[1], scale, bias, epsilon))
}

// BatchNorm returns (t-mean)/sqrt(variance+epsilon)·scale+bias for each channel of t[N, C, ...]. The other operands are [C];
// scale and bias may be nil.
func (t *Tensor) BatchNorm(scale, bias, mean, variance *Tensor, epsilon float64) *Tensor {
	var m temps
	scale, bias = t.affine(&m, "batch_norm", scale, bias)
	return m.done(Op(op.BatchNorm, []*Tensor{t, scale, bias, mean, variance}, op.Float("epsilon", epsilon))[0])
}

// BatchNormTrain returns the result of BatchNorm with the mean and the variance (without correction) of t, and the mean and the
// variance.
func (t *Tensor) BatchNormTrain(scale, bias *Tensor, epsilon float64) (y, mean, variance *Tensor) {
	var m temps
	scale, bias = t.affine(&m, "batch_norm", scale, bias)
	axes := []int{0}
	for i := 2; i < t.Rank(); i++ {
		axes = append(axes, i)
	}
	variance, mean = t.VarMean(0, axes...)
	return m.done(t.BatchNorm(scale, bias, mean, variance, epsilon)), mean, variance
}

// LocalResponseNorm returns t[N, C, ...] divided by (k + alpha/size·s)^beta, with s the sum of t² over size channels around each
// channel; if size is even, one more channel before than after is included. PyTorch's defaults are alpha 1e-4, beta 0.75 and k 1.
func (t *Tensor) LocalResponseNorm(size int, alpha, beta, k float64) *Tensor {
	if size%2 == 0 && t.Rank() > 1 { // the op includes one more channel after than before
		m := temps{from: t}
		return m.done(m.of(m.of(t.Flip(1)).localResponseNorm(size, alpha, beta, k)).Flip(1))
	}
	return t.localResponseNorm(size, alpha, beta, k)
}

func (t *Tensor) localResponseNorm(size int, alpha, beta, k float64) *Tensor {
	return t.un(op.LocalResponseNorm, op.Int("size", size), op.Float("alpha", alpha), op.Float("beta", beta), op.Float("bias", k))
}

// Normalize returns t divided by its p-norm along axis, or by epsilon if that is greater. PyTorch's defaults are p 2 and epsilon
// 1e-12.
func (t *Tensor) Normalize(p float64, axis int, epsilon float64) *Tensor {
	return t.along(op.LpNormalize, axis, op.Float("p", p), op.Float("epsilon", epsilon))
}
