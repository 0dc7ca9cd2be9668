package main

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/goburn/burn/core/dtype"
)

// full returns the kernel that fills a result with a scalar, which is given as an integer or as a float.
func full[T element](d dtype.DType) func(c *call) error {
	return func(c *call) error {
		value := c.Node.Attrs.Value("value")
		var v T
		switch _, isInt := value.Bits(); {
		case d == dtype.Bool:
			v = T(truth(value.Float() != 0))
		case isInt:
			v = T(value.Int())
		default:
			v = convert[float64, T](value.Float())
		}
		return set(c, 0, slices.Repeat([]T{v}, c.Node.Outputs[0].Shape.Size()))
	}
}

func iota_[T element](c *call) error {
	s, axis := c.Node.Outputs[0].Shape, c.Node.Attrs.Int("axis")
	out, stride := make([]T, s.Size()), s.Strides()[axis]
	for i := range out {
		out[i] = T(i / stride % s[axis])
	}
	return set(c, 0, out)
}

// cast converts elements to the type of the result.
func cast[T element](c *call) error {
	x := flat[T](c.In[0])
	switch c.Node.Outputs[0].DType {
	case dtype.F32:
		return set(c, 0, apply(x, convert[T, float32]))
	case dtype.I32:
		return set(c, 0, apply(x, convert[T, int32]))
	case dtype.I64:
		return set(c, 0, apply(x, convert[T, int64]))
	case dtype.U8:
		return set(c, 0, apply(x, convert[T, uint8]))
	}
	return set(c, 0, apply(x, func(v T) uint8 { return truth(v != 0) }))
}

// convert keeps the low bits of integers. A float converted to an integer is truncated and saturates; NaN becomes 0.
func convert[T element | float64, U element](v T) U {
	lo, hi := limits[U]()
	if f := float64(v); isFloat[T]() && !isFloat[U]() {
		switch {
		case math.IsNaN(f):
			return 0
		case f >= float64(hi):
			return hi
		case f <= float64(lo):
			return lo
		}
	}
	return U(v)
}

func isFloat[T element | float64]() bool { return T(1)/2 != 0 }

// limits returns the least and the greatest value of T; infinities for floats.
func limits[T element]() (lo, hi T) {
	switch any(lo).(type) {
	case float32:
		return T(math.Inf(-1)), T(math.Inf(1))
	case uint8:
		return lo, lo - 1
	}
	least := int64(-1) << (8*unsafe.Sizeof(lo) - 1)
	return T(least), T(-1 - least)
}

// randomBits computes Philox 4x32-10. Word i of the result is word i mod 4 of the block with counter (counter + i div 4, 0).
func randomBits(c *call) error {
	seed, first := uint64(c.Node.Attrs.Int("seed")), uint64(c.Node.Attrs.Int("counter"))
	out := make([]int32, c.Node.Outputs[0].Shape.Size())
	for i := range out {
		out[i] = int32(philox(seed, first+uint64(i/4))[i%4])
	}
	return set(c, 0, out)
}

func philox(seed, block uint64) [4]uint32 {
	x := [4]uint32{uint32(block), uint32(block >> 32)}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, x[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{h1 ^ x[1] ^ k0, l1, h0 ^ x[3] ^ k1, l0}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return x
}
