package template

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// fewUpdates is the greatest number of updates of one batch for which every element tests all of them.
const fewUpdates = 16

// Assign returns the work that computes slot 3: slot 0 with the elements at the indices in slot 1 replaced by the updates in slot 2. If
// indices are equal, the last of their updates is used.
func Assign(t Target, g Indexing, x, indices, updates, y Operand) ir.Work {
	s := newSequence(t, 4, true)
	px, pu, py := regionOf(0, x), regionOf(2, updates), regionOf(3, y)
	row := g.Inner * x.Type.Size()
	u := unitOf(t, x.Type, row, int(px.offset), int(pu.offset), int(py.offset))
	g.Inner = row / u.bytes() // counts units from here on
	if g.whole() == 0 {
		s.anyIndex(g, indices)
		return s.work
	}
	winners := s.winners(g, indices)
	s.each("scatter_assign", g.whole(), max(g.whole(), g.slices())*u.width, func(p *step) func(ir.Value) {
		to, from := p.buffer("y", u.d, ir.Write, py), p.buffer("x", u.d, ir.Read, px)
		if g.slices() == 0 {
			return func(i ir.Value) {
				at := p.Mul(i, p.Int(u.width))
				p.Store(to, at, p.LoadWide(from, at, u.width)...)
			}
		}
		with, last := p.buffer("updates", u.d, ir.Read, pu), p.buffer("last", dtype.I32, ir.Read, winners)
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Outer, g.Axis, g.Inner)
			w := p.Load(last, p.join([]int{g.Batch, g.Axis}, c[0], c[2]))
			at := p.Mul(i, p.Int(u.width))
			p.IfElse(p.Lt(w, p.Const(dtype.I32, 0)), func() {
				p.Store(to, at, p.LoadWide(from, at, u.width)...)
			}, func() {
				k := p.Cast(p.Index, p.clamp(w, 0, g.Count-1))
				src := p.join([]int{g.Batch, g.Outer, g.Count, g.Inner}, c[0], c[1], k, c[3])
				p.Store(to, at, p.LoadWide(with, p.Mul(src, p.Int(u.width)), u.width)...)
			})
		}
	})
	return s.work
}

// winners returns a temporary that holds, for each position of each batch, the number of the last index that names it, or -1. The
// result does not depend on the order of threads.
func (s *sequence) winners(g Indexing, indices Operand) region {
	n := g.Batch * g.Axis
	last := s.temp(4 * n)
	if g.slices() == 0 {
		return last
	}
	s.each("scatter_none", n, 0, func(p *step) func(ir.Value) {
		to := p.buffer("last", dtype.I32, ir.Write, last)
		return func(i ir.Value) { p.Store(to, i, p.Const(dtype.I32, ^uint64(0))) }
	})
	s.each("scatter_last", g.Batch*g.Count, n, func(p *step) func(ir.Value) {
		to := p.buffer("last", dtype.I32, ir.Atomic, last)
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Count)
			k := p.guarded(p.Load(at, i), g.Axis, fault)
			p.Atomic(ir.AtomicMax, to, p.join([]int{g.Batch, g.Axis}, c[0], k), p.Cast(dtype.I32, c[1]))
		}
	})
	return last
}

// anyIndex sets the fault if there are updates. It is for operands x without elements, where every index is out of range.
func (s *sequence) anyIndex(g Indexing, indices Operand) {
	if g.slices() == 0 {
		return
	}
	s.each("scatter_outside", 1, 0, func(p *step) func(ir.Value) {
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(ir.Value) { p.raise(fault) }
	})
}

// Scatter returns the work that computes slot 3: slot 0 with the updates in slot 2 combined with the elements at the indices in slot 1,
// in the order of the updates.
func Scatter(t Target, g Indexing, how Join, x, indices, updates, y Operand) ir.Work {
	s := newSequence(t, 4, true)
	j := joinerOf(t, how, x.Type)
	switch {
	case g.whole() == 0:
		s.anyIndex(g, indices)
	case g.Count <= fewUpdates || g.slices() == 0:
		s.scatterFew(g, j, x, indices, updates, y)
	case accumulator(x.Type) == x.Type && x.Type.IsInt() && how != JoinMul && t.Atomics.Has(x.Type):
		s.scatterAtomic(g, how, x, indices, updates, y)
	default:
		s.scatterSorted(g, j, x, indices, updates, y)
	}
	return s.work
}

// scatterFew combines the updates in one launch, in which the thread of each element tests all indices of its batch.
func (s *sequence) scatterFew(g Indexing, j joiner, x, indices, updates, y Operand) {
	s.each("scatter_few", g.whole(), max(g.whole(), g.slices()), func(p *step) func(ir.Value) {
		to, from := p.buffer("y", x.Type, ir.Write, regionOf(3, y)), p.buffer("x", x.Type, ir.Read, regionOf(0, x))
		if g.slices() == 0 {
			return func(i ir.Value) { p.Store(to, i, p.Load(from, i)) }
		}
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		with := p.buffer("updates", x.Type, ir.Read, regionOf(2, updates))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Outer, g.Axis, g.Inner)
			acc := p.Local("acc", j.state(), 1)
			p.Put(acc, j.lift(p.Builder, p.Load(from, i)))
			p.For(p.Int(0), p.Int(g.Count), 1, func(k ir.Value) {
				index := p.guarded(p.Load(at, p.join([]int{g.Batch, g.Count}, c[0], k)), g.Axis, fault)
				p.If(p.Eq(index, c[2]), func() {
					v := p.Load(with, p.join([]int{g.Batch, g.Outer, g.Count, g.Inner}, c[0], c[1], k, c[3]))
					p.Put(acc, j.join(p.Builder, p.At(acc), j.lift(p.Builder, v)))
				})
			})
			p.Store(to, i, j.lower(p.Builder, p.At(acc)))
		}
	})
}

