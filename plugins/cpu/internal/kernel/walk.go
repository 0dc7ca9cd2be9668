package kernel

import (
	"unsafe"

	"github.com/goburn/burn/core/shape"
)

// MaxOperands is the greatest number of arrays of a walk.
const MaxOperands = 6

// Walk steps through the index tuples of dims in row-major order and keeps the position of each of up to MaxOperands arrays. It is
// immutable; Start returns a cursor that moves.
type Walk struct {
	rank    int
	dims    [shape.MaxRank]int
	strides [MaxOperands][shape.MaxRank]int
	offsets [MaxOperands]int
	arrays  int
	count   int
}

// NewWalk returns a walk of arrays that begin at offsets and have the given strides over dims.
func NewWalk(dims []int, offsets []int, strides ...[]int) Walk {
	w := Walk{rank: len(dims), arrays: len(strides), count: 1}
	for i, d := range dims {
		w.dims[i] = d
		w.count *= d
	}
	for a, s := range strides {
		w.offsets[a] = offsets[a]
		copy(w.strides[a][:], s)
	}
	return w
}

// Count returns the number of index tuples.
func (w *Walk) Count() int { return w.count }

// Cursor is a position of a walk.
type Cursor struct {
	Pos  [MaxOperands]int
	walk *Walk
	at   [shape.MaxRank]int
}

// Start returns a cursor at tuple number i.
func (w *Walk) Start(i int) Cursor {
	c := Cursor{walk: w, Pos: w.offsets}
	for d := w.rank - 1; d >= 0 && i > 0; d-- {
		k := i % w.dims[d]
		i /= w.dims[d]
		c.at[d] = k
		for a := range w.arrays {
			c.Pos[a] += k * w.strides[a][d]
		}
	}
	return c
}

// Next moves to the next tuple; after the last one, to the first.
func (c *Cursor) Next() {
	w := c.walk
	for d := w.rank - 1; d >= 0; d-- {
		c.at[d]++
		if c.at[d] < w.dims[d] {
			for a := range w.arrays {
				c.Pos[a] += w.strides[a][d]
			}
			return
		}
		c.at[d] = 0
		for a := range w.arrays {
			c.Pos[a] -= (w.dims[d] - 1) * w.strides[a][d]
		}
	}
}

// Cast returns b as elements of type T. b may be unaligned, because callers of Read and Write supply it.
func Cast[T any](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}
