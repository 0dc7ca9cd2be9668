package movement

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// types returns the types that an op accepts or, for ops without operands, the result types that inference allows.
func types(c op.Code) dtype.Set {
	switch c {
	case op.Full:
		return dtype.Any
	case op.Iota:
		return dtype.Numbers
	case op.RandomBits:
		return dtype.SetOf(dtype.I32, dtype.U32)
	}
	return op.Lookup(c).Operands[0].Types
}

// full returns a kernel that writes one element, which a view with strides of zero repeats.
func full(n *op.Node, _ []op.Desc) kernel.Func {
	d := n.Outputs[0]
	bits := kernel.Scalar(d.DType, n.Attrs.Value("value"))
	return func(c *kernel.Call) error {
		t := c.Temp(d.DType, shape.Of())
		put(t, bits)
		c.Give(0, t, shape.View{Shape: d.Shape, Strides: make([]int, len(d.Shape))})
		return nil
	}
}

// put sets the first element of a.
func put(a kernel.Array, bits uint64) {
	switch a.DType.Size() {
	case 1:
		kernel.Data[uint8](a)[0] = uint8(bits)
	case 2:
		kernel.Data[uint16](a)[0] = uint16(bits)
	case 4:
		kernel.Data[uint32](a)[0] = uint32(bits)
	case 8:
		kernel.Data[uint64](a)[0] = bits
	}
}

// iota returns a kernel that writes one line of numbers, which a view with strides of zero repeats along the other axes.
func iota(n *op.Node, _ []op.Desc) kernel.Func {
	d, axis := n.Outputs[0], n.Attrs.Int("axis")
	return func(c *kernel.Call) error {
		t := c.Temp(d.DType, shape.Of(d.Shape[axis]))
		count(t)
		v := shape.View{Shape: d.Shape, Strides: make([]int, len(d.Shape))}
		v.Strides[axis] = 1
		c.Give(0, t, v)
		return nil
	}
}

func count(t kernel.Array) {
	switch t.DType {
	case dtype.F64:
		series[float64](t)
	case dtype.F32:
		series[float32](t)
	case dtype.I64, dtype.U64:
		series[uint64](t)
	case dtype.I32, dtype.U32:
		series[uint32](t)
	case dtype.I16, dtype.U16:
		series[uint16](t)
	case dtype.I8, dtype.U8:
		series[uint8](t)
	case dtype.F16:
		for i, s := 0, kernel.Flat[uint16](t); i < len(s); i++ {
			s[i] = uint16(dtype.Float16From64(float64(i)))
		}
	case dtype.BF16:
		for i, s := 0, kernel.Flat[uint16](t); i < len(s); i++ {
			s[i] = uint16(dtype.BFloat16From64(float64(i)))
		}
	}
}

func series[T float64 | float32 | uint64 | uint32 | uint16 | uint8](t kernel.Array) {
	for i, s := 0, kernel.Flat[T](t); i < len(s); i++ {
		s[i] = T(i)
	}
}

// randomBits returns the kernel of random_bits and, with a state as operand, of random_bits_at: Philox 4x32 with ten rounds (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011).
func randomBits(n *op.Node, _ []op.Desc) kernel.Func {
	seed, counter := uint64(n.Attrs.Value("seed").Int()), uint64(n.Attrs.Value("counter").Int())
	return func(c *kernel.Call) error {
		seed, first := seed, counter
		if len(c.In) > 0 {
			state := kernel.Flat[uint64](c.Contiguous(c.In[0]))
			seed, first = seed+state[0], first+state[1]
		}
		dst := kernel.Flat[uint32](c.Alloc(0))
		c.Pool.For((len(dst)+3)/4, 2048, func(lo, hi int) {
			lo += vector.PhiloxBlocks(dst[4*lo:min(4*hi, len(dst))], seed, first+uint64(lo))
			for b := lo; b < hi; b++ {
				words := philox(seed, first+uint64(b))
				copy(dst[4*b:min(4*b+4, len(dst))], words[:])
			}
		})
		return nil
	}
}

func philox(key, counter uint64) [4]uint32 {
	x := [4]uint32{uint32(counter), uint32(counter >> 32)}
	k0, k1 := uint32(key), uint32(key>>32)
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, x[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{hi1 ^ x[1] ^ k0, lo1, hi0 ^ x[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return x
}