// scatterAtomic combines the updates by atomics. It is for integers, whose sums and extremes do not depend on the order.
func (s *sequence) scatterAtomic(g Indexing, how Join, x, indices, updates, y Operand) {
	o := map[Join]ir.Op{JoinAdd: ir.AtomicAdd, JoinMax: ir.AtomicMax, JoinMin: ir.AtomicMin}[how]
	s.each("scatter_copy", g.whole(), 0, func(p *step) func(ir.Value) {
		to, from := p.buffer("y", x.Type, ir.Write, regionOf(3, y)), p.buffer("x", x.Type, ir.Read, regionOf(0, x))
		return func(i ir.Value) { p.Store(to, i, p.Load(from, i)) }
	})
	s.each("scatter_atomic", g.slices(), max(g.whole(), g.slices()), func(p *step) func(ir.Value) {
		to, with := p.buffer("y", x.Type, ir.Atomic, regionOf(3, y)), p.buffer("updates", x.Type, ir.Read, regionOf(2, updates))
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Outer, g.Count, g.Inner)
			k := p.guarded(p.Load(at, p.join([]int{g.Batch, g.Count}, c[0], c[2])), g.Axis, fault)
			p.Atomic(o, to, p.join([]int{g.Batch, g.Outer, g.Axis, g.Inner}, c[0], c[1], k, c[3]), p.Load(with, i))
		}
	})
}

// scatterSorted sorts the indices of each batch with a stable sort, so that the updates of one position are adjacent and in order. It then
// computes where the updates of each position begin; one thread for each element combines its updates.
func (s *sequence) scatterSorted(g Indexing, j joiner, x, indices, updates, y Operand) {
	n := g.Batch * g.Count
	keys := s.temp(4 * n)
	s.each("scatter_keys", n, 0, func(p *step) func(ir.Value) {
		to := p.buffer("keys", dtype.U32, ir.Write, keys)
		at := p.buffer("indices", indices.Type, ir.Read, regionOf(1, indices))
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			p.Store(to, i, p.Cast(dtype.U32, p.guarded(p.Load(at, i), g.Axis, fault)))
		}
	})
	sorted, order := s.temp(4*n), s.temp(4*n)
	k := sorting{rows: g.Batch, n: g.Count, inner: 1, keep: g.Count, d: dtype.U32, bits: bits.Len(uint(g.Axis - 1)), index: dtype.U32}
	s.sort(k, keys, sorted, order)
	starts := s.starts(g, sorted)
	s.combineSorted(g, j, starts, order, x, updates, y)
}

// starts returns a temporary that holds, for each batch and position, the number of sorted keys below the position, and at the end the
// number of all keys.
func (s *sequence) starts(g Indexing, sorted region) region {
	n := g.Batch * (g.Axis + 1)
	starts := s.temp(4 * n)
	s.each("scatter_starts", n, g.Batch*g.Count, func(p *step) func(ir.Value) {
		to, keys := p.buffer("starts", dtype.I32, ir.Write, starts), p.buffer("keys", dtype.U32, ir.Read, sorted)
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Axis+1)
			// The number is built from its highest bit down, with the same number of steps for every thread.
			below := p.Local("below", p.Index, 1)
			p.Put(below, p.Int(0))
			for step := 1 << (bits.Len(uint(g.Count)) - 1); step > 0; step /= 2 {
				try := p.Add(p.clamp(p.At(below), 0, g.Count), p.Int(step))
				key := p.Load(keys, p.join([]int{g.Batch, g.Count}, c[0], p.clamp(p.Sub(try, p.Int(1)), 0, g.Count-1)))
				ok := p.And(p.Le(try, p.Int(g.Count)), p.Lt(key, p.Cast(dtype.U32, c[1])))
				p.Put(below, p.Select(ok, try, p.At(below)))
			}
			p.Store(to, i, p.Cast(dtype.I32, p.At(below)))
		}
	})
	return starts
}

// combineSorted adds the launch in which one thread for each element combines its updates.
func (s *sequence) combineSorted(g Indexing, j joiner, starts, order region, x, updates, y Operand) {
	s.each("scatter_segments", g.whole(), max(g.whole(), g.slices()), func(p *step) func(ir.Value) {
		to, from := p.buffer("y", x.Type, ir.Write, regionOf(3, y)), p.buffer("x", x.Type, ir.Read, regionOf(0, x))
		with := p.buffer("updates", x.Type, ir.Read, regionOf(2, updates))
		first, which := p.buffer("starts", dtype.I32, ir.Read, starts), p.buffer("order", dtype.U32, ir.Read, order)
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Outer, g.Axis, g.Inner)
			at := p.join([]int{g.Batch, g.Axis + 1}, c[0], c[2])
			lo := p.Cast(p.Index, p.clamp(p.Load(first, at), 0, g.Count))
			hi := p.Cast(p.Index, p.clamp(p.Load(first, p.Add(at, p.Int(1))), 0, g.Count))
			acc := p.Local("acc", j.state(), 1)
			p.Put(acc, j.lift(p.Builder, p.Load(from, i)))
			p.For(lo, hi, 1, func(k ir.Value) {
				n := p.Min(p.Load(which, p.join([]int{g.Batch, g.Count}, c[0], k)), p.Const(dtype.U32, uint64(g.Count-1)))
				v := p.Load(with, p.join([]int{g.Batch, g.Outer, g.Count, g.Inner}, c[0], c[1], p.Cast(p.Index, n), c[3]))
				p.Put(acc, j.join(p.Builder, p.At(acc), j.lift(p.Builder, v)))
			})
			p.Store(to, i, j.lower(p.Builder, p.At(acc)))
		}
	})
}
