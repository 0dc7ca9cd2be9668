package template

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// threads is the size of a block of kernels without shared memory.
const threads = 256

// Elementwise returns the work that computes body for each element of a space. The views of all operands and results have the shape of
// the space.
func Elementwise(t Target, name string, space shape.Shape, in, out []Operand, body Body) ir.Work {
	if space.Size() == 0 {
		return ir.Work{}
	}
	if l, ok := transposed(t, name, space, in, out, body); ok {
		return ir.Work{Launches: []ir.Launch{l}}
	}
	e := newElementwise(t, name, space, in, out, body)
	return ir.Work{Launches: []ir.Launch{e.launch()}}
}

// elementwise is the kernel under construction.
type elementwise struct {
	m       *maker
	space   shape.Shape
	order   []int // axes of space in the order of the nest
	n       nest
	w       *walk
	width   int
	in, out []access
	body    Body
	// flat says that groups of neighbours extend across the ends of the innermost dimension, whose length is not a multiple of the size of
	// a group.
	flat  bool
	outer ir.Value // the outermost dimension, if flat
}

func newElementwise(t Target, name string, space shape.Shape, in, out []Operand, body Body) *elementwise {
	all := append(append([]Operand(nil), out...), in...) // results come first: they determine the order
	views := make([]shape.View, len(all))
	most := space.Size()
	for i, d := range all {
		views[i] = d.View
		most = max(most, reach(d.View))
	}
	e := &elementwise{m: newMaker(t, name, threads, most), space: space, body: body}
	e.order = memoryOrder(views[0], axesOf(space))
	e.n = newNest(views, e.order)
	e.choose(t, all, len(out))
	for i, d := range all {
		a := e.accessOf(t, d, i)
		switch name := numbered("x", i-len(out)); {
		case i < len(out):
			a.buf = e.m.buffer(numbered("y", i), d, ir.Write)
			e.out = append(e.out, a)
			continue
		case d.Number != nil:
			a.fixed = e.m.number(name, d)
		default:
			a.buf = e.m.buffer(name, d, ir.Read)
		}
		e.in = append(e.in, a)
	}
	if e.flat {
		e.w, e.outer = newWalk(e.m, "", &e.n, 1), e.m.size("n0", e.n.dims[0])
		return e
	}
	e.w = newWalk(e.m, "", &e.n, e.width)
	return e
}

// choose determines the number of neighbours that a thread computes at a time.
func (e *elementwise) choose(t Target, all []Operand, outs int) {
	most := neighbours(t, all)
	e.width = min(most, floorPower(e.n.last()))
	if len(e.n.dims) > 1 {
		for e.n.last()%e.width != 0 {
			e.width /= 2
		}
	}
	if accessOf(t, all[0], 0, e.width, &e.n).chunk <= 1 {
		e.width = 1
	}
	if e.width == most || len(e.n.dims) < 2 || e.n.last() < most {
		return
	}
	for i, d := range all[:outs] {
		if !e.n.rowMajor(i) || lowest(d.View)%min(most, max(1, t.Wide/d.Type.Size())) != 0 {
			return
		}
	}
	e.flat, e.width = true, most
}

// accessOf returns the access to operand d, which is number i of results and operands.
func (e *elementwise) accessOf(t Target, d Operand, i int) access {
	if !e.flat {
		return accessOf(t, d, i, e.width, &e.n)
	}
	a := access{bytes: d.Type.Size(), width: e.width, chunk: 1}
	if chunk := min(e.width, max(1, t.Wide/a.bytes)); d.Number == nil && lowest(d.View)%chunk == 0 {
		a.chunk = chunk
	}
	return a
}

// at returns the spot of group i of neighbours.
func (e *elementwise) at(i ir.Value) *spot {
	if e.flat {
		i = e.m.times(i, e.width)
	}
	return e.w.at(i)
}

// lane returns the spot k elements after p, for a flat e. k must be less than the length of the innermost dimension.
func (e *elementwise) lane(p *spot, k int) *spot {
	if k == 0 {
		return p
	}
	m, c := e.m, p.coordinates()
	q := &spot{w: p.w, i: m.plus(p.i, k), c: make([]ir.Value, len(c)), where: map[int]ir.Value{}}
	next := m.plus(c[len(c)-1], k)
	for d := len(c) - 1; d > 0; d-- {
		over := m.Le(e.w.sizes[d], next)
		q.c[d] = m.Select(over, m.Sub(next, e.w.sizes[d]), next)
		next = m.Select(over, m.plus(c[d-1], 1), c[d-1])
	}
	q.c[0] = m.Min(next, m.Sub(e.outer, m.Int(1)))
	return q
}

