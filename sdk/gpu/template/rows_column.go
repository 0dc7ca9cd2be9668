package template

import (
	"slices"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// column is a kernel for rows whose elements with equal numbers are neighbours in memory. The threads of a block form a tile, along the
// rows and along their elements. A thread processes width rows.
type column struct {
	*layout
	m        *maker
	width    int
	tx, ty   int // threads of a block along the rows, and along their elements
	operands []access
	wr, wc   *walk
	p        *Pass
	mems     []ir.Mem
	count    ir.Value // number of rows, in units of width
	tile     ir.Value // number of blocks along the rows
	lo, hi   ir.Value // hi is the number of elements of a row
	tiles    int      // blocks along the rows
	parts    int      // parts of each row
	partSize int      // elements of a part
}

// fewElements is the greatest number of elements of a row for which one thread reads all of them.
const fewElements = 8

// column returns the work of one pass without results for each element, over rows that are not contiguous in memory.
func (l *layout) column() ir.Work {
	width := l.width(&l.rows, &l.cols, &l.rows)
	rows, n := l.rows.size()/width, l.cols.size()
	tx, ty := columnTile(rows, n, 32)
	if n <= fewElements && rows >= 2*l.t.Units*threads {
		tx, ty = threads, 1 // a thread joins its rows by itself, without barriers
	}
	tiles := ceil(rows, tx)
	parts := 1
	switch {
	case tiles >= 2*l.t.Units:
	case n >= 64*ty:
		parts = max(1, min(ceil(n, 8*ty), ceil(2*l.t.Units*l.t.Blocks*threads/(tx*ty), tiles)))
	default:
		// More blocks, each with fewer rows and more threads for each of them.
		tx, ty = columnTile(rows, n, 8)
		tiles = ceil(rows, tx)
	}
	size := ceil(n, parts)
	if whole := 4 * ty; size > 2*whole {
		size = ceil(size, whole) * whole
	}
	parts = ceil(n, size)
	if parts == 1 {
		c := newColumn(l, l.Name, width, tx, ty, tiles, 1, n)
		return ir.Work{Launches: []ir.Launch{c.launch(nil)}}
	}
	first := *l
	r := *l.Rows
	r.Once, first.Rows = nil, &r
	first.all = slices.Delete(slices.Clone(l.all), l.once(0), l.once(len(l.Once)))
	first.rows, first.cols = l.rows.without(l.once(0), len(l.Once)), l.cols.without(l.once(0), len(l.Once))
	c := newColumn(&first, l.Name+"_part", width, tx, ty, tiles, parts, size)
	temps := l.temporaries(l.rows.size()*parts, c.p)
	w := ir.Work{Launches: []ir.Launch{c.launch(temps)}}
	return l.joinParts(w, temps, parts, 1, l.rows.size())
}

// columnTile returns the numbers of threads along rows and along elements, for rows of n elements. A tile covers at most wide rows if n is
// great enough.
func columnTile(rows, n, wide int) (tx, ty int) {
	tx = min(wide, ceilPower(rows))
	ty = min(threads/tx, ceilPower(n))
	return min(threads/ty, ceilPower(rows)), ty
}

func newColumn(l *layout, name string, width, tx, ty, tiles, parts, size int) *column {
	c := &column{layout: l, width: width, tx: tx, ty: ty, p: &l.Passes[0], tiles: tiles, parts: parts, partSize: size}
	c.m = newMaker(l.t, name, tx*ty, l.most)
	c.operands = l.bindOperands(c.m, width, &l.cols, &l.rows)
	c.wr, c.wc = newWalk(c.m, "r", &l.rows, width), newWalk(c.m, "c", &l.cols, 1)
	c.count, c.hi = c.m.size("rows", l.rows.size()/width), c.m.size("elements", l.cols.size())
	if ty > 1 {
		for i, d := range c.p.State {
			c.mems = append(c.mems, c.m.Shared(numbered("board", i), d, tx*ty*width))
		}
	}
	return c
}

// launch returns a launch that writes the results or, if temps are given, the states of parts to temps.
func (c *column) launch(temps []Operand) ir.Launch {
	m := c.m
	bufs := make([]ir.Buf, len(temps))
	for i, d := range temps {
		bufs[i] = m.buffer(numbered("t", i), d, ir.Write)
	}
	var tiles, size, whole ir.Value
	if c.parts > 1 {
		tiles, size, whole = m.size("tiles", c.tiles), m.size("size", c.partSize), m.size("whole", c.rows.size())
	}
	grid := m.blocks(c.tiles*c.parts, func(block ir.Value) {
		tile, lo, hi, part := block, ir.Value(0), c.hi, ir.Value(0)
		if c.parts > 1 {
			part = m.Div(block, tiles)
			tile, lo = m.Rem(block, tiles), m.Mul(part, size)
			hi = m.Min(hi, m.Add(lo, size))
		}
		x, y := m.Rem(m.Thread(), m.Int(c.tx)), m.Div(m.Thread(), m.Int(c.tx))
		i := m.Add(m.times(tile, c.tx), x)
		valid := m.Eq(y, m.Int(0))
		if c.rows.size()/c.width%c.tx != 0 {
			valid = m.And(valid, m.Lt(i, c.count))
			i = m.Min(i, m.Sub(c.count, m.Int(1)))
		}
		row := c.wr.at(i).settled()
		lanes := c.begin(row)
		s := newSums(m, c.p, c.width)
		first := y
		if lo != 0 {
			first = m.Add(lo, y)
		}
		c.sweep(first, hi, func(cols ...*spot) { c.lift(lanes, s, row, cols) })
		c.join(s, x, y)
		m.If(valid, func() {
			if temps == nil {
				c.finish(lanes, s, row)
				return
			}
			at := m.Add(m.Mul(part, whole), row.element())
			for n := range c.width {
				for k, v := range s.get(n) {
					m.Store(bufs[k], m.plus(at, n), v)
				}
			}
		})
		if most := c.t.Grid[0]; most > 0 && c.tiles*c.parts > most {
			m.Barrier()
		}
	})
	return m.launch(grid)
}

// begin starts the rows of a thread.
func (c *column) begin(row *spot) []Row {
	side := make([][]ir.Value, len(c.Side))
	for i := range side {
		side[i] = c.operands[c.side(i)].load(c.wr, c.side(i), row.offset)
	}
	lanes := make([]Row, c.width)
	for n := range lanes {
		one := make([]ir.Value, len(side))
		for i := range side {
			one[i] = side[i][n]
		}
		lanes[n] = c.Begin(c.m.Builder, one)
		lanes[n].Before(c.m.Builder, 0)
	}
	return lanes
}

// sweep visits elements first, first+ty, ... below hi, several at a time.
func (c *column) sweep(first, hi ir.Value, visit func(cols ...*spot)) {
	m := c.m
	many := 1
	for many < 4 && c.partSize >= 4*many*c.ty {
		many *= 2
	}
	if c.ty == 1 && c.parts == 1 && c.cols.size() <= fewElements {
		all := make([]*spot, c.cols.size())
		for k := range all {
			all[k] = c.wc.at(m.Int(k))
		}
		visit(all...)
		return
	}
	one := func(j ir.Value) { visit(c.wc.at(j)) }
	if many == 1 {
		m.For(first, hi, c.ty, one)
		return
	}
	m.For(first, hi, c.ty*many, func(j ir.Value) {
		m.IfElse(m.Lt(m.plus(j, c.ty*(many-1)), hi), func() {
			cols := make([]*spot, many)
			for k := range cols {
				cols[k] = c.wc.at(m.plus(j, c.ty*k))
			}
			visit(cols...)
		}, func() {
			m.For(j, m.Min(hi, m.plus(j, c.ty*many)), c.ty, one)
		})
	})
}

// lift joins the elements at cols, of all rows of the thread, to the states of s.
func (c *column) lift(lanes []Row, s *sums, row *spot, cols []*spot) {
	x := make([]map[int][]ir.Value, len(cols))
	for k, col := range cols {
		x[k] = map[int][]ir.Value{}
		at := func(o int) ir.Value {
			switch {
			case c.rows.fixed(o):
				return col.offset(o)
			case c.cols.fixed(o):
				return row.offset(o)
			}
			return c.m.Add(row.offset(o), col.offset(o))
		}
		for _, i := range c.p.All {
			x[k][i] = c.operands[c.in(i)].load(c.wr, c.in(i), at)
		}
	}
	for k, col := range cols {
		for n, r := range lanes {
			e := Element{In: make([]ir.Value, len(c.In))}
			for i, v := range x[k] {
				e.In[i] = v[n]
			}
			e.Index = c.index(c.m, func() ir.Value { return c.m.plus(row.element(), n) }, func() ir.Value { return col.element() })
			state, _ := r.Lift(c.m.Builder, 0, e)
			s.add(n, state)
		}
	}
}

// join combines the states of all threads with the same x. The thread with y = 0 has the result.
func (c *column) join(s *sums, x, y ir.Value) {
	m := c.m
	cell := func(y ir.Value, n int) ir.Value {
		return m.plus(m.Add(m.times(y, c.tx), x), n*c.tx*c.ty)
	}
	for half := c.ty / 2; half > 0; half /= 2 {
		// The upper half of the threads stores its states for the lower half.
		if half < c.ty/2 {
			m.Barrier()
		}
		m.If(m.And(m.Le(m.Int(half), y), m.Lt(y, m.Int(2*half))), func() {
			for n := range c.width {
				for i, v := range s.get(n) {
					m.SharedStore(c.mems[i], cell(y, n), v)
				}
			}
		})
		m.Barrier()
		m.If(m.Lt(y, m.Int(half)), func() {
			for n := range c.width {
				other := make([]ir.Value, len(c.mems))
				for i, mem := range c.mems {
					other[i] = m.SharedLoad(mem, cell(m.plus(y, half), n))
				}
				s.add(n, other)
			}
		})
	}
}

// finish writes the results of the rows of a thread.
func (c *column) finish(lanes []Row, s *sums, row *spot) {
	out := make([][]ir.Value, len(c.Once))
	for n, r := range lanes {
		r.Done(c.m.Builder, 0, s.get(n))
		r.Before(c.m.Builder, 1)
		for i, v := range r.Finish(c.m.Builder) {
			out[i] = append(out[i], v)
		}
	}
	for i, v := range out {
		c.operands[c.once(i)].store(c.wr, c.once(i), row.offset, v)
	}
}
