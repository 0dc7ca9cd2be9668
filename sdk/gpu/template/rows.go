package template

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Rows is a computation on the rows of a space: reductions along Axes, one after the other, and results for each element and for each row.
// A reduction may use the results of earlier reductions. A row consists of the elements that differ only in their place along Axes, in any
// memory layout.
type Rows struct {
	Name  string
	Space shape.Shape
	Axes  []int
	// In are the operands with views of the space. Side are the operands with one element for each row: their views have stride 0
	// along Axes.
	In, Side []Operand
	Passes   []Pass
	// Keep are the types of per-element values that one pass computes and later passes read. From is the pass that computes each value.
	Keep []dtype.DType
	From []int
	// Out are the results with an element for each element of the space, Once the results with one for each row, with views like
	// Side.
	Out, Once []Operand
	// Reads and All are the operands of In that results of Out need, as in Pass.
	Reads, All []int
	// Begin starts a row with its elements of Side.
	Begin func(b *ir.Builder, side []ir.Value) Row
}

// Pass is one reduction, or several at once.
type Pass struct {
	Reads []int         // operands of In that the pass needs if the kept values of earlier passes are available
	All   []int         // operands of In that the pass needs if it must compute those values again
	State []dtype.DType // types of the values of a state
	// Zero returns the state of an empty set of elements. Join joins two states; except for rounding, it is associative and commutative.
	Zero func(b *ir.Builder) []ir.Value
	Join func(b *ir.Builder, x, y []ir.Value) []ir.Value
}

// Row builds the computation for one row. Values that it computes outside of Lift and Final are visible to all later calls.
type Row interface {
	// Before is called before each pass. Pass number len(Passes) means Final.
	Before(b *ir.Builder, pass int)
	// Lift returns the state of one element and the values of this pass to keep.
	Lift(b *ir.Builder, pass int, e Element) (state, keep []ir.Value)
	// Done receives the joined state of a pass.
	Done(b *ir.Builder, pass int, state []ir.Value)
	// Final returns the elements of Out.
	Final(b *ir.Builder, e Element) []ir.Value
	// Finish returns the elements of Once.
	Finish(b *ir.Builder) []ir.Value
}

// Element describes one element: the values of operands that the pass reads, values that earlier passes kept (nil if they have to be
// computed again), and a function that returns its index along an axis of the space.
type Element struct {
	In, Kept []ir.Value
	Index    func(axis int) ir.Value
}

// Rows of at most keptRow elements can be kept in registers, with about keptThread elements in each thread.
const (
	keptRow    = 16 << 10
	keptThread = 16
)

// Reduce returns the work of r.
func Reduce(t Target, r *Rows) ir.Work {
	l := newLayout(t, r)
	switch {
	case l.rows.size() == 0:
		return ir.Work{}
	case l.cols.size() == 0:
		return l.empty()
	case len(r.Out) > 0 || len(r.Passes) > 1:
		return ir.Work{Launches: []ir.Launch{newLines(l).launch()}}
	case l.across:
		return l.column()
	}
	return l.row()
}

// Fits reports whether Reduce is fast for a computation on rows along axes with results for each element. Rows must be short enough to be
// kept in registers, or there must be enough of them for the device. Fits does not examine layouts in memory.
func Fits(t Target, space shape.Shape, axes []int) bool {
	rows, cols := 1, 1
	for a, n := range space {
		if slices.Contains(axes, a) {
			cols *= n
		} else {
			rows *= n
		}
	}
	return cols > 0 && rows > 0 && (cols <= keptRow || rows >= 2*t.Units)
}

// layout holds the two loop nests of a computation: over the rows, and over the elements of one row.
type layout struct {
	*Rows
	t          Target
	all        []Operand // Out, Once, In, Side, with views of the space
	kept       []int     // axes of the space over the rows, in the order of the nest
	reduced    []int     // axes along a row, in the order of the nest
	rows, cols nest
	across     bool // neighbours in memory belong to different rows
	most       int  // number of elements that indices must cover
}

func newLayout(t Target, r *Rows) *layout {
	l := &layout{Rows: r, t: t, most: r.Space.Size()}
	l.all = slices.Concat(r.Out, r.Once, r.In, r.Side)
	views := make([]shape.View, len(l.all))
	for i, d := range l.all {
		views[i] = d.View
		l.most = max(l.most, reach(d.View))
	}
	var kept, reduced []int
	for a := range r.Space {
		if slices.Contains(r.Axes, a) {
			reduced = append(reduced, a)
		} else {
			kept = append(kept, a)
		}
	}
	main := l.main()
	l.kept, l.reduced = memoryOrder(main, kept), memoryOrder(main, reduced)
	l.rows, l.cols = newNest(views, l.kept), newNest(views, l.reduced)
	near := func(axes []int) int {
		least := 1 << 62
		for _, a := range axes {
			if main.Shape[a] > 1 && main.Strides[a] != 0 {
				least = min(least, abs(main.Strides[a]))
			}
		}
		return least
	}
	l.across = near(l.kept) < near(l.reduced)
	return l
}

