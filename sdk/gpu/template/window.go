package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Windows are windows that slide over the trailing dimensions of a tensor. Element k of window o along such a dimension is at
// o·Stride + k·Dilation - Before; elements outside of the tensor are ignored.
type Windows struct {
	In, Out                        []int // shapes; leading dimensions are equal
	Size, Stride, Dilation, Before []int // one entry for each trailing dimension
}

// WindowReduce returns the work that computes slot 1, the combined elements of slot 0 in each window. With indices it also computes slot
// 2 (i64): the place, within the trailing dimensions, of the first greatest (for JoinMin: least) element, or -1 for an empty window.
func WindowReduce(t Target, w Windows, how Join, indices bool, x, y, at Operand) ir.Work {
	slots := 2
	states := windowStates{runningJoin{joinerOf(t, how, x.Type)}}
	to := []region{regionOf(1, y)}
	if indices {
		slots, states, to = 3, append(states, runningIndex{joinerOf(t, how, x.Type)}), append(to, regionOf(2, at))
	}
	s := newSequence(t, slots, false)
	n := volume(w.Out)
	if n == 0 {
		return s.work
	}
	if volume(w.Size) >= 1024 && n < 1<<14 && volume(w.In) > 0 {
		s.windowBlocks(w, states, regionOf(0, x), to)
	} else {
		s.windowThreads(w, states, regionOf(0, x), to)
	}
	return s.work
}

// windowStates are the states that are computed for a window: a value and, with indices, a place.
type windowStates []running

// reach returns a bound for the numbers in the index arithmetic of w.
func (w Windows) reach() int {
	n := max(volume(w.In), volume(w.Out))
	for d, size := range w.Size {
		n = max(n, 2*(w.Out[len(w.Out)-len(w.Size)+d]*w.Stride[d]+size*w.Dilation[d]+max(w.Before[d], -w.Before[d])))
	}
	return n
}

// windowThreads computes each window with one thread.
func (s *sequence) windowThreads(w Windows, states windowStates, x region, to []region) {
	s.each("window", volume(w.Out), w.reach(), func(p *step) func(ir.Value) {
		b := states.buffers(p, x, to)
		first := len(w.In) - len(w.Size)
		return func(i ir.Value) {
			o := p.split(i, w.Out...)
			found := states.begin(p)
			var visit func(d int, coords []ir.Value)
			visit = func(d int, coords []ir.Value) {
				if d == len(w.Size) {
					found.add(w, b, coords)
					return
				}
				p.For(p.Int(0), p.Int(w.Size[d]), 1, func(k ir.Value) {
					w.inside(p, d, o[first+d], k, func(c ir.Value) { visit(d+1, append(coords[:len(coords):len(coords)], c)) })
				})
			}
			if volume(w.In) > 0 {
				visit(0, o[:first])
			}
			found.store(b, i)
		}
	})
}

// windowBlocks computes each window with a block, whose threads have neighbouring parts of it.
func (s *sequence) windowBlocks(w Windows, states windowStates, x region, to []region) {
	const threads = 128
	n, size := volume(w.Out), volume(w.Size)
	p := s.begin("window_blocks", threads, n, max(w.reach(), size+threads))
	b := states.buffers(p, x, to)
	first := len(w.In) - len(w.Size)
	i := p.Min(p.block, p.Int(n-1))
	o := p.split(i, w.Out...)
	found := states.begin(p)
	each := (size + threads - 1) / threads
	lo := p.Mul(p.Thread(), p.Int(each))
	p.For(lo, p.Min(p.Add(lo, p.Int(each)), p.Int(size)), 1, func(k ir.Value) {
		q := p.split(k, w.Size...)
		var visit func(d int, coords []ir.Value)
		visit = func(d int, coords []ir.Value) {
			if d == len(w.Size) {
				found.add(w, b, coords)
				return
			}
			w.inside(p, d, o[first+d], q[d], func(c ir.Value) { visit(d+1, append(coords[:len(coords):len(coords)], c)) })
		}
		visit(0, o[:first])
	})
	for k, r := range states {
		found.vars[k].put(p.newBlockScan(r).total(found.vars[k].get()))
	}
	p.If(p.And(p.Lt(p.block, p.Int(n)), p.Eq(p.Thread(), p.Int(0))), func() { found.store(b, i) })
	s.end(p)
}

// inside runs body if element k of window o along trailing dimension d is an element of the tensor.
func (w Windows) inside(p *step, d int, o, k ir.Value, body func(c ir.Value)) {
	size := w.In[len(w.In)-len(w.Size)+d]
	c := p.Add(p.Mul(o, p.Int(w.Stride[d])), p.Sub(p.Mul(k, p.Int(w.Dilation[d])), p.Int(w.Before[d])))
	within := p.clamp(c, 0, size-1)
	p.If(p.Eq(c, within), func() { body(within) })
}

type windowBuffers struct {
	x  ir.Buf
	to []ir.Buf
}

func (s windowStates) buffers(p *step, x region, to []region) windowBuffers {
	b := windowBuffers{x: p.buffer("x", s[0].in(), ir.Read, x)}
	for k, r := range s {
		b.to = append(b.to, p.buffer([]string{"y", "indices"}[k], r.out(), ir.Write, to[k]))
	}
	return b
}

// windowFound holds the states of a thread so far.
type windowFound struct {
	p      *step
	states windowStates
	vars   []stateVar
}

func (s windowStates) begin(p *step) windowFound {
	f := windowFound{p: p, states: s}
	for k, r := range s {
		f.vars = append(f.vars, p.newState([]string{"value", "place"}[k], r))
	}
	return f
}

// add joins the element at coords to the states.
func (f windowFound) add(w Windows, b windowBuffers, coords []ir.Value) {
	p, first := f.p, len(w.In)-len(w.Size)
	v := p.Load(b.x, p.join(w.In, coords...))
	at := p.join(w.In[first:], coords[first:]...)
	for k, r := range f.states {
		f.vars[k].put(r.join(p.Builder, f.vars[k].get(), r.lift(p.Builder, v, at)))
	}
}

// store stores the results as element i.
func (f windowFound) store(b windowBuffers, i ir.Value) {
	for k, r := range f.states {
		v := r.lower(f.p.Builder, f.vars[k].get())
		if k > 0 {
			v = f.p.Select(f.p.Eq(v, f.p.Const(dtype.I64, math.MaxInt64)), f.p.Const(dtype.I64, ^uint64(0)), v)
		}
		f.p.Store(b.to[k], i, v)
	}
}
