package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("QuantizeLinear", 10, quantizeNode)
	register("DequantizeLinear", 10, dequantizeNode)
	register("DynamicQuantizeLinear", 11, dynamicQuantizeNode)
}

// scaling describes how scale and zero point broadcast over x.
type scaling struct {
	axis  int // axis of the contract's quantize; -1 for one scale
	block int // block size along axis; 0 for none
}

// scaling reads axis and block_size, and returns scale and zero point in the shape that the contract requires.
func (t *tracer) scaling(n *node, x, scale, zero value) (scaling, value, value) {
	shaped := func(dims []int) {
		scale, zero = t.reshape(scale, dims...), t.reshape(zero, dims...)
	}
	if scale.shape().Size() == 1 && zero.shape().Size() == 1 { // a scalar and a vector of one element are equivalent
		zero = t.reshape(zero, scale.shape()...)
	}
	if !scale.shape().Equal(zero.shape()) {
		t.fail("scale is %v and zero point %v, want the same shape", scale.shape(), zero.shape())
	}
	size := n.int("block_size", 0)
	if scale.rank() > 1 || size > 0 {
		axis := t.axis(n.int("axis", 1), x.rank())
		if size < 1 || scale.rank() != x.rank() {
			t.fail("block_size %d and scale %v for x %v", size, scale.shape(), x.shape())
		}
		if have := scale.shape()[axis]; have > 0 && (x.shape()[axis]-1)/size+1 > have {
			t.fail("scale %v in blocks of %d for x %v", scale.shape(), size, x.shape())
		}
		if want := (x.shape()[axis] + size - 1) / size; want < scale.shape()[axis] {
			scale, zero = t.narrow(scale, axis, 0, want), t.narrow(zero, axis, 0, want)
		}
		return scaling{axis: axis, block: size}, scale, zero
	}
	if scale.rank() == 1 {
		if axis := n.int("axis", 1); n.opset() >= 13 && scale.shape()[0] != 1 {
			axis = t.axis(axis, x.rank())
			return scaling{axis: axis}, scale, zero
		}
		shaped(nil)
	}
	return scaling{axis: -1}, scale, zero
}

// quantized holds the integer types that burn quantizes to.
var quantized = dtype.SetOf(dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32)

// carriers maps integers narrower than a byte to the types that they are computed in.
var carriers = map[dtype.DType]struct {
	as   dtype.DType
	bits int
}{dtype.I4: {dtype.I8, 4}, dtype.U4: {dtype.U8, 4}, dtype.I2: {dtype.I8, 2}, dtype.U2: {dtype.U8, 2}}

func quantizeNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, scale, zero := n.input(0), n.input(1), n.input(2)
	if !zero.present() {
		to := dtype.U8
		if as := n.int("output_dtype", 0); as != 0 {
			to = t.elementType(as)
		}
		zero = calc{t}.zeros(to, scale.shape())
	}
	if !quantized.Has(zero.dtype()) && !dtype.Smalls.Has(zero.dtype()) {
		t.unsupported("quantization to %v", zero.dtype())
	}
	if !x.dtype().IsFloat() {
		x = t.cast(x, scale.dtype())
	}
	s, scale, zero := t.scaling(n, x, t.cast(scale, x.dtype()), zero)
	to := zero.dtype()
	if dtype.SmallFloats.Has(to) {
		return []value{t.quantizeSmall(n, x, t.lay(s, scale, x), t.lay(s, zero, x))}
	}
	c := carriers[to]
	if c.bits > 0 {
		zero = t.cast(zero, c.as)
	}
	y := t.do(op.Quantize, []value{x, scale, zero}, op.Int("axis", s.axis), op.Int("block", s.block), op.Int("bits", c.bits))
	return []value{t.cast(y, to)}
}

// lay reshapes a scale or zero point, and repeats it over blocks, so that it broadcasts with x.
func (t *tracer) lay(s scaling, v, x value) value {
	switch {
	case s.block > 0:
		k := ones(x.rank())
		k[s.axis] = s.block
		return t.narrow(t.repeatAll(v, k), s.axis, 0, x.shape()[s.axis])
	case s.axis < 0:
		return v
	}
	return t.reshape(v, append(shape.Of(v.shape().Size()), ones(x.rank()-s.axis-1)...)...)
}

// quantizeSmall quantizes to a float storage type, whose cast does the rounding.
func (t *tracer) quantizeSmall(n *node, x, scale, zero value) value {
	c := calc{t}
	v := c.div(c.wide(x), c.wide(scale))
	v = c.add(v, t.cast(zero, v.dtype()))
	return t.do(op.Cast, []value{v}, op.Type("dtype", zero.dtype()), op.Flag("saturate", n.int("saturate", 1) != 0))
}

func dequantizeNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, scale, zero := n.input(0), n.input(1), n.input(2)
	if !quantized.Has(x.dtype()) && !dtype.Smalls.Has(x.dtype()) {
		t.unsupported("dequantization from %v", x.dtype())
	}
	if !zero.present() {
		zero = calc{t}.zeros(x.dtype(), scale.shape())
	}
	s, scale, zero := t.scaling(n, x, scale, zero)
	var y value
	if dtype.SmallFloats.Has(x.dtype()) {
		y = t.dequantizeSmall(x, t.lay(s, scale, x), t.lay(s, zero, x))
	} else {
		if c := carriers[x.dtype()]; c.bits > 0 {
			x, zero = t.cast(x, c.as), t.cast(zero, c.as)
		}
		y = t.do(op.Dequantize, []value{x, scale, zero}, op.Int("axis", s.axis), op.Int("block", s.block))
	}
	if as := n.int("output_dtype", 0); as != 0 {
		y = t.cast(y, t.elementType(as))
	}
	return []value{y}
}

// dequantizeSmall returns (x-zero)·scale for x of a float storage type; the operands broadcast.
func (t *tracer) dequantizeSmall(x, scale, zero value) value {
	c, w := calc{t}, calc{t}.wide(scale)
	return t.cast(c.mul(c.sub(t.cast(x, w.dtype()), t.cast(zero, w.dtype())), w), scale.dtype())
}

// dynamicQuantizeNode maps the range of x, extended to contain 0, to [0, 255].
func dynamicQuantizeNode(t *tracer, n *node) []value {
	t.need(n, 0)
	return t.all(op.DynamicQuantize, []value{n.input(0)})
}

// alongAxis1 reshapes a scale or zero point of one element or one per channel to broadcast along axis 1 of a tensor of the given
// rank.
func (t *tracer) alongAxis1(v value, rank int) value {
	if v.shape().Size() == 1 {
		return t.reshape(v)
	}
	return calc{t}.channels(v, rank)
}

// firstAxis reshapes a scale or zero point of one element or one per output channel to broadcast along axis 0.
func (t *tracer) firstAxis(v value, rank int) value {
	if v.shape().Size() == 1 {
		return t.reshape(v)
	}
	return t.reshape(v, append(shape.Of(v.shape().Size()), ones(rank-1)...)...)
}
