package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// NormConfig holds the settings of normalising layers.
type NormConfig struct {
	Epsilon float64 // 0 means 1e-5
	NoBias  bool    // a weight, but no bias
	Plain   bool    // neither weight nor bias
}

// affine returns weight and bias of the given dimensions, filled with ones and zeros.
func (c NormConfig) affine(d *tensor.Device, dims ...int) (w, b *Param) {
	if !c.Plain {
		w = NewParam(Ones().New(d, 0, 0, dims...))
		if !c.NoBias {
			b = NewParam(Zeros().New(d, 0, 0, dims...))
		}
	}
	return w, b
}

// LayerNorm normalises the last Axes dimensions of x to mean 0 and variance 1, and then scales and shifts them.
type LayerNorm struct {
	Weight, Bias *Param // may be nil
	Epsilon      float64
	Axes         int // number of dimensions, as many as Weight has
}

// NewLayerNorm returns a layer for last dimensions of the given sizes.
func NewLayerNorm(d *tensor.Device, size []int, c NormConfig) *LayerNorm {
	positive("layer_norm", append([]int{len(size)}, size...)...)
	l := &LayerNorm{Epsilon: or(c.Epsilon, 1e-5), Axes: len(size)}
	l.Weight, l.Bias = c.affine(d, size...)
	return l
}

// Forward computes the layer.
func (l *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LayerNorm(-l.Axes, l.Weight.get(), l.Bias.get(), l.Epsilon)
}

// RMSNorm divides x by the root mean square over its last dimension, and scales it.
type RMSNorm struct {
	Weight  *Param
	Epsilon float64
}

// NewRMSNorm returns a layer for a last dimension of the given size. Epsilon 0 means 1e-5.
func NewRMSNorm(d *tensor.Device, size int, epsilon float64) *RMSNorm {
	positive("rms_norm", size)
	return &RMSNorm{Weight: NewParam(Ones().New(d, 0, 0, size)), Epsilon: or(epsilon, 1e-5)}
}

// Forward computes the layer.
func (l *RMSNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.RMSNorm(-1, l.Weight.get(), l.Epsilon)
}

// GroupNorm normalises each of Groups groups of the channels of x[N, C, ...] together with all spatial positions.
type GroupNorm struct {
	Weight, Bias *Param // [C], or nil
	Groups       int
	Epsilon      float64
}

// NewGroupNorm returns a layer for channels in groups.
func NewGroupNorm(d *tensor.Device, groups, channels int, c NormConfig) *GroupNorm {
	positive("group_norm", groups, channels)
	if channels%groups != 0 {
		fail("group_norm: %d groups of %d channels, want a number that divides them: %w", groups, channels, core.ErrShape)
	}
	l := &GroupNorm{Groups: groups, Epsilon: or(c.Epsilon, 1e-5)}
	l.Weight, l.Bias = c.affine(d, channels)
	return l
}

// Forward computes the layer.
func (l *GroupNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.GroupNorm(l.Groups, l.Weight.get(), l.Bias.get(), l.Epsilon)
}

// InstanceNorm normalises each channel of each element of x[N, C, ...] over all spatial positions. PyTorch's layer has neither
// weight nor bias by default: set NormConfig.Plain.
type InstanceNorm struct {
	Weight, Bias *Param // [C], or nil
	Epsilon      float64
}

// NewInstanceNorm returns a layer for channels.
func NewInstanceNorm(d *tensor.Device, channels int, c NormConfig) *InstanceNorm {
	positive("instance_norm", channels)
	l := &InstanceNorm{Epsilon: or(c.Epsilon, 1e-5)}
	l.Weight, l.Bias = c.affine(d, channels)
	return l
}

// Forward computes the layer.
func (l *InstanceNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.InstanceNorm(l.Weight.get(), l.Bias.get(), l.Epsilon)
}

// LocalResponseNorm divides x[N, C, ...] by (K + Alpha/Size·s)^Beta, with s the sum of squares of Size channels around each.
type LocalResponseNorm struct {
	Size           int
	Alpha, Beta, K float64
}

// NewLocalResponseNorm returns a layer with PyTorch's settings: alpha 1e-4, beta 0.75 and k 1.
func NewLocalResponseNorm(size int) *LocalResponseNorm {
	positive("local_response_norm", size)
	return &LocalResponseNorm{Size: size, Alpha: 1e-4, Beta: 0.75, K: 1}
}

// Forward computes the layer.
func (l *LocalResponseNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LocalResponseNorm(l.Size, l.Alpha, l.Beta, l.K)
}
