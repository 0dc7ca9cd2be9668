package template

import (
	"slices"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// lines is a kernel of several passes over each row, or with results for each element. If a row is short enough, it is kept in registers.
// For longer rows each pass reads its operands and computes the values again.
type lines struct {
	*line
	steps int // vectors of each row that a thread keeps; 0 means that the thread visits the vectors in loops
	// Local arrays of kept elements: operands that several passes read, and values.
	operand map[int]ir.Var
	loaded  map[int]bool
	kept    []ir.Var
}

func newLines(l *layout) *lines {
	width := l.width(&l.cols, &l.rows, &l.cols)
	vectors := l.cols.size() / width
	each := max(1, keptThread/width)
	if vectors <= l.t.Subgroup*2*each {
		each *= 2
	}
	lanes := rowLanes(l.t, vectors, each)
	// Use fewer threads with more vectors each where many threads would idle in the last step.
	for idle := func(n int) int { return ceil(vectors, n)*n - vectors }; lanes > 2*l.t.Subgroup && 8*idle(lanes) > vectors &&
		idle(lanes/2) < idle(lanes) && ceil(vectors, lanes/2)*width <= 2*keptThread; {
		lanes /= 2
	}
	steps := ceil(vectors, lanes)
	n := &lines{steps: steps}
	if l.cols.size() > keptRow || steps*width*max(1, l.arrays()) > 8*keptThread {
		n.steps = 0
		lanes = rowLanes(l.t, vectors, 4)
	}
	n.line = newLine(l, l.Name, width, lanes)
	return n
}

// arrays returns the number of 32-bit registers for the values that are kept of one element.
func (l *layout) arrays() int {
	n := 0
	for i, d := range l.In {
		if l.readers(i) > 1 {
			n += max(1, d.Type.Size()/4)
		}
	}
	for _, d := range l.Keep {
		n += max(1, d.Size()/4)
	}
	return n
}

// readers returns the number of passes that read operand i of In.
func (l *layout) readers(i int) int {
	n := 0
	for p := range l.Passes {
		if slices.Contains(l.Passes[p].Reads, i) {
			n++
		}
	}
	if slices.Contains(l.Reads, i) {
		n++
	}
	return n
}

func (n *lines) launch() ir.Launch {
	m := n.m
	exchanges := make([]*exchange, len(n.Passes))
	for p := range n.Passes {
		exchanges[p] = n.exchange(&n.Passes[p])
	}
	if n.steps > 0 {
		n.operand = map[int]ir.Var{}
		for i, d := range n.In {
			if n.readers(i) > 1 {
				n.operand[i] = m.Local(numbered("row", i), d.Type, n.steps*n.width)
			}
		}
		for i, d := range n.Keep {
			n.kept = append(n.kept, m.Local(numbered("kept", i), d, n.steps*n.width))
		}
	}
	grid := n.each(func(at rowShare) {
		n.loaded = map[int]bool{}
		r := n.begin(at.row)
		for p := range n.Passes {
			pass := &n.Passes[p]
			r.Before(m.Builder, p)
			s := newSums(m, pass, n.width)
			n.visit(at, pass.Reads, pass.All, func(col *spot, x map[int][]ir.Value, step int) {
				for k := range n.width {
					state, keep := r.Lift(m.Builder, p, n.element(at.row, col, x, n.keptAt(p, step, k), k))
					s.add(k, state)
					n.keep(p, step, k, keep)
				}
			})
			r.Done(m.Builder, p, n.joined(exchanges[p], pass, s))
		}
		last := len(n.Passes)
		r.Before(m.Builder, last)
		n.valid(at, func() {
			n.visit(at, n.Reads, n.All, func(col *spot, x map[int][]ir.Value, step int) {
				y := make([][]ir.Value, len(n.Out))
				for k := range n.width {
					for i, v := range r.Final(m.Builder, n.element(at.row, col, x, n.keptAt(last, step, k), k)) {
						y[i] = append(y[i], v)
					}
				}
				for i, v := range y {
					n.operands[n.out(i)].store(n.wc, n.out(i), n.at(at.row, col), v)
				}
			})
		})
		if len(n.Once) > 0 {
			n.leader(at, func() { n.finish(r, at.row) })
		}
	})
	return m.launch(grid)
}

// valid runs body if the thread has a row.
func (n *lines) valid(at rowShare, body func()) {
	if at.valid == 0 {
		body()
		return
	}
	n.m.If(at.valid, body)
}

// visit calls body for the vectors of a row, with the number of the step and the operands listed in reads, or in all if nothing is kept.
func (n *lines) visit(at rowShare, reads, all []int, body func(col *spot, x map[int][]ir.Value, step int)) {
	if n.steps == 0 {
		n.sweep(at.lane, 0, n.end, n.vectors, func(cols ...*spot) {
			x := n.read(all, at.row, cols)
			for c, col := range cols {
				body(col, x[c], 0)
			}
		})
		return
	}
	now := map[int][][]ir.Value{} // by operand and step: operands that no other pass reads
	var fresh []int               // operands to load before the body; operands that several rows share are in the cache and are left out
	for _, i := range reads {
		if _, several := n.operand[i]; !n.loaded[i] && (several || !n.rows.fixed(n.in(i))) {
			fresh = append(fresh, i)
		}
	}
	whole := n.vectors%n.lanes == 0
	if len(fresh) > 0 {
		for step := range n.steps {
			n.guarded(at, step, func(col *spot) {
				for _, i := range fresh {
					v := n.load(i, at.row, col)
					if l, ok := n.operand[i]; ok {
						n.set(l, step, v)
					} else if whole {
						now[i] = append(now[i], v)
					}
				}
			})
		}
	}
	for step := range n.steps {
		n.guarded(at, step, func(col *spot) {
			x := map[int][]ir.Value{}
			for _, i := range reads {
				switch l, ok := n.operand[i]; {
				case ok:
					x[i] = n.get(l, step)
				case now[i] != nil:
					x[i] = now[i][step]
				default:
					x[i] = n.load(i, at.row, col)
				}
			}
			body(col, x, step)
		})
	}
	for _, i := range fresh {
		if _, ok := n.operand[i]; ok {
			n.loaded[i] = true
		}
	}
}

// guarded runs body for the vector of a step, if the row has such a vector for this thread.
func (n *lines) guarded(at rowShare, step int, body func(col *spot)) {
	j := n.m.plus(at.lane, step*n.lanes)
	if (step+1)*n.lanes <= n.vectors {
		body(n.wc.at(j))
		return
	}
	n.m.If(n.m.Lt(j, n.end), func() { body(n.wc.at(j)) })
}

func (n *lines) set(l ir.Var, step int, v []ir.Value) {
	for k, x := range v {
		n.m.Set(l, n.m.Int(step*n.width+k), x)
	}
}

func (n *lines) get(l ir.Var, step int) []ir.Value {
	v := make([]ir.Value, n.width)
	for k := range v {
		v[k] = n.m.Get(l, n.m.Int(step*n.width+k))
	}
	return v
}

// keptAt returns the values of neighbour k that passes before p kept, or nil if nothing is kept.
func (n *lines) keptAt(p, step, k int) []ir.Value {
	if n.steps == 0 {
		return nil
	}
	v := make([]ir.Value, len(n.kept))
	for i, l := range n.kept {
		if n.From[i] < p {
			v[i] = n.m.Get(l, n.m.Int(step*n.width+k))
		}
	}
	return v
}

// keep stores the values of pass p that later passes read.
func (n *lines) keep(p, step, k int, keep []ir.Value) {
	if n.steps == 0 {
		return
	}
	for i, l := range n.kept {
		if n.From[i] == p {
			n.m.Set(l, n.m.Int(step*n.width+k), keep[0])
			keep = keep[1:]
		}
	}
}
