package movement

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// pad fills the result with the padding value, and copies the operand into it, without the elements that negative padding removes.
func pad(n *op.Node, in []op.Desc) kernel.Func {
	lo, hi := n.Attrs.Ints("lo"), n.Attrs.Ints("hi")
	from, to := in[0].Shape, n.Outputs[0].Shape
	bits := kernel.Scalar(n.Outputs[0].DType, n.Attrs.Value("value"))
	rank := len(from)
	srcAt, dstAt, size, ones := make([]int, rank), make([]int, rank), make(shape.Shape, rank), make([]int, rank)
	cropOnly := true
	for i := range from {
		srcAt[i], dstAt[i], ones[i] = max(0, -lo[i]), max(0, lo[i]), 1
		size[i] = max(0, from[i]-max(0, -lo[i])-max(0, -hi[i]))
		cropOnly = cropOnly && lo[i] <= 0 && hi[i] <= 0
	}
	return func(c *kernel.Call) error {
		if cropOnly {
			c.Give(0, c.In[0], c.In[0].View.Slice(srcAt, ones, to))
			return nil
		}
		out := c.Alloc(0)
		if size.Size() != to.Size() {
			one := c.Temp(out.DType, shape.Of())
			put(one, bits)
			one.View = one.View.Expand(to)
			kernel.Copy(c.Pool, out, one)
		}
		if size.Size() > 0 {
			part, src := out, c.In[0]
			part.View = part.View.Slice(dstAt, ones, size)
			src.View = src.View.Slice(srcAt, ones, size)
			kernel.Copy(c.Pool, part, src)
		}
		return nil
	}
}

func concat(n *op.Node, in []op.Desc) kernel.Func {
	axis := n.Attrs.Int("axis")
	rank := len(n.Outputs[0].Shape)
	ones := make([]int, rank)
	for i := range ones {
		ones[i] = 1
	}
	to := n.Outputs[0]
	outer, row := to.Shape[:axis].Size(), to.Shape[axis:].Size()*to.DType.Size()
	return func(c *kernel.Call) error {
		out := c.Alloc(0)
		if outer*row <= joinedAtOnce && joinRows(c, out, outer, row) {
			return nil
		}
		start := make([]int, rank)
		for _, a := range c.In {
			if a.Size() > 0 {
				part := out
				part.View = part.View.Slice(start, ones, a.View.Shape)
				kernel.Copy(c.Pool, part, a)
			}
			start[axis] += a.View.Shape[axis]
		}
		return nil
	}
}

// joinedAtOnce is the size of a result in bytes up to which joinRows is used: creating the views for separate copies takes longer than such
// copies.
const joinedAtOnce = 128 << 10

// joinRows concatenates operands in row-major order: each row of the result consists of a part of each operand. It reports
// whether the operands have that layout.
func joinRows(c *kernel.Call, out kernel.Array, rows, row int) bool {
	if !out.View.IsContiguous() {
		return false
	}
	for i := range c.In {
		if !c.In[i].View.IsContiguous() {
			return false
		}
	}
	if rows == 0 {
		return true
	}
	size := out.DType.Size()
	to := out.Buf.Bytes()[out.View.Offset*size:][:rows*row]
	at := 0
	for i := range c.In {
		a := &c.In[i]
		n := a.Size() * size / rows
		from := a.Buf.Bytes()[a.View.Offset*size:][:rows*n]
		if n > 0 && size == 4 && vector.Has() {
			vector.Copy(vector.Rows{Count: rows, Cols: n / 4, DstStep: row / 4, SrcStep: n / 4}, kernel.Cast[float32](to[at:]), kernel.Cast[float32](from))
		} else {
			for r := range rows {
				copy(to[r*row+at:][:n], from[r*n:])
			}
		}
		at += n
	}
	return true
}
