package tensor

import "github.com/goburn/burn/core/op"

// Relu returns max(t, 0).
func (t *Tensor) Relu() *Tensor { return t.un(op.Relu) }

// Relu6 returns t clamped to [0, 6].
func (t *Tensor) Relu6() *Tensor { return t.un(op.Relu6) }

// LeakyRelu returns t, or slope·t below zero. PyTorch's slope is 0.01.
func (t *Tensor) LeakyRelu(slope float64) *Tensor {
	return t.un(op.LeakyRelu, op.Float("alpha", slope))
}

// PRelu returns t, or slope·t below zero; slope holds one number, or one for each channel, which is axis 1.
func (t *Tensor) PRelu(slope *Tensor) *Tensor {
	m := temps{from: t}
	if slope.Rank() == 1 && t.Rank() > 1 {
		slope = m.of(slope.channels(t.Rank()))
	}
	return m.done(Op(op.PRelu, []*Tensor{t, slope})[0])
}

// Elu returns t, or alpha·(exp(t)-1) below zero. PyTorch's alpha is 1.
func (t *Tensor) Elu(alpha float64) *Tensor { return t.un(op.Elu, op.Float("alpha", alpha)) }

// Selu returns the scaled Elu of self-normalizing networks (Klambauer and others 2017), with its constants in f64.
func (t *Tensor) Selu() *Tensor {
	return t.un(op.Selu, op.Float("alpha", 1.6732632423543772848), op.Float("gamma", 1.0507009873554804934))
}

// Celu returns t, or alpha·(exp(t/alpha)-1) below zero. PyTorch's alpha is 1.
func (t *Tensor) Celu(alpha float64) *Tensor { return t.un(op.Celu, op.Float("alpha", alpha)) }

// Sigmoid returns 1/(1+exp(-t)).
func (t *Tensor) Sigmoid() *Tensor { return t.un(op.Sigmoid) }

// LogSigmoid returns the logarithm of Sigmoid without overflow.
func (t *Tensor) LogSigmoid() *Tensor { return t.un(op.LogSigmoid) }

// HardSigmoid returns alpha·t+beta clamped to [0, 1]. PyTorch's alpha and beta are 1/6 and 0.5, ONNX's defaults are 0.2 and 0.5.
func (t *Tensor) HardSigmoid(alpha, beta float64) *Tensor {
	return t.un(op.HardSigmoid, op.Float("alpha", alpha), op.Float("beta", beta))
}

// HardSwish returns t·HardSigmoid(1/6, 0.5).
func (t *Tensor) HardSwish() *Tensor { return t.un(op.HardSwish) }

// HardTanh returns t clamped to [lo, hi]. PyTorch's defaults are -1 and 1.
func (t *Tensor) HardTanh(lo, hi float64) *Tensor {
	return t.un(op.HardTanh, op.Float("min", lo), op.Float("max", hi))
}

// Gelu returns the Gaussian error linear unit t·Φ(t), with Φ computed by the error function.
func (t *Tensor) Gelu() *Tensor { return t.un(op.Gelu) }

// GeluTanh returns the approximation of Gelu by tanh.
func (t *Tensor) GeluTanh() *Tensor { return t.un(op.Gelu, op.Str("approximate", "tanh")) }

// QuickGelu returns t·sigmoid(1.702·t).
func (t *Tensor) QuickGelu() *Tensor { return t.un(op.QuickGelu) }

// Silu returns t·sigmoid(t), also called swish.
func (t *Tensor) Silu() *Tensor { return t.un(op.Silu) }

// Mish returns t·tanh(softplus(t)).
func (t *Tensor) Mish() *Tensor { return t.un(op.Mish) }

// Softplus returns log(1+exp(beta·t))/beta without overflow. PyTorch's beta is 1.
func (t *Tensor) Softplus(beta float64) *Tensor {
	if beta == 1 {
		return t.un(op.Softplus)
	}
	m := temps{from: t}
	return m.done(m.of(m.of(t.MulScalar(beta)).un(op.Softplus)).DivScalar(beta))
}

