// Package elementwise contains the kernels of ops that compute each element of the result from the corresponding elements of the operands:
// arithmetic, comparison, selection, conversion, activations, quantization.
//
// An op is a loop over contiguous slices, written once with generics and instantiated by type. Other operands (strided views, 16-bit
// floats) are first copied to small blocks. Operands of one element are passed as scalars. Package cpu selects the kernels through the
// rules of package kernel. Kernels must not know other nodes of a program.
package elementwise

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

const (
	// block is the number of elements of a copied block: two or three blocks fit the first level cache.
	block = 1024
	// longRow is the least length of a broadcast row for which a loop over each row pays.
	longRow = 64
)

// layout maps each element of the result, numbered in row-major order, to the elements of the operands.
type layout struct {
	n     int
	flat  bool // element i of operand k is data[base[k]+i*step[k]]
	inner int  // unless flat: length of the innermost dimension
	rows  bool // pieces do not cross rows
	base  [kernel.MaxOperands]int
	step  [kernel.MaxOperands]int  // along the innermost dimension
	same  [kernel.MaxOperands]bool // operand k has a single element
	line  [kernel.MaxOperands]bool // operand k is contiguous from base[k], regardless of the other operands
	walk  kernel.Walk              // over the outer dimensions
}

// setLayout sets l for arrays that broadcast to s.
func setLayout(l *layout, s shape.Shape, in []kernel.Array) {
	l.n = s.Size()
	if simple(l, s, in) {
		l.flat = true
		return
	}
	views := make([]shape.View, 1, 1+kernel.MaxOperands)
	views[0] = shape.Contiguous(s)
	for _, a := range in {
		v := a.View
		if !v.Shape.Equal(s) {
			v = v.Expand(s)
		}
		views = append(views, v)
	}
	if l.n == 0 {
		l.flat = true
		return
	}
	views = shape.Collapse(views...)[1:]
	last := len(views[0].Shape) - 1
	for k, v := range views {
		l.base[k] = v.Offset
		if last >= 0 {
			l.step[k] = v.Strides[last]
		}
		l.line[k], l.same[k] = v.IsContiguous(), !slices.ContainsFunc(v.Strides, func(s int) bool { return s != 0 })
	}
	if last <= 0 {
		l.flat = true
		return
	}
	l.inner = views[0].Shape[last]
	l.rows = l.inner >= longRow
	strides := make([][]int, len(views))
	for k, v := range views {
		strides[k] = v.Strides[:last]
	}
	l.walk = kernel.NewWalk(views[0].Shape[:last], l.base[:], strides...)
}

// simple sets l in the usual case, and reports whether it is one: each operand is contiguous and has the result's shape, or has a single
// element.
func simple(l *layout, s shape.Shape, in []kernel.Array) bool {
	for k := range in {
		v := &in[k].View
		l.base[k] = v.Offset
		switch {
		case v.Shape.Size() == l.n && v.IsContiguous(): // the shapes differ at most by dimensions of one
			l.step[k], l.line[k] = 1, true
		case v.Shape.Size() == 1:
			l.step[k], l.same[k] = 0, true
		default:
			return false
		}
	}
	return true
}

// direct reports whether operands are read without being copied to blocks, so that pieces may have any length.
func (l *layout) direct(operands int) bool {
	for k := range operands {
		if l.step[k] != 0 && l.step[k] != 1 {
			return false
		}
	}
	return l.flat || l.rows
}

// piece is a range of result elements that a loop computes in one call.
type piece struct {
	l      *layout
	at, n  int // first element, length
	hi     int
	most   int
	cursor kernel.Cursor
	col    int
}

// pieces starts the iteration over [lo, hi) in pieces whose length is at most the limit most.
func (l *layout) pieces(p *piece, lo, hi, most int) {
	p.l, p.at, p.n, p.hi, p.most = l, lo, 0, hi, most
	if l.rows && lo < hi {
		p.cursor, p.col = l.walk.Start(lo/l.inner), lo%l.inner
	}
}

// next moves to the next piece.
func (p *piece) next() bool {
	l := p.l
	if l.rows && p.n > 0 {
		p.col += p.n
		if p.col == l.inner {
			p.col = 0
			p.cursor.Next()
		}
	}
	p.at += p.n
	p.n = min(p.hi-p.at, p.most)
	if l.rows {
		p.n = min(p.n, l.inner-p.col)
	}
	return p.n > 0
}

// scratch contains the blocks of one thread.
type scratch [kernel.MaxOperands + 1][block]uint64

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func buffer[T any](s *scratch, k int) []T {
	if s == nil {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&s[k])), block)
}
