package template

import (
	"slices"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// line is a kernel that assigns each row to neighbouring threads: lanes of a subgroup, or a block.
type line struct {
	*layout
	m        *maker
	width    int // neighbours that a thread processes at a time
	lanes    int // threads for a row
	threads  int // threads of a block
	vectors  int // number of vectors of width elements in a row
	operands []access
	wr, wc   *walk
	count    ir.Value // number of rows
	end      ir.Value // number of vectors of a row
}

// newLine begins a kernel with lanes threads for each row, or part of a row.
func newLine(l *layout, name string, width, lanes int) *line {
	k := &line{layout: l, width: width, lanes: lanes, threads: max(threads, lanes), vectors: l.cols.size() / width}
	if lanes > l.t.Subgroup {
		k.threads = lanes
	}
	k.m = newMaker(l.t, name, k.threads, l.most)
	k.m.SetSubgroup(l.t.Subgroup)
	k.operands = l.bindOperands(k.m, width, &l.rows, &l.cols)
	k.wr, k.wc = newWalk(k.m, "r", &l.rows, 1), newWalk(k.m, "c", &l.cols, width)
	k.count, k.end = k.m.size("rows", l.rows.size()), k.m.size("vectors", k.vectors)
	return k
}

// minBlock is the least number of threads of a block that computes one row: hardware does not run fewer threads together.
const minBlock = 32

// rowLanes returns the number of threads for a row of the given number of vectors. each is the greatest number of vectors of a thread,
// unless that requires too many threads.
func rowLanes(t Target, vectors, each int) int {
	if n := ceilPower(vectors); n <= t.Subgroup {
		return n
	}
	if vectors <= t.Subgroup*each {
		return t.Subgroup
	}
	return min(max(ceilPower(ceil(vectors, each)), 2*t.Subgroup, minBlock), t.Threads)
}

// ceilPower returns the least power of two that is at least n.
func ceilPower(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// rowShare is a thread's share of a row.
type rowShare struct {
	row   *spot
	lane  ir.Value
	valid ir.Value // whether the thread has a row; 0 if each thread has one
}

// each runs body for the rows to which this thread is assigned.
func (k *line) each(body func(p rowShare)) int {
	m := k.m
	rows := k.rows.size()
	if k.lanes == k.threads {
		return m.blocks(rows, func(block ir.Value) {
			body(rowShare{row: k.wr.at(block).settled(), lane: m.Thread()})
			k.between(rows)
		})
	}
	per := k.threads / k.lanes
	return m.blocks(ceil(rows, per), func(block ir.Value) {
		i := m.Add(m.times(block, per), m.Div(m.Thread(), m.Int(k.lanes)))
		p := rowShare{lane: m.Rem(m.Thread(), m.Int(k.lanes))}
		if rows%per != 0 {
			p.valid = m.Lt(i, k.count)
			i = m.Min(i, m.Sub(k.count, m.Int(1)))
		}
		p.row = k.wr.at(i).settled()
		body(p)
	})
}

// between adds a barrier between the iterations of a loop over blocks of work, because they use the same shared memory.
func (k *line) between(blocks int) {
	if most := k.t.Grid[0]; most > 0 && blocks > most {
		k.m.Barrier()
	}
}

// begin starts the computation of a row.
func (k *line) begin(row *spot) Row {
	side := make([]ir.Value, len(k.Side))
	for i := range side {
		o := k.side(i)
		if side[i] = k.operands[o].fixed; side[i] == 0 {
			side[i] = k.m.Load(k.operands[o].buf, row.offset(o))
		}
	}
	return k.Begin(k.m.Builder, side)
}

// load reads the elements of operand i of In at a spot of a row.
func (k *line) load(i int, row, col *spot) []ir.Value {
	o := k.in(i)
	return k.operands[o].load(k.wc, o, k.at(row, col))
}

// at returns a function that returns the offset of an element in operand o.
func (k *line) at(row, col *spot) func(o int) ir.Value {
	return func(o int) ir.Value {
		switch {
		case k.rows.fixed(o):
			return col.offset(o)
		case k.cols.fixed(o):
			return row.offset(o)
		}
		return k.m.Add(row.offset(o), col.offset(o))
	}
}

// element returns neighbour n at a spot as an Element. x holds values by operand of In, kept the values of earlier passes.
func (k *line) element(row, col *spot, x map[int][]ir.Value, kept []ir.Value, n int) Element {
	e := Element{In: make([]ir.Value, len(k.In)), Kept: kept}
	for i, v := range x {
		e.In[i] = v[n]
	}
	e.Index = k.index(k.m, func() ir.Value { return row.element() }, func() ir.Value { return k.m.plus(col.element(), n) })
	return e
}

// plus returns v + n.
func (m *maker) plus(v ir.Value, n int) ir.Value {
	if n == 0 {
		return v
	}
	return m.Add(v, m.Int(n))
}

// read returns the elements at several spots of the operands of In that reads lists, by spot and operand.
func (k *line) read(reads []int, row *spot, cols []*spot) []map[int][]ir.Value {
	all := make([]map[int][]ir.Value, len(cols))
	for c, col := range cols {
		all[c] = map[int][]ir.Value{}
		for _, i := range reads {
			all[c][i] = k.load(i, row, col)
		}
	}
	return all
}

// sweep visits every lanes-th vector of a row from lo+lane on, below hi, several at a time. count is the number of vectors from lo to hi,
// or more.
func (k *line) sweep(lane, lo, hi ir.Value, count int, visit func(cols ...*spot)) {
	m := k.m
	at := k.wc.at
	first := lane
	if lo != 0 {
		first = m.Add(lo, lane)
	}
	steps := ceil(count, k.lanes)
	if steps <= 1 && count == k.lanes && lo == 0 {
		visit(at(first))
		return
	}
	many := 1
	for many < 4 && steps >= 4*many {
		many *= 2
	}
	one := func(j ir.Value) { visit(at(j)) }
	if many == 1 {
		m.For(first, hi, k.lanes, one)
		return
	}
	m.For(first, hi, k.lanes*many, func(j ir.Value) {
		m.IfElse(m.Lt(m.plus(j, k.lanes*(many-1)), hi), func() {
			cols := make([]*spot, many)
			for c := range cols {
				cols[c] = at(m.plus(j, k.lanes*c))
			}
			visit(cols...)
		}, func() {
			m.For(j, m.Min(hi, m.plus(j, k.lanes*many)), k.lanes, one)
		})
	})
}

// joined returns the state of the whole row. Each thread of the row has this state.
func (k *line) joined(b *exchange, p *Pass, s *sums) []ir.Value {
	if k.lanes <= k.t.Subgroup {
		return acrossLanes(k.m, p, s.total(), k.lanes)
	}
	return b.join(s.total())
}

// exchange returns the shared memory for a pass, or nil if a row is computed by at most one subgroup.
func (k *line) exchange(p *Pass) *exchange {
	if k.lanes <= k.t.Subgroup {
		return nil
	}
	return newExchange(k.m, p, k.threads)
}

// leader runs body in one thread of the row.
func (k *line) leader(p rowShare, body func()) {
	cond := k.m.Eq(p.lane, k.m.Int(0))
	if p.valid != 0 {
		cond = k.m.And(cond, p.valid)
	}
	k.m.If(cond, body)
}

// finish writes the results with one element for each row.
func (k *line) finish(r Row, row *spot) {
	for i, v := range r.Finish(k.m.Builder) {
		k.m.Store(k.operands[k.once(i)].buf, row.offset(k.once(i)), v)
	}
}

// row returns the work of one pass without results for each element, over rows that are contiguous in memory.
func (l *layout) row() ir.Work {
	width := l.width(&l.cols, &l.rows, &l.cols)
	rows, vectors := l.rows.size(), l.cols.size()/width
	if rows < 2*l.t.Units && l.cols.size() > 8192 {
		return l.splitRow(width)
	}
	k := newLine(l, l.Name, width, rowLanes(l.t, vectors, 8))
	p := &l.Passes[0]
	b := k.exchange(p)
	grid := k.each(func(at rowShare) {
		r := k.begin(at.row)
		r.Before(k.m.Builder, 0)
		s := newSums(k.m, p, k.width)
		k.sweep(at.lane, 0, k.end, k.vectors, func(cols ...*spot) { k.lift(r, s, p, at.row, cols) })
		state := k.joined(b, p, s)
		k.leader(at, func() {
			r.Done(k.m.Builder, 0, state)
			r.Before(k.m.Builder, 1)
			k.finish(r, at.row)
		})
	})
	return ir.Work{Launches: []ir.Launch{k.m.launch(grid)}}
}

// lift joins the elements at some spots to the states of the first pass.
func (k *line) lift(r Row, s *sums, p *Pass, row *spot, cols []*spot) {
	x := k.read(p.All, row, cols)
	for c, col := range cols {
		for n := range k.width {
			state, _ := r.Lift(k.m.Builder, 0, k.element(row, col, x[c], nil, n))
			s.add(n, state)
		}
	}
}

// waves is the ratio of blocks to concurrent blocks, if the number of blocks can be chosen.
const waves = 4

// splitRow returns the work for few rows. Each row is divided into parts, whose states are joined by a second launch.
func (l *layout) splitRow(width int) ir.Work {
	rows, vectors := l.rows.size(), l.cols.size()/width
	lanes := min(threads, l.t.Threads)
	parts := max(2, min(ceil(vectors, 8*lanes), ceil(waves*l.t.Units*l.t.Blocks*threads/lanes, rows)))
	size := ceil(vectors, parts) // number of vectors of a part
	parts = ceil(vectors, size)
	first := *l
	r := *l.Rows
	r.Once, first.Rows = nil, &r
	first.all = slices.Delete(slices.Clone(l.all), l.once(0), l.once(len(l.Once)))
	first.rows, first.cols = l.rows.without(l.once(0), len(l.Once)), l.cols.without(l.once(0), len(l.Once))
	k := newLine(&first, l.Name+"_part", width, lanes)
	m, p := k.m, &l.Passes[0]
	temps := l.temporaries(rows*parts, p)
	bufs := make([]ir.Buf, len(temps))
	for i, d := range temps {
		bufs[i] = m.buffer(numbered("t", i), d, ir.Write)
	}
	ofRow, ofPart := m.size("parts", parts), m.size("size", size)
	b := k.exchange(p)
	grid := m.blocks(rows*parts, func(block ir.Value) {
		row := k.wr.at(m.Div(block, ofRow)).settled()
		lo := m.Mul(m.Rem(block, ofRow), ofPart)
		hi := m.Min(k.end, m.Add(lo, ofPart))
		r := k.begin(row)
		r.Before(m.Builder, 0)
		s := newSums(m, p, k.width)
		k.sweep(m.Thread(), lo, hi, size, func(cols ...*spot) { k.lift(r, s, p, row, cols) })
		state := k.joined(b, p, s)
		m.If(m.Eq(m.Thread(), m.Int(0)), func() {
			for i, v := range state {
				m.Store(bufs[i], block, v)
			}
		})
		k.between(rows * parts)
	})
	w := ir.Work{Launches: []ir.Launch{m.launch(grid)}}
	return l.joinParts(w, temps, parts, parts, 1)
}
