package movement

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

type number interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// scattered extends a rule to 16-bit floats. Modes that combine updates compute in f32, so that sums are rounded once; assignment copies
// bits.
func scattered(r kernel.Rule) kernel.Rule {
	halves := kernel.Halves(r)
	return kernel.Rule{Types: r.Types, Prepare: func(n *op.Node, in []op.Desc) kernel.Func {
		if n.Attrs.Str("mode") == "assign" {
			return r.Prepare(n, in)
		}
		return halves.Prepare(n, in)
	}}
}

// start returns the output: the first operand itself if the call is its last user, and otherwise a copy.
func start(c *kernel.Call) kernel.Array {
	out := c.Reuse(0, 0)
	if out.Buf != c.In[0].Buf {
		kernel.Copy(c.Pool, out, c.In[0])
	}
	return out
}

func scatter(n *op.Node, in []op.Desc) kernel.Func {
	p, mode := layout(in[0].Shape, in[1].Shape, n.Attrs.Int("axis"), n.Attrs.Int("batch")), n.Attrs.Str("mode")
	if in[2].Shape.Size() == 0 { // indices are not checked without elements to move
		return func(c *kernel.Call) error { start(c); return nil }
	}
	return func(c *kernel.Call) error {
		idx, err := indices(c, c.In[1], "scatter", p.length)
		if err != nil {
			return err
		}
		up, out := c.Contiguous(c.In[2]), start(c)
		by(out.DType, mode, &combiner{
			u8:  func(f func(d, u []uint8)) { spread(c, p, kernel.Flat[uint8](out), kernel.Flat[uint8](up), idx, f) },
			i8:  func(f func(d, u []int8)) { spread(c, p, kernel.Flat[int8](out), kernel.Flat[int8](up), idx, f) },
			u16: func(f func(d, u []uint16)) { spread(c, p, kernel.Flat[uint16](out), kernel.Flat[uint16](up), idx, f) },
			i16: func(f func(d, u []int16)) { spread(c, p, kernel.Flat[int16](out), kernel.Flat[int16](up), idx, f) },
			u32: func(f func(d, u []uint32)) { spread(c, p, kernel.Flat[uint32](out), kernel.Flat[uint32](up), idx, f) },
			i32: func(f func(d, u []int32)) { spread(c, p, kernel.Flat[int32](out), kernel.Flat[int32](up), idx, f) },
			u64: func(f func(d, u []uint64)) { spread(c, p, kernel.Flat[uint64](out), kernel.Flat[uint64](up), idx, f) },
			i64: func(f func(d, u []int64)) { spread(c, p, kernel.Flat[int64](out), kernel.Flat[int64](up), idx, f) },
			f32: func(f func(d, u []float32)) {
				spread(c, p, kernel.Flat[float32](out), kernel.Flat[float32](up), idx, f)
			},
			f64: func(f func(d, u []float64)) {
				spread(c, p, kernel.Flat[float64](out), kernel.Flat[float64](up), idx, f)
			},
		})
		return nil
	}
}

// spread combines rows of updates into rows of dst. Updates with equal indices are combined in order, because only blocks that share no
// element of dst run in parallel.
func spread[T any](c *kernel.Call, p plan, dst, up []T, idx []int, f func(d, u []T)) {
	if len(up) == 0 {
		return
	}
	blocks := p.batch * p.outer
	if blocks < c.Pool.Threads() && p.inner >= 256 { // divide the rows
		c.Pool.For(p.inner, max(64, grain/(blocks*p.count)), func(lo, hi int) {
			for b := range blocks {
				for k, i := range idx[b/p.outer*p.count:][:p.count] {
					f(dst[(b*p.length+i)*p.inner:][lo:hi], up[(b*p.count+k)*p.inner:][lo:hi])
				}
			}
		})
		return
	}
	c.Pool.For(blocks, grain/(p.count*p.inner)+1, func(lo, hi int) {
		for b := lo; b < hi; b++ {
			for k, i := range idx[b/p.outer*p.count:][:p.count] {
				f(dst[(b*p.length+i)*p.inner:][:p.inner], up[(b*p.count+k)*p.inner:][:p.inner])
			}
		}
	})
}

