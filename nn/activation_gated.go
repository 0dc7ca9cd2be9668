package nn

import (
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// PRelu is x, or slope·x below zero. The slope is trained: one for all elements, or one for each channel (axis 1).
type PRelu struct{ Weight *Param }

// NewPRelu returns the activation with slopes of 0.25.
func NewPRelu(d *tensor.Device, channels int) *PRelu {
	positive("prelu", channels)
	return &PRelu{NewParam(Constant(0.25).New(d, 0, 0, channels))}
}

// Forward computes the activation.
func (l *PRelu) Forward(x *tensor.Tensor) *tensor.Tensor { return x.PRelu(l.Weight.Value()) }

// RRelu is x, or slope·x below zero. In training the slope of each element is drawn from [Low, High). In inference the slope is the
// mean of Low and High.
type RRelu struct {
	mode
	Low, High float64
}

// NewRRelu returns the activation with PyTorch's bounds, 1/8 and 1/3.
func NewRRelu() *RRelu { return &RRelu{Low: 1.0 / 8, High: 1.0 / 3} }

// Forward computes the activation.
func (l *RRelu) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.inference {
		return x.LeakyRelu((l.Low + l.High) / 2)
	}
	m := keeping(x)
	slope := m.of(x.UniformLike(l.Low, l.High))
	return m.done(m.of(x.ClampMin(0)).Add(m.of(m.of(x.ClampMax(0)).Mul(slope))))
}

// SwiGLU is silu(Inner(x))·Outer(x) (Shazeer 2020), with two linear layers.
type SwiGLU struct{ Inner, Outer *Linear }

// NewSwiGLU returns the activation from in to out features. By default its layers have biases; in Burn they have none.
func NewSwiGLU(d *tensor.Device, in, out int, c LinearConfig) *SwiGLU {
	return &SwiGLU{NewLinear(d, in, out, c), NewLinear(d, in, out, c)}
}

// Forward computes the activation.
func (l *SwiGLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	m := keeping(x)
	return m.done(m.of(m.of(l.Inner.Forward(x)).Silu()).Mul(m.of(l.Outer.Forward(x))))
}

// Activation is the name of an activation without parameters, for configuration files.
type Activation string

// activations maps names to constructors with PyTorch's settings.
var activations = map[Activation]func() Module{
	"relu": func() Module { return &Relu{} }, "relu6": func() Module { return &Relu6{} },
	"leaky_relu": func() Module { return NewLeakyRelu() }, "rrelu": func() Module { return NewRRelu() },
	"elu": func() Module { return NewElu() }, "celu": func() Module { return NewCelu() }, "selu": func() Module { return &Selu{} },
	"gelu": func() Module { return &Gelu{} }, "gelu_tanh": func() Module { return &Gelu{Tanh: true} },
	"silu": func() Module { return &Silu{} }, "mish": func() Module { return &Mish{} },
	"sigmoid": func() Module { return &Sigmoid{} }, "log_sigmoid": func() Module { return &LogSigmoid{} },
	"hard_sigmoid": func() Module { return NewHardSigmoid() }, "hard_swish": func() Module { return &HardSwish{} },
	"tanh": func() Module { return &Tanh{} }, "hard_tanh": func() Module { return NewHardTanh() },
	"tanh_shrink": func() Module { return &TanhShrink{} }, "softplus": func() Module { return NewSoftplus() },
	"softsign": func() Module { return &Softsign{} }, "hard_shrink": func() Module { return NewHardShrink() },
	"soft_shrink": func() Module { return NewSoftShrink() }, "shrink": func() Module { return NewShrink() },
	"thresholded_relu": func() Module { return NewThresholdedRelu() }, "glu": func() Module { return NewGLU() },
}

// Activations returns the legal values of Activation.
func Activations() []Activation {
	var names []Activation
	for a := range activations {
		names = append(names, a)
	}
	slices.Sort(names)
	return names
}

// New returns the module of the activation. It panics with *tensor.Error for a name that is not in Activations.
func (a Activation) New() Module {
	f, ok := activations[a]
	if !ok {
		fail("activation: %q, want one of %v: %w", string(a), Activations(), core.ErrAttr)
	}
	return f()
}
