package movement

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// indices reads an index tensor and checks that every entry is in [0, size).
func indices(c *kernel.Call, a kernel.Array, name string, size int) ([]int, error) {
	a = c.Contiguous(a)
	idx := kernel.TempOf[int](c, a.Size())
	if a.DType == dtype.I32 {
		for i, v := range kernel.Flat[int32](a) {
			idx[i] = int(v)
		}
	} else {
		for i, v := range kernel.Flat[int64](a) {
			idx[i] = int(v)
		}
	}
	for i, v := range idx {
		if v < 0 || v >= size {
			return nil, fmt.Errorf("%s: index %d at position %d, want one in [0,%d): %w", name, v, i, size, core.ErrIndex)
		}
	}
	return idx, nil
}

// plan contains the sizes of a gather or scatter: x is [batch, outer, length, inner] and indices is [batch, count].
type plan struct {
	batch, outer, length, inner, count int
}

func layout(x, idx shape.Shape, axis, batch int) plan {
	return plan{x[:batch].Size(), x[batch:axis].Size(), x[axis], x[axis+1:].Size(), idx[batch:].Size()}
}

// streamed is the size in bytes from which on a result is written with non-temporal stores. longRow is the size of a row in bytes from
// which on these are faster.
const (
	streamed = 16 << 20
	longRow  = 1 << 10
)

// grain is the least number of elements for which another thread is used.
const grain = 32 << 10

func gather(n *op.Node, in []op.Desc) kernel.Func {
	p := layout(in[0].Shape, in[1].Shape, n.Attrs.Int("axis"), n.Attrs.Int("batch"))
	if n.Outputs[0].Shape.Size() == 0 { // indices are not checked without elements to move
		return func(c *kernel.Call) error { c.Alloc(0); return nil }
	}
	return func(c *kernel.Call) error {
		idx, err := indices(c, c.In[1], "gather", p.length)
		if err != nil {
			return err
		}
		x, out := c.Contiguous(c.In[0]), c.Alloc(0)
		switch x.DType.Size() {
		case 1:
			take(c, p, kernel.Flat[uint8](out), kernel.Flat[uint8](x), idx)
		case 2:
			take(c, p, kernel.Flat[uint16](out), kernel.Flat[uint16](x), idx)
		case 4:
			take(c, p, kernel.Flat[uint32](out), kernel.Flat[uint32](x), idx)
		case 8:
			take(c, p, kernel.Flat[uint64](out), kernel.Flat[uint64](x), idx)
		}
		return nil
	}
}

func take[T any](c *kernel.Call, p plan, dst, src []T, idx []int) {
	rows := p.batch * p.outer * p.count
	if len(dst) == 0 {
		return
	}
	if p.inner == 1 {
		pickColumns(c, p, dst, src, idx)
		return
	}
	bytes := len(kernel.Bytes(dst))
	nonTemporal := bytes >= streamed && bytes/rows >= longRow
	c.Pool.For(rows, grain/p.inner+1, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			block := r / p.count // batch and outer
			i := idx[block/p.outer*p.count+r%p.count]
			from := (block*p.length + i) * p.inner
			to, row := dst[r*p.inner:][:p.inner], src[from:][:p.inner]
			if bytes/rows < longRow || r+1 == hi {
				copy(to, row)
				continue
			}
			next := (r + 1) / p.count
			ahead := unsafe.Pointer(&src[(next*p.length+idx[next/p.outer*p.count+(r+1)%p.count])*p.inner])
			d, s := kernel.Bytes(to), kernel.Bytes(row)
			switch {
			case nonTemporal && vector.CanStream(d):
				vector.StreamAhead(d, s, ahead, ahead)
			case nonTemporal:
				vector.Stream(d, s)
			default:
				vector.CopyAhead(d, s, ahead)
			}
		}
		if nonTemporal {
			vector.Fence()
		}
	})
}

// pickColumns gathers single elements, line by line.
func pickColumns[T any](c *kernel.Call, p plan, dst, src []T, idx []int) {
	c.Pool.For(p.batch*p.outer, grain/4/p.count+1, func(lo, hi int) {
		for b := lo; b < hi; b++ {
			from, to := src[b*p.length:][:p.length], dst[b*p.count:][:p.count]
			places := idx[b/p.outer*p.count:][:p.count]
			for len(places) >= 4 {
				i, d := places[:4:4], to[:4:4]
				d[0], d[1], d[2], d[3] = from[i[0]], from[i[1]], from[i[2]], from[i[3]]
				places, to = places[4:], to[4:]
			}
			for k, i := range places {
				to[k] = from[i]
			}
		}
	})
}

// gatherElements reads through the view of x, which need not be contiguous.
func gatherElements(n *op.Node, in []op.Desc) kernel.Func {
	axis := n.Attrs.Int("axis")
	return func(c *kernel.Call) error {
		x := c.In[0]
		idx, err := indices(c, c.In[1], "gather_elements", x.View.Shape[axis])
		if err != nil {
			return err
		}
		out := c.Alloc(0)
		switch x.DType.Size() {
		case 1:
			pick(c, kernel.Flat[uint8](out), kernel.Data[uint8](x), x.View, idx, out.View.Shape, axis)
		case 2:
			pick(c, kernel.Flat[uint16](out), kernel.Data[uint16](x), x.View, idx, out.View.Shape, axis)
		case 4:
			pick(c, kernel.Flat[uint32](out), kernel.Data[uint32](x), x.View, idx, out.View.Shape, axis)
		case 8:
			pick(c, kernel.Flat[uint64](out), kernel.Data[uint64](x), x.View, idx, out.View.Shape, axis)
		}
		return nil
	}
}

// positions returns a walk over the index tuples of s. Its positions are the positions in v, without the term of coordinate axis.
func positions(v shape.View, s shape.Shape, axis int) kernel.Walk {
	strides := append([]int(nil), v.Strides...)
	strides[axis] = 0
	return kernel.NewWalk(s, []int{v.Offset}, strides)
}

func pick[T any](c *kernel.Call, dst, src []T, v shape.View, idx []int, s shape.Shape, axis int) {
	if len(dst) == 0 {
		return
	}
	walk, step := positions(v, s, axis), v.Strides[axis]
	c.Pool.For(len(dst), grain/4, func(lo, hi int) {
		at := walk.Start(lo)
		for i := lo; i < hi; i++ {
			dst[i] = src[at.Pos[0]+idx[i]*step]
			at.Next()
		}
	})
}
