package nn

import "github.com/goburn/burn/tensor"

// LinearConfig is the settings of Linear.
type LinearConfig struct {
	NoBias   bool
	Init     Init // of the weight; by default uniform within ±1/√in, as PyTorch does
	BiasInit Init // by default as that of the weight
}

// Linear is x·Wᵀ + b over the last dimension of x[..., in], giving [..., out]. Weight is [out, in], as PyTorch stores it: both
// the product and its gradients read it as it lies.
type Linear struct {
	Weight *Param
	Bias   *Param // [out], or nil
}

// NewLinear makes a linear layer of in to out features.
func NewLinear(d *tensor.Device, in, out int, c LinearConfig) *Linear {
	positive("linear", in, out)
	def := fanIn(in)
	l := &Linear{Weight: NewParam(c.Init.or(def).New(d, in, out, out, in))}
	if !c.NoBias {
		l.Bias = NewParam(c.BiasInit.or(def).New(d, in, out, out))
	}
	return l
}

// Forward computes the layer.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LinearT(l.Weight.Value(), l.Bias.get())
}