// main returns the view that determines the order in which memory is walked: the first view of In and Out that is broadcast along the
// fewest axes.
func (l *layout) main() shape.View {
	best, most := l.all[0].View, -1
	for _, d := range slices.Concat(l.In, l.Out) {
		n := 0
		for a, s := range d.View.Strides {
			if s != 0 && d.View.Shape[a] > 1 {
				n++
			}
		}
		if d.Number == nil && n > most {
			best, most = d.View, n
		}
	}
	return best
}

// out and the following methods return the number of an operand in all.
func (l *layout) out(i int) int  { return i }
func (l *layout) once(i int) int { return len(l.Out) + i }
func (l *layout) in(i int) int   { return len(l.Out) + len(l.Once) + i }
func (l *layout) side(i int) int { return len(l.Out) + len(l.Once) + len(l.In) + i }

// width returns the number of neighbours along the innermost dimension of a nest that a thread processes at a time.
func (l *layout) width(inner *nest, nests ...*nest) int {
	w := neighbours(l.t, slices.Concat(l.In, l.Out))
	w = min(w, floorPower(inner.last()))
	for w > 1 && (inner.last()%w != 0 || !l.wideEnough(w, nests)) {
		w /= 2
	}
	return w
}

// wideEnough reports whether the operands that are not broadcast can be accessed with more than one element at a time.
func (l *layout) wideEnough(w int, nests []*nest) bool {
	inner := nests[len(nests)-1]
	for i, d := range l.all {
		if d.Number == nil && inner.step(i) != 0 && accessOf(l.t, d, i, w, nests...).chunk == 1 {
			return false
		}
	}
	return true
}

// bindOperands returns the accesses to all operands of a kernel.
func (l *layout) bindOperands(m *maker, width int, nests ...*nest) []access {
	var all []access
	for i, d := range l.all {
		a := accessOf(l.t, d, i, width, nests...)
		switch {
		case d.Number != nil:
			a.fixed = m.number(numbered("x", i), d)
		case i < l.in(0):
			a.buf = m.buffer(numbered("y", i), d, ir.Write)
		default:
			a.buf = m.buffer(numbered("x", i-l.in(0)), d, ir.Read)
		}
		all = append(all, a)
	}
	return all
}

// index returns a function that computes the coordinates of an element from the number of its row and its number in the row.
func (l *layout) index(m *maker, row, col func() ir.Value) func(axis int) ir.Value {
	return func(axis int) ir.Value {
		axes, i := l.kept, row
		if slices.Contains(l.reduced, axis) {
			axes, i = l.reduced, col
		}
		return coordinate(m, l.Space, axes, axis, i)
	}
}

// coordinate returns the index along axis of element i of a space that consists of the given axes. The last axis changes fastest.
func coordinate(m *maker, s shape.Shape, axes []int, axis int, i func() ir.Value) ir.Value {
	if s[axis] == 1 {
		return m.Int(0)
	}
	at := slices.Index(axes, axis)
	inner, outer := 1, 1
	for _, a := range axes[at+1:] {
		inner *= s[a]
	}
	for _, a := range axes[:at] {
		outer *= s[a]
	}
	v := i()
	if inner > 1 {
		v = m.Div(v, m.Int(inner))
	}
	if outer > 1 {
		v = m.Rem(v, m.Int(s[axis]))
	}
	return v
}

// empty returns the work for rows without elements, which computes only the results with one element for each row.
func (l *layout) empty() ir.Work {
	kept := make(shape.Shape, len(l.Space))
	for a, n := range l.Space {
		kept[a] = n
		if slices.Contains(l.Axes, a) {
			kept[a] = 1
		}
	}
	cut := func(ds []Operand) []Operand {
		out := slices.Clone(ds)
		for i := range out {
			out[i].View.Shape = kept
		}
		return out
	}
	if len(l.Once) == 0 {
		return ir.Work{}
	}
	return Elementwise(l.t, l.Name, kept, cut(l.Side), cut(l.Once), func(b *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value {
		row := l.Begin(b, in)
		for p := range l.Passes {
			row.Before(b, p)
			row.Done(b, p, l.Passes[p].Zero(b))
		}
		row.Before(b, len(l.Passes))
		return row.Finish(b)
	})
}
