package template

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Indexing is the shape of a gather or scatter: x is [Batch, Outer, Axis, Inner], the indices are [Batch, Count], and the gathered or
// scattered elements are [Batch, Outer, Count, Inner].
type Indexing struct {
	Batch, Outer, Axis, Inner, Count int
	// Line is the distance in memory between lines of x, in elements. A line has Axis·Inner elements; a distance of 0 means that there
	// are no gaps. Only Gather supports it.
	Line int
}

// whole and slices return the number of elements of x, with gaps between lines, and of the gathered or scattered elements.
func (g Indexing) whole() int  { return g.Batch * g.Outer * max(g.Axis*g.Inner, g.Line) }
func (g Indexing) slices() int { return g.Batch * g.Outer * g.Count * g.Inner }

// Gather returns the work that writes to slot 2 the elements of slot 0 at the positions along the axis that are in slot 1. An index equal
// to padding yields zeros, unless padding is negative.
func Gather(t Target, g Indexing, padding int, x, indices, y Operand) ir.Work {
	s := newSequence(t, 3, true)
	if g.slices() == 0 {
		return s.work
	}
	px, py := regionOf(0, x), regionOf(2, y)
	row := g.Inner * x.Type.Size()
	u := unitOf(t, x.Type, row, g.Line*x.Type.Size(), int(px.offset), int(py.offset))
	units := row / u.bytes()
	dims := []int{g.Batch, g.Outer, g.Count, units}
	s.each("gather", g.Batch*g.Outer*g.Count*units, max(g.whole(), g.slices()), func(p *step) func(ir.Value) {
		to := p.buffer("y", u.d, ir.Write, py)
		from := ir.Buf(-1)
		if g.Axis > 0 {
			from = p.buffer("x", u.d, ir.Read, px)
		}
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			dst := p.Mul(i, p.Int(u.width))
			if g.Axis == 0 {
				p.raise(fault)
				p.Store(to, dst, p.zeros(u.d, u.width)...)
				return
			}
			c := p.split(i, dims...)
			index := p.Load(at, p.join([]int{g.Batch, g.Count}, c[0], c[2]))
			k := p.guarded(index, g.Axis, fault)
			place := p.join([]int{g.Batch, g.Outer, g.Axis, units}, c[0], c[1], k, c[3])
			if g.Line > 0 {
				line := p.join([]int{g.Batch, g.Outer}, c[0], c[1])
				place = p.Add(p.Mul(line, p.Int(g.Line*x.Type.Size()/u.bytes())), p.join([]int{g.Axis, units}, k, c[3]))
			}
			src := p.Mul(place, p.Int(u.width))
			v := slices.Clone(p.LoadWide(from, src, u.width))
			if padding >= 0 {
				none := p.Eq(k, p.Int(padding))
				for j := range v {
					v[j] = p.Select(none, p.Const(u.d, 0), v[j])
				}
			}
			p.Store(to, dst, v...)
		}
	})
	return s.work
}

// GatherElements returns the work that computes slot 2, of shape dims. Each element is read from slot 0, of shape whole, at the same place
// except along axis, where the position is the index at that place in slot 1.
func GatherElements(t Target, whole, dims []int, axis int, x, indices, y Operand) ir.Work {
	s := newSequence(t, 3, true)
	n, all := volume(dims), volume(whole)
	if n == 0 {
		return s.work
	}
	u := unitOf(t, x.Type, x.Type.Size())
	s.each("gather_elements", n, max(n, all), func(p *step) func(ir.Value) {
		to := p.buffer("y", u.d, ir.Write, regionOf(2, y))
		from := ir.Buf(-1)
		if all > 0 {
			from = p.buffer("x", u.d, ir.Read, regionOf(0, x))
		}
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			dst := p.Mul(i, p.Int(u.width))
			if all == 0 {
				p.raise(fault)
				p.Store(to, dst, p.zeros(u.d, u.width)...)
				return
			}
			c := p.split(i, dims...)
			c[axis] = p.guarded(p.Load(at, i), whole[axis], fault)
			p.Store(to, dst, p.LoadWide(from, p.Mul(p.join(whole, c...), p.Int(u.width)), u.width)...)
		}
	})
	return s.work
}

func volume(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