func scatterElements(n *op.Node, in []op.Desc) kernel.Func {
	axis, mode := n.Attrs.Int("axis"), n.Attrs.Str("mode")
	return func(c *kernel.Call) error {
		idx, err := indices(c, c.In[1], "scatter_elements", c.In[0].View.Shape[axis])
		if err != nil {
			return err
		}
		up, out := c.Contiguous(c.In[2]), start(c)
		by(out.DType, mode, &combiner{
			u8:  func(f func(d, u []uint8)) { drop(out, kernel.Flat[uint8](up), up, idx, axis, f) },
			i8:  func(f func(d, u []int8)) { drop(out, kernel.Flat[int8](up), up, idx, axis, f) },
			u16: func(f func(d, u []uint16)) { drop(out, kernel.Flat[uint16](up), up, idx, axis, f) },
			i16: func(f func(d, u []int16)) { drop(out, kernel.Flat[int16](up), up, idx, axis, f) },
			u32: func(f func(d, u []uint32)) { drop(out, kernel.Flat[uint32](up), up, idx, axis, f) },
			i32: func(f func(d, u []int32)) { drop(out, kernel.Flat[int32](up), up, idx, axis, f) },
			u64: func(f func(d, u []uint64)) { drop(out, kernel.Flat[uint64](up), up, idx, axis, f) },
			i64: func(f func(d, u []int64)) { drop(out, kernel.Flat[int64](up), up, idx, axis, f) },
			f32: func(f func(d, u []float32)) { drop(out, kernel.Flat[float32](up), up, idx, axis, f) },
			f64: func(f func(d, u []float64)) { drop(out, kernel.Flat[float64](up), up, idx, axis, f) },
		})
		return nil
	}
}

func drop[T any](out kernel.Array, up []T, shaped kernel.Array, idx []int, axis int, f func(d, u []T)) {
	if len(up) == 0 {
		return
	}
	dst := kernel.Flat[T](out)
	walk, step := positions(out.View, shaped.View.Shape, axis), out.View.Strides[axis]
	at := walk.Start(0)
	for i := range up {
		pos := at.Pos[0] + idx[i]*step
		f(dst[pos:pos+1], up[i:i+1])
		at.Next()
	}
}

// combiner contains the loop for one of the types; the others are nil.
type combiner struct {
	u8  func(func(d, u []uint8))
	i8  func(func(d, u []int8))
	u16 func(func(d, u []uint16))
	i16 func(func(d, u []int16))
	u32 func(func(d, u []uint32))
	i32 func(func(d, u []int32))
	u64 func(func(d, u []uint64))
	i64 func(func(d, u []int64))
	f32 func(func(d, u []float32))
	f64 func(func(d, u []float64))
}

func by(d dtype.DType, mode string, c *combiner) {
	switch d {
	case dtype.F64:
		c.f64(combine[float64](mode))
	case dtype.F32:
		c.f32(combine[float32](mode))
	case dtype.I64:
		c.i64(combine[int64](mode))
	case dtype.I32:
		c.i32(combine[int32](mode))
	case dtype.I16:
		c.i16(combine[int16](mode))
	case dtype.I8:
		c.i8(combine[int8](mode))
	case dtype.U64:
		c.u64(combine[uint64](mode))
	case dtype.U32:
		c.u32(combine[uint32](mode))
	case dtype.U16, dtype.F16, dtype.BF16:
		c.u16(combine[uint16](mode))
	case dtype.U8, dtype.Bool:
		c.u8(combine[uint8](mode))
	}
}

// combine returns the loop that combines d with updates u.
func combine[T number](mode string) func(d, u []T) {
	switch mode {
	case "add":
		return func(d, u []T) {
			for i, v := range u {
				d[i] += v
			}
		}
	case "mul":
		return func(d, u []T) {
			for i, v := range u {
				d[i] *= v
			}
		}
	case "min":
		return func(d, u []T) {
			for i, v := range u {
				d[i] = min(d[i], v)
			}
		}
	case "max":
		return func(d, u []T) {
			for i, v := range u {
				d[i] = max(d[i], v)
			}
		}
	}
	return func(d, u []T) { copy(d, u) }
}
