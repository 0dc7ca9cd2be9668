package elementwise

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// alongAxis returns a scale or zero point with a shape that broadcasts along axis of a tensor of the given rank. It returns scales by
// blocks unchanged.
func alongAxis(a kernel.Array, axis, rank int) kernel.Array {
	if axis < 0 || len(a.View.Shape) != 1 {
		return a
	}
	dims := make([]int, rank-axis)
	strides := make([]int, rank-axis)
	for i := range dims {
		dims[i] = 1
	}
	dims[0], strides[0] = a.View.Shape[0], a.View.Strides[0]
	a.View.Shape, a.View.Strides = dims, strides
	return a
}

// reordered runs f on the given operands in place of the operands of the call.
func reordered(c *kernel.Call, f func(*kernel.Call) error, in ...kernel.Array) error {
	given, own := c.In, c.Own
	c.In, c.Own = in, 0
	err := f(c)
	c.In, c.Own = given, own
	return err
}

func quantizeTo[T float](n *op.Node) kernel.Func {
	switch n.Outputs[0].DType {
	case dtype.U8:
		return quantize[T, uint8](n)
	case dtype.I8:
		return quantize[T, int8](n)
	case dtype.U16:
		return quantize[T, uint16](n)
	case dtype.I16:
		return quantize[T, int16](n)
	}
	return quantize[T, int32](n)
}

func quantize[T float, Z integer](n *op.Node) kernel.Func {
	axis, bits := n.Attrs.Int("axis"), n.Attrs.Int("bits")
	least, most := T(0), T(int64(1)<<bits-1)
	if n.Outputs[0].DType.Class() == dtype.Signed && bits > 0 {
		least, most = -T(int64(1)<<(bits-1)), T(int64(1)<<(bits-1)-1)
	}
	part := func(v []T, d, zero []Z, x, scale []T) {
		for i := range d {
			r := T(math.RoundToEven(float64(x[i] / scale[i])))
			if r != r {
				r = 0
			}
			v[i] = r + T(zero[i])
		}
		if bits > 0 {
			for i := range d {
				v[i] = min(max(v[i], least), most)
			}
		}
		saturate(d, v[:len(d)])
	}
	loop := func(d []Z, zero []Z, x, scale []T) {
		if done := quantizeBytes(d, zero, x, scale, least, most); done > 0 {
			d, zero, x, scale = d[done:], zero[done:], x[done:], scale[done:]
		}
		var v [block]T
		for ; len(d) > block; d, zero, x, scale = d[block:], zero[block:], x[block:], scale[block:] {
			part(v[:], d[:block], zero, x, scale)
		}
		part(v[:], d, zero, x, scale)
	}

	return byBlocks(n, func(c *kernel.Call) error {
		rank := len(c.In[0].View.Shape)
		if c.In[1].Size() == 1 && c.In[2].Size() == 1 {
			scale, zero := first[T](c.In[1]), first[Z](c.In[2])
			return unary(c, lightGrain, func(d []Z, x []T) {
				var scales [block]T
				var zeros [block]Z
				rest := quantizeBytes(d, []Z{zero}, x, []T{scale}, least, most)
				if d, x = d[rest:], x[rest:]; len(d) == 0 {
					return
				}
				fill(scales[:], scale, min(block, len(d)))
				fill(zeros[:], zero, min(block, len(d)))
				for at := 0; at < len(d); at += block {
					n := min(block, len(d)-at)
					loop(d[at:at+n], zeros[:n], x[at:at+n], scales[:n])
				}
			})
		}
		return reordered(c, func(c *kernel.Call) error { return ternary(c, heavyGrain, loop) },
			alongAxis(c.In[2], axis, rank), c.In[0], alongAxis(c.In[1], axis, rank))
	})
}

// first returns the first element of a.
func first[T any](a kernel.Array) T {
	o := reads[T](a, 0)
	return o.one(a.View.Offset)
}

// uniform reports whether all elements are equal.
func uniform[T number](x []T) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// quantizeBytes quantizes elements with a single scale and zero point, in assembly. It returns the number of elements that it quantized,
// which may be zero.
func quantizeBytes[T float, Z integer](d, zero []Z, x, scale []T, least, most T) int {
	xs, ok := any(x).([]float32)
	if !ok || len(d) < 64 || unsafe.Sizeof(d[0]) > 1 || !uniform(zero) || !uniform(scale) {
		return 0
	}
	switch d := any(d).(type) {
	case []uint8:
		if least == most { // the range of the type
			least, most = 0, 255
		}
		return vector.Quantize(d, xs, float32(scale[0]), float32(zero[0]), float32(least), float32(most))
	case []int8:
		if least == most {
			least, most = -128, 127
		}
		bytes := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(d))), len(d))
		return vector.Quantize(bytes, xs, float32(scale[0]), float32(zero[0]), float32(least), float32(most))
	}
	return 0
}

// dequantizeBytes is like quantizeBytes, for dequantization.
func dequantizeBytes[Z integer, T float](d, scale []T, x, zero []Z) int {
	ds, ok := any(d).([]float32)
	if !ok || len(d) < 64 || !uniform(zero) || !uniform(scale) {
		return 0
	}
	switch x := any(x).(type) {
	case []uint8:
		return vector.DequantizeU8(ds, x, float32(scale[0]), int32(zero[0]))
	case []int8:
		return vector.DequantizeI8(ds, x, float32(scale[0]), int32(zero[0]))
	}
	return 0
}

func dequantizeFrom[Z integer](n *op.Node) kernel.Func {
	if n.Outputs[0].DType == dtype.F64 {
		return dequantize[Z, float64](n)
	}
	return dequantize[Z, float32](n)
}

func dequantize[Z integer, T float](n *op.Node) kernel.Func {
	axis := n.Attrs.Int("axis")
	loop := func(d []T, scale []T, x, zero []Z) {
		if done := dequantizeBytes(d, scale, x, zero); done > 0 {
			d, scale, x, zero = d[done:], scale[done:], x[done:], zero[done:]
		}
		for i := range d {
			d[i] = T(int32(x[i])-int32(zero[i])) * scale[i]
		}
	}
	return byBlocks(n, func(c *kernel.Call) error {
		rank := len(c.In[0].View.Shape)
		if c.In[1].Size() == 1 && c.In[2].Size() == 1 {
			scale, zero := first[T](c.In[1]), first[Z](c.In[2])
			return unary(c, lightGrain, func(d []T, x []Z) {
				rest := dequantizeBytes(d, []T{scale}, x, []Z{zero})
				for i := rest; i < len(d); i++ {
					d[i] = T(int32(x[i])-int32(zero)) * scale
				}
			})
		}
		return reordered(c, func(c *kernel.Call) error { return ternary(c, lightGrain, loop) },
			alongAxis(c.In[1], axis, rank), c.In[0], alongAxis(c.In[2], axis, rank))
	})
}
