package elementwise

import (
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// whereKernel returns the kernel of where. It depends only on the size of the elements.
func whereKernel(d dtype.DType) kernel.Func {
	switch d.Size() {
	case 1:
		return selects[uint8]
	case 2:
		return selects[uint16]
	case 4:
		return selects[uint32]
	}
	return selects[uint64]
}

// bitwise returns a with its 16-bit floats reinterpreted as integers.
func bitwise(a kernel.Array) kernel.Array {
	if kernel.IsHalf(a.DType) {
		a.DType = dtype.U16
	}
	return a
}

func selects[T any](c *kernel.Call) error {
	in := [3]kernel.Array{c.In[0], bitwise(c.In[1]), bitwise(c.In[2])}
	desc := [1]op.Desc{c.Desc[0]}
	if kernel.IsHalf(desc[0].DType) {
		desc[0].DType = dtype.U16
	}
	if chooseNonTemporal(c, in) {
		return nil
	}
	given, wanted := c.In, c.Desc
	c.In, c.Desc = in[:], desc[:]
	err := ternary(c, lightGrain, choose[T], 1, 2)
	c.In, c.Desc = given, wanted
	c.Out[0].DType = wanted[0].DType
	return err
}

// chooseNonTemporal computes where for elements of 32 bits with non-temporal stores. All operands must have the layout of the result, and
// the result must be large (see streams); otherwise it does nothing and reports false.
func chooseNonTemporal(c *kernel.Call, in [3]kernel.Array) bool {
	n := c.Desc[0].Shape.Size()
	if in[1].DType.Size() != 4 || c.Desc[0].Bytes() < streamed || !full(&in[0], n) || !full(&in[1], n) || !full(&in[2], n) || !vector.Has() {
		return false
	}
	cond, a, b := kernel.Flat[uint8](in[0]), kernel.Flat[float32](in[1]), kernel.Flat[float32](in[2])
	out := c.Reuse(0, 1, 2)
	y, nonTemporal := kernel.Flat[float32](out), streams(c, out)
	c.Pool.For(len(y), lightGrain, func(lo, hi int) {
		if !nonTemporal {
			choose(y[lo:hi], cond[lo:hi], a[lo:hi], b[lo:hi])
			return
		}
		head := min(vector.Ahead(y[lo:hi]), hi-lo)
		choose(y[lo:lo+head], cond[lo:], a[lo:], b[lo:])
		lo += head
		lo += vector.ChooseNonTemporal(y[lo:hi], cond[lo:], a[lo:], b[lo:])
		vector.Fence()
		choose(y[lo:hi], cond[lo:], a[lo:], b[lo:])
	})
	return true
}

func choose[T any](d []T, cond []uint8, a, b []T) {
	cond, a, b = cond[:len(d)], a[:len(d)], b[:len(d)]
	var z T
	if unsafe.Sizeof(z) == 4 {
		done := vector.Choose(float32s(d), cond, float32s(a), float32s(b))
		d, cond, a, b = d[done:], cond[done:], a[done:], b[done:]
	}
	for i := range d {
		v := b[i]
		if cond[i] != 0 {
			v = a[i]
		}
		d[i] = v
	}
}

func isNaN[T float](d []uint8, x []T) {
	for i, v := range x {
		d[i] = truth(v != v)
	}
}

func isInf[T float](positive, negative bool) func(d []uint8, x []T) {
	return func(d []uint8, x []T) {
		for i, v := range x {
			// v-v is zero only for finite numbers
			d[i] = truth(v-v != 0 && v == v && (v > 0 && positive || v < 0 && negative))
		}
	}
}

func notBool(d, x []uint8) {
	for i, v := range x {
		d[i] = v ^ 1
	}
}
