package nn

import "github.com/goburn/burn/tensor"

// This file contains activations as modules. Their fields are settings; constructors set PyTorch's defaults.

// Relu is max(x, 0).
type Relu struct{}

// Forward computes the activation.
func (*Relu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Relu() }

// Relu6 is x clamped to [0, 6].
type Relu6 struct{}

// Forward computes the activation.
func (*Relu6) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Relu6() }

// LeakyRelu is x, or Slope·x below zero.
type LeakyRelu struct{ Slope float64 }

// NewLeakyRelu returns the activation with PyTorch's slope.
func NewLeakyRelu() *LeakyRelu { return &LeakyRelu{0.01} }

// Forward computes the activation.
func (l *LeakyRelu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.LeakyRelu(l.Slope) }

// Elu is x, or Alpha·(exp(x)-1) below zero.
type Elu struct{ Alpha float64 }

// NewElu returns the activation with alpha 1.
func NewElu() *Elu { return &Elu{1} }

// Forward computes the activation.
func (l *Elu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Elu(l.Alpha) }

// Celu is x, or Alpha·(exp(x/Alpha)-1) below zero.
type Celu struct{ Alpha float64 }

// NewCelu returns the activation with alpha 1.
func NewCelu() *Celu { return &Celu{1} }

// Forward computes the activation.
func (l *Celu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Celu(l.Alpha) }

// Selu is the scaled Elu of self-normalising networks.
type Selu struct{}

// Forward computes the activation.
func (*Selu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Selu() }

// Gelu is the Gaussian error linear unit: exact or, if Tanh is set, by its tanh approximation.
type Gelu struct{ Tanh bool }

// Forward computes the activation.
func (l *Gelu) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.Tanh {
		return x.GeluTanh()
	}
	return x.Gelu()
}

// Silu is x·sigmoid(x), also called swish.
type Silu struct{}

// Forward computes the activation.
func (*Silu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Silu() }

// Mish is x·tanh(softplus(x)).
type Mish struct{}

// Forward computes the activation.
func (*Mish) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Mish() }

// Sigmoid is 1/(1+exp(-x)).
type Sigmoid struct{}

// Forward computes the activation.
func (*Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }

// LogSigmoid is the logarithm of Sigmoid.
type LogSigmoid struct{}

// Forward computes the activation.
func (*LogSigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.LogSigmoid() }

// HardSigmoid is Alpha·x+Beta clamped to [0, 1].
type HardSigmoid struct{ Alpha, Beta float64 }

// NewHardSigmoid returns the activation with PyTorch's 1/6 and 1/2.
func NewHardSigmoid() *HardSigmoid { return &HardSigmoid{1.0 / 6, 0.5} }

// Forward computes the activation.
func (l *HardSigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.HardSigmoid(l.Alpha, l.Beta) }

// HardSwish is x·HardSigmoid(x).
type HardSwish struct{}

// Forward computes the activation.
func (*HardSwish) Forward(x *tensor.Tensor) *tensor.Tensor { return x.HardSwish() }

// Tanh is the hyperbolic tangent.
type Tanh struct{}

// Forward computes the activation.
func (*Tanh) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Tanh() }

// HardTanh is x clamped to [Min, Max].
type HardTanh struct{ Min, Max float64 }

// NewHardTanh returns the activation with the limits -1 and 1.
func NewHardTanh() *HardTanh { return &HardTanh{-1, 1} }

// Forward computes the activation.
func (l *HardTanh) Forward(x *tensor.Tensor) *tensor.Tensor { return x.HardTanh(l.Min, l.Max) }

// TanhShrink is x-tanh(x).
type TanhShrink struct{}

// Forward computes the activation.
func (*TanhShrink) Forward(x *tensor.Tensor) *tensor.Tensor { return x.TanhShrink() }

// Softplus is log(1+exp(Beta·x))/Beta.
type Softplus struct{ Beta float64 }

// NewSoftplus returns the activation with beta 1.
func NewSoftplus() *Softplus { return &Softplus{1} }

// Forward computes the activation.
func (l *Softplus) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(l.Beta) }

// Softsign is x/(1+|x|).
type Softsign struct{}

// Forward computes the activation.
func (*Softsign) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softsign() }

// HardShrink is 0 in [-Lambda, Lambda], else x.
type HardShrink struct{ Lambda float64 }

// NewHardShrink returns the activation with lambda 0.5.
func NewHardShrink() *HardShrink { return &HardShrink{0.5} }

// Forward computes the activation.
func (l *HardShrink) Forward(x *tensor.Tensor) *tensor.Tensor { return x.HardShrink(l.Lambda) }

// SoftShrink is x moved towards 0 by Lambda.
type SoftShrink struct{ Lambda float64 }

// NewSoftShrink returns the activation with lambda 0.5.
func NewSoftShrink() *SoftShrink { return &SoftShrink{0.5} }

// Forward computes the activation.
func (l *SoftShrink) Forward(x *tensor.Tensor) *tensor.Tensor { return x.SoftShrink(l.Lambda) }

// Shrink is 0 in [-Lambda, Lambda], x-Bias above and x+Bias below.
type Shrink struct{ Lambda, Bias float64 }

// NewShrink returns the activation with ONNX's lambda 0.5 and bias 0.
func NewShrink() *Shrink { return &Shrink{Lambda: 0.5} }

// Forward computes the activation.
func (l *Shrink) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Shrink(l.Lambda, l.Bias) }

// Threshold is x above Limit, else Value.
type Threshold struct{ Limit, Value float64 }

// Forward computes the activation.
func (l *Threshold) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Threshold(l.Limit, l.Value) }

// ThresholdedRelu is x above Alpha, else 0.
type ThresholdedRelu struct{ Alpha float64 }

// NewThresholdedRelu returns the activation with ONNX's alpha 1.
func NewThresholdedRelu() *ThresholdedRelu { return &ThresholdedRelu{1} }

// Forward computes the activation.
func (l *ThresholdedRelu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.ThresholdedRelu(l.Alpha) }

// Softmax is exp(x) divided by its sum along Axis.
type Softmax struct{ Axis int }

// Forward computes the activation.
func (l *Softmax) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(l.Axis) }

// LogSoftmax is the logarithm of Softmax.
type LogSoftmax struct{ Axis int }

// Forward computes the activation.
func (l *LogSoftmax) Forward(x *tensor.Tensor) *tensor.Tensor { return x.LogSoftmax(l.Axis) }

// GLU is a·sigmoid(b) of the halves a and b of x along Axis.
type GLU struct{ Axis int }

// NewGLU returns the activation that halves the last axis.
func NewGLU() *GLU { return &GLU{-1} }

// Forward computes the activation.
func (l *GLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.GLU(l.Axis) }
