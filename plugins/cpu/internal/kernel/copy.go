package kernel

import (
	"unsafe"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// copyGrain is the least number of bytes for which another thread is used.
const copyGrain = 256 << 10

// Copy writes the elements of src to dst, which has the same shape and element size and does not overlap it.
func Copy(pool *par.Pool, dst, src Array) {
	switch dst.DType.Size() {
	case 1:
		copyViews[uint8](pool, Data[uint8](dst), dst.View, Data[uint8](src), src.View)
	case 2:
		copyViews[uint16](pool, Data[uint16](dst), dst.View, Data[uint16](src), src.View)
	case 4:
		copyViews[uint32](pool, Data[uint32](dst), dst.View, Data[uint32](src), src.View)
	case 8:
		copyViews[uint64](pool, Data[uint64](dst), dst.View, Data[uint64](src), src.View)
	}
}

type move[T any] struct {
	dst, src        []T
	walk            Walk // over all but the last dimension, or all but two when tiled
	n, dStep, sStep int  // last dimension
	m, dRow, sRow   int  // the dimension that is tiled with it
	streamLines     bool // lines are copied with non-temporal stores
	nonTemporal     bool // the result does not fit the caches
}

// streamed is the least size in bytes of a copy that uses non-temporal stores. longLine is the least length in bytes of a line for which
// vector.Stream is used.
const (
	streamed = 16 << 20
	longLine = 1 << 10
)

func copyViews[T any](pool *par.Pool, dst []T, dv shape.View, src []T, sv shape.View) {
	if dv.Shape.Size() == 0 {
		return
	}
	both := shape.Collapse(dv, sv)
	dims, ds, ss := both[0].Shape, both[0].Strides, both[1].Strides
	do, so := both[0].Offset, both[1].Offset
	if len(dims) == 0 {
		dst[do] = src[so]
		return
	}
	last := len(dims) - 1
	if repeats(dims, ds, ss) {
		copyRepeated(pool, dst, do, src, so, dims, ds, ss)
		return
	}
	c := move[T]{dst: dst, src: src, n: dims[last], dStep: ds[last], sStep: ss[last], m: 1}
	size := int(unsafe.Sizeof(dst[0]))
	c.nonTemporal = dims.Size()*size >= streamed
	c.streamLines = c.nonTemporal && c.dStep == 1 && c.sStep == 1 && c.n*size >= longLine
	elem := 8 // an estimate of the bytes per element, for the grain
	outer := last
	if k := tileWith(dims, ds, ss); k >= 0 {
		// Move dimension k to the position before the last.
		dims, ds, ss = append(shape.Shape(nil), dims...), append([]int(nil), ds...), append([]int(nil), ss...)
		dims[k], dims[last-1] = dims[last-1], dims[k]
		ds[k], ds[last-1] = ds[last-1], ds[k]
		ss[k], ss[last-1] = ss[last-1], ss[k]
		outer = last - 1
		c.m, c.dRow, c.sRow = dims[outer], ds[outer], ss[outer]
	}
	c.walk = NewWalk(dims[:outer], []int{do, so}, ds[:outer], ss[:outer])
	work := c.n * c.m * elem
	if outer == 0 && c.m == 1 { // one long line
		pool.For(c.n, copyGrain/elem, func(lo, hi int) {
			if c.streamLines {
				vector.Stream(Bytes(dst[do+lo:do+hi]), Bytes(src[so+lo:so+hi]))
				vector.Fence()
				return
			}
			line(dst, do+lo*c.dStep, c.dStep, src, so+lo*c.sStep, c.sStep, hi-lo)
		})
		return
	}
	if outer == 0 { // one matrix: divide its rows
		pool.For(c.m, copyGrain/(c.n*elem)+1, func(lo, hi int) {
			c.tiles(do+lo*c.dRow, so+lo*c.sRow, hi-lo)
		})
		return
	}
	if c.byRows(ds[outer-1], ss[outer-1]) {
		count, row, from := dims[outer-1], ds[outer-1], ss[outer-1]
		w := NewWalk(dims[:outer-1], []int{do, so}, ds[:outer-1], ss[:outer-1])
		if outer == 1 {
			pool.For(count, copyGrain/work+1, func(lo, hi int) {
				c.copyRows(do+lo*row, row, so+lo*from, from, hi-lo)
				c.fence()
			})
			return
		}
		pool.For(w.Count(), copyGrain/(work*count)+1, func(lo, hi int) {
			at := w.Start(lo)
			for i := lo; i < hi; i++ {
				c.copyRows(at.Pos[0], row, at.Pos[1], from, count)
				at.Next()
			}
			c.fence()
		})
		return
	}
	pool.For(c.walk.Count(), copyGrain/work+1, func(lo, hi int) {
		at := c.walk.Start(lo)
		for i := lo; i < hi; i++ {
			switch {
			case c.m > 1:
				c.tiles(at.Pos[0], at.Pos[1], c.m)
			case c.streamLines:
				vector.Stream(Bytes(dst[at.Pos[0]:][:c.n]), Bytes(src[at.Pos[1]:][:c.n]))
			default:
				line(dst, at.Pos[0], c.dStep, src, at.Pos[1], c.sStep, c.n)
			}
			at.Next()
		}
		c.fence()
	})
}

// rowLimit is the greatest length of a line, in elements, that copyRows copies. Longer lines are copied one by one.
const rowLimit = 1 << 10

// byRows reports whether copyRows can copy the lines. Adjacent lines begin at a distance of row elements in dst, and of from elements in
// src.
func (c *move[T]) byRows(row, from int) bool {
	return c.dStep == 1 && c.sStep == 1 && c.m == 1 && !c.streamLines && unsafe.Sizeof(c.dst[0]) == 4 && c.n <= rowLimit && vector.Has() &&
		row >= 0 && from >= 0
}

// fence completes the non-temporal stores of a thread.
func (c *move[T]) fence() {
	if c.nonTemporal {
		vector.Fence()
	}
}

func (c *move[T]) copyRows(d, row, s, from, count int) {
	r, dst, src := vector.Rows{Count: count, Cols: c.n, DstStep: row, SrcStep: from}, Cast[float32](Bytes(c.dst[d:])), Cast[float32](Bytes(c.src[s:]))
	if c.nonTemporal {
		vector.CopyNonTemporal(r, dst, src)
		return
	}
	vector.Copy(r, dst, src)
}

// tileWith returns the dimension that is copied in tiles together with the last one. It finds transpositions: the stride of the source is
// large along the last dimension and small along another. It returns -1 if copying line by line is as good.
func tileWith(dims shape.Shape, ds, ss []int) int {
	last := len(dims) - 1
	if near(ss[last]) || ss[last] == 0 || dims[last] < 4 {
		return -1
	}
	for k := last - 1; k >= 0; k-- {
		if near(ss[k]) && dims[k] >= 4 {
			return k
		}
	}
	return -1
}

func near(stride int) bool { return stride == 1 || stride == -1 }

// tile is the side of a square whose rows and columns fit the L1 cache.
const tile = 32

func (c *move[T]) tiles(d, s, rows int) {
	if c.dStep == 1 && c.sRow == 1 && c.sStep > 0 && c.dRow > 0 && unsafe.Sizeof(c.dst[0]) == 4 && vector.Has() {
		dst, src := Cast[float32](Bytes(c.dst[d:])), Cast[float32](Bytes(c.src[s:]))
		side, transpose := 4*tile, vector.Transpose
		if c.nonTemporal { // few lines at a time, which are read from beginning to end
			side, transpose = tile, vector.TransposeNonTemporal
			defer vector.Fence()
		}
		for j := 0; j < c.n; j += side {
			for i := 0; i < rows; i += side {
				transpose(min(side, c.n-j), min(side, rows-i), dst[i*c.dRow+j:], c.dRow, src[j*c.sStep+i:], c.sStep)
			}
		}
		return
	}
	for i := 0; i < rows; i += tile {
		iEnd := min(i+tile, rows)
		for j := 0; j < c.n; j += tile {
			jEnd := min(j+tile, c.n)
			for r := i; r < iEnd; r++ {
				line(c.dst, d+r*c.dRow+j*c.dStep, c.dStep, c.src, s+r*c.sRow+j*c.sStep, c.sStep, jEnd-j)
			}
		}
	}
}

func line[T any](dst []T, d, dStep int, src []T, s, sStep, n int) {
	switch {
	case dStep == 1 && sStep == 1:
		if n <= 8 {
			dst, src = dst[d:d+n], src[s:s+n]
			for i := range dst {
				dst[i] = src[i]
			}
			return
		}
		copy(dst[d:d+n], src[s:s+n])
	case dStep == 1 && sStep == 0:
		dst, v := dst[d:d+n], src[s]
		for i := range dst {
			dst[i] = v
		}
	case dStep == 1:
		dst = dst[d : d+n]
		for i := range dst {
			dst[i] = src[s]
			s += sStep
		}
	default:
		for range n {
			dst[d] = src[s]
			d += dStep
			s += sStep
		}
	}
}

// Read writes the elements of a to dst in row-major order, in the machine's byte order.
func Read(pool *par.Pool, dst []byte, a Array) {
	if len(dst) == 0 {
		return
	}
	size := a.DType.Size()
	if a.View.IsContiguous() {
		copy(dst, a.Buf.Bytes()[a.View.Offset*size:])
		return
	}
	to := shape.Contiguous(a.View.Shape)
	switch size {
	case 1:
		copyViews(pool, Cast[uint8](dst), to, Data[uint8](a), a.View)
	case 2:
		copyViews(pool, Cast[uint16](dst), to, Data[uint16](a), a.View)
	case 4:
		copyViews(pool, Cast[uint32](dst), to, Data[uint32](a), a.View)
	case 8:
		copyViews(pool, Cast[uint64](dst), to, Data[uint64](a), a.View)
	}
}