// Softsign returns t/(1+|t|).
func (t *Tensor) Softsign() *Tensor { return t.un(op.Softsign) }

// HardShrink returns 0 in [-lambda, lambda], else t. PyTorch's lambda is 0.5.
func (t *Tensor) HardShrink(lambda float64) *Tensor {
	return t.un(op.HardShrink, op.Float("lambda", lambda))
}

// SoftShrink returns t moved towards 0 by lambda. PyTorch's lambda is 0.5.
func (t *Tensor) SoftShrink(lambda float64) *Tensor {
	return t.un(op.SoftShrink, op.Float("lambda", lambda))
}

// Shrink returns 0 in [-lambda, lambda], t-bias above and t+bias below, as defined by ONNX; 0 for NaN.
func (t *Tensor) Shrink(lambda, bias float64) *Tensor {
	m := temps{from: t}
	up, down := m.of(t.GreaterScalar(lambda)), m.of(t.LessScalar(-lambda))
	below := m.of(down.Where(m.of(t.AddScalar(bias)), m.of(t.scalarOf(0))))
	return m.done(up.Where(m.of(t.SubScalar(bias)), below))
}

// TanhShrink returns t-tanh(t).
func (t *Tensor) TanhShrink() *Tensor { return t.un(op.TanhShrink) }

// Threshold returns t above threshold, else v.
func (t *Tensor) Threshold(threshold, v float64) *Tensor {
	m := temps{from: t}
	return m.done(m.of(t.GreaterScalar(threshold)).Where(t, m.of(t.scalarOf(v))))
}

// ThresholdedRelu returns t above alpha, else 0. ONNX's alpha is 1.
func (t *Tensor) ThresholdedRelu(alpha float64) *Tensor {
	return t.un(op.ThresholdedRelu, op.Float("alpha", alpha))
}

func (t *Tensor) along(c op.Code, axis int, attrs ...op.Attr) *Tensor {
	return t.un(c, append(attrs, op.Int("axis", t.axis(c.String(), axis, t.Rank())))...)
}

// Softmax returns exp(t) divided by its sum along axis.
func (t *Tensor) Softmax(axis int) *Tensor { return t.along(op.Softmax, axis) }

// LogSoftmax returns the logarithm of Softmax.
func (t *Tensor) LogSoftmax(axis int) *Tensor { return t.along(op.LogSoftmax, axis) }

// Softmin returns Softmax of -t.
func (t *Tensor) Softmin(axis int) *Tensor { return t.along(op.Softmin, axis) }

// QuietSoftmax returns exp(t) divided by 1 plus its sum along axis: all results may be near zero.
func (t *Tensor) QuietSoftmax(axis int) *Tensor {
	a := t.axis("quiet_softmax", axis, t.Rank())
	m := temps{from: t}
	top := m.of(m.of(t.MaxKeep(a)).ClampMin(0))
	e := m.of(m.of(t.Sub(top)).Exp())
	return m.done(e.Div(m.of(m.of(e.SumKeep(a)).Add(m.of(m.of(top.Neg()).Exp())))))
}

// Hardmax returns 1 at the greatest element along axis, the first of equal ones, else 0.
func (t *Tensor) Hardmax(axis int) *Tensor { return t.along(op.Hardmax, axis) }

// GLU returns a·sigmoid(b) of the halves a and b of t along axis.
func (t *Tensor) GLU(axis int) *Tensor { return t.along(op.GLU, axis) }

// SwiGLU returns silu(a)·b of the halves a and b of t along axis.
func (t *Tensor) SwiGLU(axis int) *Tensor { return t.along(op.SwiGLU, axis) }

// GeGLU returns a·gelu(b) of the halves a and b of t along axis.
func (t *Tensor) GeGLU(axis int) *Tensor { return t.along(op.GeGLU, axis) }
