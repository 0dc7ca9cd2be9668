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

// scaling is how scale and zero point lie on x.
type scaling struct {
	axis   int // of the contract's quantize: -1 for one scale
	blocks bool
}

// scaling reads axis and block_size, and gives scale and zero point in the shape that the contract wants them in, or,
// for blocks, in that of x.
func (t *tracer) scaling(n *node, x, scale, zero value) (scaling, value, value) {
	shaped := func(dims []int) {
		scale, zero = t.reshape(scale, dims...), t.reshape(zero, dims...)
	}
	if scale.shape().Size() == 1 && zero.shape().Size() == 1 { // a scalar and a vector of one are used alike
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
		spread := func(v value) value {
			k := ones(x.rank())
			k[axis] = size
			v = t.repeatAll(v, k)
			if v.shape()[axis] < x.shape()[axis] {
				t.fail("scale %v in blocks of %d for x %v", scale.shape(), size, x.shape())
			}
			return t.narrow(v, axis, 0, x.shape()[axis])
		}
		return scaling{blocks: true}, spread(scale), spread(zero)
	}
	if scale.rank() == 1 {
		if axis := n.int("axis", 1); n.opset() >= 13 && (scale.shape()[0] != 1 || x.rank() == 1 && x.shape()[0] == 1) {
			axis = t.axis(axis, x.rank())
			return scaling{axis: axis}, scale, zero
		}
		shaped(nil)
	}
	return scaling{axis: -1}, scale, zero
}

// quantized are the types that burn quantizes to.
var quantized = dtype.SetOf(dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32)

// smallRange is the range of the integers narrower than a byte.
var smallRange = map[dtype.DType]struct{ lo, hi float64 }{
	dtype.I4: {-8, 7}, dtype.U4: {0, 15}, dtype.I2: {-2, 1}, dtype.U2: {0, 3},
}

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
	if dtype.Smalls.Has(zero.dtype()) {
		return []value{t.quantizeSmall(n, x, t.lay(s, scale, x), t.lay(s, zero, x))}
	}
	if s.blocks {
		return []value{t.quantize(x, scale, zero)}
	}
	return []value{t.do(op.Quantize, []value{x, scale, zero}, op.Int("axis", s.axis))}
}

// lay shapes a scale or zero point so that it broadcasts with x.
func (t *tracer) lay(s scaling, v, x value) value {
	if s.blocks || s.axis < 0 {
		return v
	}
	return t.reshape(v, append(shape.Of(v.shape().Size()), ones(x.rank()-s.axis-1)...)...)
}

// quantizeSmall quantizes to a storage type: floats are rounded by their cast, integers saturate in their own range.
func (t *tracer) quantizeSmall(n *node, x, scale, zero value) value {
	c, to := calc{t}, zero.dtype()
	v := c.div(c.wide(x), c.wide(scale))
	if dtype.SmallFloats.Has(to) {
		v = c.add(v, t.cast(zero, v.dtype()))
		return t.do(op.Cast, []value{v}, op.Type("dtype", to), op.Flag("saturate", n.int("saturate", 1) != 0))
	}
	r := smallRange[to]
	return t.cast(c.clamp(c.add(c.round(v), t.cast(zero, v.dtype())), r.lo, r.hi), to)
}

// quantize is round(x/scale)+zero, saturated; the operands broadcast.
func (t *tracer) quantize(x, scale, zero value) value {
	c := calc{t}
	v := c.round(c.div(c.wide(x), c.wide(scale)))
	v = c.where(c.un(op.IsNaN, v), c.like(v, 0), v)
	return t.cast(c.add(v, t.cast(zero, v.dtype())), zero.dtype())
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
	if dtype.Smalls.Has(x.dtype()) {
		y = t.dequantizeSmall(x, t.lay(s, scale, x), t.lay(s, zero, x))
	} else if s.blocks {
		y = t.dequantize(x, scale, zero)
	} else {
		y = t.do(op.Dequantize, []value{x, scale, zero}, op.Int("axis", s.axis))
	}
	if as := n.int("output_dtype", 0); as != 0 {
		y = t.cast(y, t.elementType(as))
	}
	return []value{y}
}

// dequantize is (x-zero)·scale; the operands broadcast.
func (t *tracer) dequantize(x, scale, zero value) value {
	c := calc{t}
	diff := c.sub(t.cast(x, dtype.I32), t.cast(zero, dtype.I32))
	w := c.wide(scale)
	return t.cast(c.mul(t.cast(diff, w.dtype()), w), scale.dtype())
}

// dequantizeSmall is (x-zero)·scale from a storage type; the operands broadcast.
func (t *tracer) dequantizeSmall(x, scale, zero value) value {
	c, w := calc{t}, calc{t}.wide(scale)
	return t.cast(c.mul(c.sub(t.cast(x, w.dtype()), t.cast(zero, w.dtype())), w), scale.dtype())
}

// dynamicQuantizeNode maps the range of x, with 0 in it, to [0, 255].
func dynamicQuantizeNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x, c := n.input(0), calc{t}
	all := span(0, x.rank())
	low, high := c.minN(t.reduce(op.ReduceMin, x, false, all...), 0), c.maxN(t.reduce(op.ReduceMax, x, false, all...), 0)
	scale := c.divN(c.sub(high, low), 255)
	scale = c.where(c.equal(scale, c.like(scale, 0)), c.like(scale, 1), scale)
	zero := t.cast(c.round(c.clamp(c.div(c.neg(low), scale), 0, 255)), dtype.U8)
	return []value{t.do(op.Quantize, []value{x, scale, zero}), scale, zero}
}

// alongAxis1 shapes a scale or zero point of one element or one per channel to broadcast along axis 1 of the given rank.
func (t *tracer) alongAxis1(v value, rank int) value {
	if v.shape().Size() == 1 {
		return t.reshape(v)
	}
	return calc{t}.channels(v, rank)
}

// firstAxis shapes a scale or zero point of one element or one per output channel to broadcast along axis 0.
func (t *tracer) firstAxis(v value, rank int) value {
	if v.shape().Size() == 1 {
		return t.reshape(v)
	}
	return t.reshape(v, append(shape.Of(v.shape().Size()), ones(rank-1)...)...)
}
