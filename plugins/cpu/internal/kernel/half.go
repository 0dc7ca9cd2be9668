package kernel

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// IsHalf reports whether d is one of the 16-bit floats, which are computed in f32.
func IsHalf(d dtype.DType) bool { return d == dtype.F16 || d == dtype.BF16 }

// Wide returns the type that elements of d are computed in.
func Wide(d dtype.DType) dtype.DType {
	if IsHalf(d) {
		return dtype.F32
	}
	return d
}

// Decode widens halves of type d.
func Decode(d dtype.DType, dst []float32, src []uint16) {
	src = src[:len(dst)]
	done := 0
	if d == dtype.BF16 {
		done = vector.FromBF16(dst, src)
	} else {
		done = vector.FromF16(dst, src)
	}
	dst, src = dst[done:], src[done:]
	if d == dtype.BF16 {
		for i, h := range src {
			dst[i] = dtype.BFloat16(h).Float32()
		}
		return
	}
	for i, h := range src {
		dst[i] = dtype.Float16(h).Float32()
	}
}

// Encode rounds to halves of type d, to nearest, ties to even.
func Encode(d dtype.DType, dst []uint16, src []float32) {
	dst = dst[:len(src)]
	done := 0
	if d == dtype.BF16 {
		done = vector.ToBF16(dst, src)
	} else {
		done = vector.ToF16(dst, src)
	}
	dst, src = dst[done:], src[done:]
	if d == dtype.BF16 {
		for i, v := range src {
			dst[i] = uint16(dtype.ToBFloat16(v))
		}
		return
	}
	for i, v := range src {
		dst[i] = uint16(dtype.ToFloat16(v))
	}
}

// halfGrain is the least number of elements for which another thread is used.
const halfGrain = 16 << 10

// widen returns a converted to f32, in memory that is valid until the kernel
// returns.
func (c *Call) widen(a Array) Array {
	a = c.Contiguous(a)
	t := c.Temp(dtype.F32, a.View.Shape)
	dst, src := Flat[float32](t), Flat[uint16](a)
	c.Pool.For(len(dst), halfGrain, func(lo, hi int) { Decode(a.DType, dst[lo:hi], src[lo:hi]) })
	return t
}

// Halves extends a rule to 16-bit floats. Operands are widened to f32, the kernel of r for f32 runs on them, and results are rounded once.
// Nothing changes for other types.
func Halves(r Rule) Rule {
	return Rule{Types: r.Types | dtype.SetOf(dtype.F16, dtype.BF16), Prepare: func(n *op.Node, in []op.Desc) Func {
		if !hasHalf(in) {
			return r.Prepare(n, in)
		}
		wide, node := widenDescs(in), *n
		node.Outputs = widenDescs(n.Outputs)
		inner := r.Prepare(&node, wide)
		return func(c *Call) error { return c.asFloat32(inner, node.Outputs) }
	}}
}

func hasHalf(ds []op.Desc) bool {
	for _, d := range ds {
		if IsHalf(d.DType) {
			return true
		}
	}
	return false
}

func widenDescs(ds []op.Desc) []op.Desc {
	out := make([]op.Desc, len(ds))
	for i, d := range ds {
		out[i] = d
		out[i].DType = Wide(d.DType)
	}
	return out
}

func (c *Call) asFloat32(inner Func, desc []op.Desc) error {
	in := make([]Array, len(c.In))
	for i, a := range c.In {
		in[i] = a
		if IsHalf(a.DType) {
			in[i] = c.widen(a)
		}
	}
	sub := Call{}
	sub.Begin(c.Env, in, 0, desc, make([]Array, len(c.Out)))
	failed := true
	defer func() { sub.End(failed) }()
	if err := inner(&sub); err != nil {
		return err
	}
	for i, got := range sub.Out {
		if !IsHalf(c.Desc[i].DType) {
			c.Out[i], sub.Out[i] = got, Array{}
			continue
		}
		dst, src := Flat[uint16](c.Alloc(i)), Flat[float32](sub.Contiguous(got))
		c.Pool.For(len(dst), halfGrain, func(lo, hi int) { Encode(c.Desc[i].DType, dst[lo:hi], src[lo:hi]) })
		got.Buf.Release()
		sub.Out[i] = Array{}
	}
	failed = false
	return nil
}
