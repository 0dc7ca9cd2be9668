package tensor

import "github.com/goburn/burn/core/op"

// QuantizeOptions determines which elements share a scale and a zero point. The zero value means one of each for all elements.
type QuantizeOptions struct {
	PerAxis bool // scale and zero point differ along Axis
	Axis    int
	Block   int // with PerAxis: number of elements of a line along Axis that share a scale; 0: scale and zero point are vectors along Axis
}

func (o QuantizeOptions) attrs(t *Tensor, name string) []op.Attr {
	if !o.PerAxis {
		return nil
	}
	return []op.Attr{op.Int("axis", t.axis(name, o.Axis, t.Rank())), op.Int("block", o.Block)}
}

// Quantize returns round(t/scale)+zero, with ties to even, saturated to the type of zero, which is the type of the result.
func (t *Tensor) Quantize(scale, zero *Tensor, o QuantizeOptions) *Tensor {
	return Op(op.Quantize, []*Tensor{t, scale, zero}, o.attrs(t, "quantize")...)[0]
}

// Dequantize returns (t-zero)·scale.
func (t *Tensor) Dequantize(scale, zero *Tensor, o QuantizeOptions) *Tensor {
	return Op(op.Dequantize, []*Tensor{t, scale, zero}, o.attrs(t, "dequantize")...)[0]
}

// FakeQuantize quantizes t and dequantizes the result.
func (t *Tensor) FakeQuantize(scale, zero *Tensor, o QuantizeOptions) *Tensor {
	return Op(op.FakeQuantize, []*Tensor{t, scale, zero}, o.attrs(t, "fake_quantize")...)[0]
}

// QuantizeDynamic returns t quantized to u8 by a scale computed from its range, the scale, and the zero point.
func (t *Tensor) QuantizeDynamic() (y, scale, zero *Tensor) {
	r := Op(op.DynamicQuantize, []*Tensor{t})
	return r[0], r[1], r[2]
}
