package nn

import "github.com/goburn/burn/tensor"

// mode is embedded in layers that compute differently in training. Its zero value is training mode.
type mode struct{ inference bool }

// SetTraining selects training or inference.
func (m *mode) SetTraining(on bool) { m.inference = !on }

// Dropout zeroes elements with probability P in training, and scales the others by 1/(1-P). Every call draws from the device's
// generator, so that a seeded device produces the same masks on every backend.
type Dropout struct {
	mode
	P float64
}

// NewDropout returns a dropout layer; p is in [0, 1).
func NewDropout(p float64) *Dropout { return &Dropout{P: fraction("dropout", p)} }

// Forward returns x itself in inference.
func (l *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.inference || l.P == 0 {
		return x
	}
	return x.Dropout(l.P)
}

// GaussianNoise adds normal noise with standard deviation Std to each element in training.
type GaussianNoise struct {
	mode
	Std float64
}

// NewGaussianNoise returns a layer of noise with standard deviation std.
func NewGaussianNoise(std float64) *GaussianNoise { return &GaussianNoise{Std: std} }

// Forward returns x itself in inference.
func (l *GaussianNoise) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.inference || l.Std == 0 {
		return x
	}
	m := keeping(x)
	return m.done(x.Add(m.of(x.NormalLike(0, l.Std))))
}
