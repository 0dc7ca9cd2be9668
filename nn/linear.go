package nn

import "github.com/goburn/burn/tensor"

// LinearConfig holds the settings of Linear.
type LinearConfig struct {
	NoBias   bool
	Init     Init // distribution of the weight; by default uniform within ±1/√in, as in PyTorch
	BiasInit Init // distribution of the bias; by default uniform within ±1/√in too, whatever Init is
}

// Linear is x·Wᵀ + b over the last dimension of x[..., in]; the result is [..., out]. Weight is [out, in], as PyTorch stores it:
// the product and its gradients read it without a copy.
type Linear struct {
	Weight *Param
	Bias   *Param // [out]; may be nil
}

// NewLinear returns a linear layer of in to out features.
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
