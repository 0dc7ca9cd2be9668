package elementwise

import (
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// castKernel returns the kernel that converts from one type to another. The types must differ.
func castKernel(from, to dtype.DType) kernel.Func {
	switch from {
	case dtype.F64:
		return fromFloat[float64](to)
	case dtype.F32, dtype.F16, dtype.BF16:
		return fromFloat[float32](to)
	case dtype.I64:
		return fromInt[int64](to)
	case dtype.I32:
		return fromInt[int32](to)
	case dtype.I16:
		return fromInt[int16](to)
	case dtype.I8:
		return fromInt[int8](to)
	case dtype.U64:
		return fromInt[uint64](to)
	case dtype.U32:
		return fromInt[uint32](to)
	case dtype.U16:
		return fromInt[uint16](to)
	}
	return fromInt[uint8](to) // u8, and bool as 0 and 1
}

func one[T, R any](loop func(d []R, x []T)) kernel.Func {
	return func(c *kernel.Call) error { return unary(c, lightGrain, loop) }
}

func fromFloat[T float](to dtype.DType) kernel.Func {
	switch to {
	case dtype.F64:
		return one(plain[T, float64])
	case dtype.F32:
		return one(plain[T, float32])
	case dtype.F16, dtype.BF16:
		var z T
		if unsafe.Sizeof(z) == 4 {
			return one(plain[T, float32]) // result.store rounds
		}
		return one(func(d []dtype.Float16, x []T) { roundOnce(to, d, x) })
	case dtype.I64:
		return one(saturate[T, int64])
	case dtype.I32:
		return one(toInts[T])
	case dtype.I16:
		return one(saturate[T, int16])
	case dtype.I8:
		return one(saturate[T, int8])
	case dtype.U64:
		return one(saturate[T, uint64])
	case dtype.U32:
		return one(saturate[T, uint32])
	case dtype.U16:
		return one(saturate[T, uint16])
	case dtype.U8:
		return one(saturate[T, uint8])
	}
	return one(nonzero[T])
}

func fromInt[T integer](to dtype.DType) kernel.Func {
	switch to {
	case dtype.F64:
		return one(plain[T, float64])
	case dtype.F32:
		return one(toFloats[T])
	case dtype.F16, dtype.BF16:
		return one(func(d []dtype.Float16, x []T) { roundInts(to, d, x) })
	case dtype.I64:
		return one(plain[T, int64])
	case dtype.I32:
		return one(plain[T, int32])
	case dtype.I16:
		return one(plain[T, int16])
	case dtype.I8:
		return one(plain[T, int8])
	case dtype.U64:
		return one(plain[T, uint64])
	case dtype.U32:
		return one(plain[T, uint32])
	case dtype.U16:
		return one(plain[T, uint16])
	case dtype.U8:
		return one(plain[T, uint8])
	}
	return one(nonzero[T])
}

func plain[T, R number](d []R, x []T) {
	if same, ok := any(x).([]R); ok {
		copy(d, same)
		return
	}
	d = d[:len(x)]
	for i, v := range x {
		d[i] = R(v)
	}
}

// toFloats is like plain, in assembly for the types that have a loop.
func toFloats[T integer](d []float32, x []T) {
	done := 0
	switch x := any(x).(type) {
	case []int32:
		done = vector.FromI32(d[:len(x)], x)
	case []uint8:
		done = vector.FromU8(d[:len(x)], x)
	case []int8:
		done = vector.FromI8(d[:len(x)], x)
	}
	plain(d[done:], x[done:])
}

// toInts is like saturate, in assembly for float32.
func toInts[T float](d []int32, x []T) {
	done := 0
	if x, ok := any(x).([]float32); ok {
		done = vector.ToI32(d[:len(x)], x)
	}
	saturate(d[done:], x[done:])
}

func nonzero[T number](d []uint8, x []T) {
	for i, v := range x {
		d[i] = truth(v != 0)
	}
}

// saturate truncates toward zero. Values out of range become the nearest bound, and NaN becomes 0.
func saturate[T float, R integer](d []R, x []T) {
	var least, most R
	bits := 8 * unsafe.Sizeof(most)
	if most--; most < 0 { // signed
		least = R(1) << (bits - 1)
		most = ^least
	} else {
		least = 0
	}
	lo, hi := float64(least), float64(most/2+1)*2 // hi is one above the greatest, a power of two
	for i, v := range x {
		f := float64(v)
		switch {
		case f > lo && f < hi:
			d[i] = R(f)
		case f >= hi:
			d[i] = most
		case f <= lo:
			d[i] = least
		default:
			d[i] = 0
		}
	}
}

// Types wider than float32 are converted to the bits of 16-bit floats in one step: to round them to float32 first could change the result.

func roundOnce[T float](to dtype.DType, d []dtype.Float16, x []T) {
	for i, v := range x {
		if to == dtype.BF16 {
			d[i] = dtype.Float16(dtype.BFloat16From64(float64(v)))
		} else {
			d[i] = dtype.Float16From64(float64(v))
		}
	}
}

func roundInts[T integer](to dtype.DType, d []dtype.Float16, x []T) {
	unsigned := ^T(0) > 0
	for i, v := range x {
		f := kernel.StickyInt(int64(v))
		if unsigned {
			f = kernel.StickyUint(uint64(v))
		}
		if to == dtype.BF16 {
			d[i] = dtype.Float16(dtype.BFloat16From64(f))
		} else {
			d[i] = dtype.Float16From64(f)
		}
	}
}

// widen converts 16-bit floats to float32.
func widen(c *kernel.Call) error {
	a := c.In[0]
	if !a.View.IsContiguous() {
		return unaryAny(c, lightGrain, plain[float32, float32])
	}
	out := c.Alloc(0)
	x, y, from := kernel.Flat[uint16](a), kernel.Flat[float32](out), a.DType
	if len(y) <= lightGrain {
		kernel.Decode(from, y, x)
		return nil
	}
	nonTemporal := streams(c, out)
	c.Pool.For(len(y), lightGrain, func(lo, hi int) {
		if nonTemporal {
			stream(y[lo:hi], func(d []float32, at int) { kernel.Decode(from, d, x[lo+at:][:len(d)]) }, source1(x[lo:hi]))
			return
		}
		kernel.Decode(from, y[lo:hi], x[lo:hi])
	})
	return nil
}

// narrow converts float32 to 16-bit floats.
func narrow(c *kernel.Call) error {
	a := c.In[0]
	if !a.View.IsContiguous() {
		return unaryAny(c, lightGrain, plain[float32, float32])
	}
	out := c.Alloc(0)
	x, y, to := kernel.Flat[float32](a), kernel.Flat[uint16](out), out.DType
	if len(y) <= lightGrain {
		kernel.Encode(to, y, x)
		return nil
	}
	nonTemporal := streams(c, out)
	c.Pool.For(len(y), lightGrain, func(lo, hi int) {
		if nonTemporal && to == dtype.F16 {
			first, end := vector.ToF16NonTemporal(y[lo:hi], x[lo:hi])
			kernel.Encode(to, y[lo:lo+first], x[lo:lo+first])
			kernel.Encode(to, y[lo+end:hi], x[lo+end:hi])
			vector.Fence()
			return
		}
		if nonTemporal {
			stream(y[lo:hi], func(d []uint16, at int) { kernel.Encode(to, d, x[lo+at:][:len(d)]) }, source1(x[lo:hi]))
			return
		}
		kernel.Encode(to, y[lo:hi], x[lo:hi])
	})
	return nil
}
