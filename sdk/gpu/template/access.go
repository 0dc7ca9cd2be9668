package template

import (
	"math"
	"slices"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// access describes how a kernel reads or writes the elements of an operand at width neighbouring places.
type access struct {
	buf   ir.Buf
	fixed ir.Value // the value of an operand that is a number and has no buffer
	bytes int      // size of an element
	width int      // neighbouring places
	chunk int      // elements of one access to memory; 0: one element holds for all places
}

// accessOf returns the access to operand o, described by d, at width places of nests, the innermost nest last.
func accessOf(t Target, d Operand, o, width int, nests ...*nest) access {
	a := access{bytes: d.Type.Size(), width: width, chunk: 1}
	inner := nests[len(nests)-1]
	switch step := inner.step(o); {
	case d.Number != nil:
		a.chunk = 0
	case step == 0:
		a.chunk = 0
	case step == 1:
		chunk := min(width, max(1, t.Wide/d.Type.Size()))
		ok := lowest(d.View)%chunk == 0
		for i, n := range nests {
			ok = ok && n.aligned(o, chunk)
			if i < len(nests)-1 && len(n.dims) > 0 {
				ok = ok && n.step(o)%chunk == 0
			}
		}
		if ok {
			a.chunk = chunk
		}
	}
	return a
}

// neighbours returns the number of neighbouring elements that a thread processes at a time if all operands are contiguous. The narrowest
// operand then needs at most one access of the greatest width, and every other operand at most two.
func neighbours(t Target, ds []Operand) int {
	narrow, wide := math.MaxInt, 1
	for _, d := range ds {
		if d.Number != nil {
			continue
		}
		narrow, wide = min(narrow, d.Type.Size()), max(wide, d.Type.Size())
	}
	if narrow == math.MaxInt {
		return 1
	}
	return max(1, min(t.Wide/narrow, 2*t.Wide/wide))
}

// load reads the elements of operand o at offset at(o) and after it.
func (a *access) load(w *walk, o int, at func(o int) ir.Value) []ir.Value {
	switch {
	case a.fixed != 0:
		return slices.Repeat([]ir.Value{a.fixed}, a.width)
	case a.chunk == 0:
		return slices.Repeat([]ir.Value{w.m.Load(a.buf, at(o))}, a.width)
	}
	out := make([]ir.Value, 0, a.width)
	for k := 0; k < a.width; k += a.chunk {
		out = append(out, w.m.LoadWide(a.buf, w.along(o, at(o), k), a.chunk)...)
	}
	return out
}

// store writes v to operand o at offset at(o) and after it.
func (a *access) store(w *walk, o int, at func(o int) ir.Value, v []ir.Value) {
	for k := 0; k < a.width; k += max(a.chunk, 1) {
		w.m.Store(a.buf, w.along(o, at(o), k), v[k:k+max(a.chunk, 1)]...)
	}
}