// load reads the elements of operand i of in at spot p. lanes are the spots of these elements, if e is flat.
func (e *elementwise) load(i int, p *spot, lanes []*spot) []ir.Value {
	o, a := len(e.out)+i, &e.in[i]
	switch {
	case !e.flat || a.fixed != 0:
		return a.load(e.w, o, p.offset)
	case e.n.rowMajor(o):
		var v []ir.Value
		for k := 0; k < e.width; k += a.chunk {
			v = append(v, e.m.LoadWide(a.buf, e.m.plus(p.i, k), a.chunk)...)
		}
		return v
	}
	v := make([]ir.Value, e.width)
	for k, q := range lanes {
		v[k] = e.m.Load(a.buf, q.offset(o))
	}
	return v
}

// store writes elements of result i at spot p.
func (e *elementwise) store(i int, p *spot, v []ir.Value) {
	a := &e.out[i]
	if !e.flat {
		a.store(e.w, i, p.offset, v)
		return
	}
	for k := 0; k < e.width; k += a.chunk {
		e.m.Store(a.buf, e.m.plus(p.i, k), v[k:k+a.chunk]...)
	}
}

// underWay returns the number of groups of width elements that a thread reads before it computes, so that enough reads are in flight.
func (e *elementwise) underWay(items int) int {
	bytes := 0
	for i, a := range e.in {
		if a.chunk > 0 && e.n.step(i+len(e.out)) != 0 {
			bytes += a.width * a.bytes
		}
	}
	many := e.m.t.Units * e.m.t.Blocks * threads // concurrent threads
	n := 1
	for n < 4 && bytes*n < 32 && items >= 4*many*n {
		n *= 2
	}
	return n
}

func (e *elementwise) launch() ir.Launch {
	m := e.m
	total := e.n.size()
	full, tail := total/e.width, total%e.width
	items := full + tail // groups of width elements, and single elements
	each := e.underWay(items)
	count := m.size("items", items)
	vectors, rest := count, ir.Value(0)
	if tail > 0 {
		vectors, rest = m.size("vectors", full), m.size("rest", full*(e.width-1))
	}
	one := func(v ir.Value) {
		if tail == 0 {
			e.visit(e.at(v))
			return
		}
		m.IfElse(m.Lt(v, vectors), func() { e.visit(e.at(v)) }, func() { e.single(m.Add(v, rest)) })
	}
	grid := m.blocks(ceil(items, threads*each), func(block ir.Value) {
		v := m.Add(m.Mul(block, m.Int(threads*each)), m.Thread())
		if each == 1 {
			m.If(m.Lt(v, count), func() { one(v) })
			return
		}
		m.IfElse(m.Lt(m.Add(v, m.Int(threads*(each-1))), vectors), func() {
			spots := make([]*spot, each)
			for k := range spots {
				spots[k] = e.at(m.plus(v, threads*k))
			}
			e.visit(spots...)
		}, func() {
			m.For(v, m.Min(count, m.Add(v, m.Int(threads*each))), threads, one)
		})
	})
	return m.launch(grid)
}

// visit computes width elements at each spot.
func (e *elementwise) visit(spots ...*spot) {
	x := make([][][]ir.Value, len(spots)) // elements by spot, operand and place
	for s, p := range spots {
		var lanes []*spot
		for k := 0; e.flat && k < e.width; k++ {
			lanes = append(lanes, e.lane(p, k))
		}
		for i := range e.in {
			x[s] = append(x[s], e.load(i, p, lanes))
		}
	}
	for s, p := range spots {
		y := make([][]ir.Value, len(e.out))
		for k := range e.width {
			in := make([]ir.Value, len(e.in))
			for i := range in {
				in[i] = x[s][i][k]
			}
			for i, v := range e.body(e.m.Builder, in, e.index(p, k)) {
				y[i] = append(y[i], v)
			}
		}
		for i := range e.out {
			e.store(i, p, y[i])
		}
	}
}

// single computes element i. It is for the elements after the last whole group.
func (e *elementwise) single(i ir.Value) {
	one := *e.w
	one.width = 1
	p := one.at(i)
	in := make([]ir.Value, len(e.in))
	for k, a := range e.in {
		if in[k] = a.fixed; a.fixed == 0 {
			in[k] = e.m.Load(a.buf, p.offset(len(e.out)+k))
		}
	}
	for k, v := range e.body(e.m.Builder, in, e.index(p, 0)) {
		e.m.Store(e.out[k].buf, p.offset(k), v)
	}
}

// index returns a function that computes the coordinates in the space of element k at a spot.
func (e *elementwise) index(p *spot, k int) func(axis int) ir.Value {
	return func(axis int) ir.Value {
		return coordinate(e.m, e.space, e.order, axis, func() ir.Value { return e.m.plus(p.element(), k) })
	}
}

// floorPower returns the greatest power of two that is at most n.
func floorPower(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}
