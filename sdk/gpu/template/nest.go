package template

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// nest is an iteration space as nested loops, outermost first: axes of length 1 are left out, and neighbouring axes are joined
// where all operands are contiguous across them.
type nest struct {
	dims    []int
	strides [][]int // stride by operand and dimension
}

// newNest returns the nest over the given axes of views of one shape, in that order.
func newNest(views []shape.View, axes []int) nest {
	var n nest
	part := make([]shape.View, len(views))
	for o, v := range views {
		part[o] = shape.View{Shape: make(shape.Shape, len(axes)), Strides: make([]int, len(axes))}
		for i, a := range axes {
			part[o].Shape[i], part[o].Strides[i] = v.Shape[a], v.Strides[a]
		}
	}
	for _, v := range shape.Collapse(part...) {
		n.dims, n.strides = v.Shape, append(n.strides, v.Strides)
	}
	return n
}

// lowest returns the offset of the element of v with the lowest address.
func lowest(v shape.View) int {
	first := v.Offset
	for d, s := range v.Strides {
		first += min(0, s*(v.Shape[d]-1))
	}
	return first
}

// reach returns the distance between the first and the last element of v in memory, in elements.
func reach(v shape.View) int {
	far := 0
	for d, s := range v.Strides {
		far += abs(s) * (v.Shape[d] - 1)
	}
	return far
}

// memoryOrder returns the given axes sorted by descending stride of v. Axes along which v has one element keep their places.
func memoryOrder(v shape.View, axes []int) []int {
	var places, sorted []int
	for i, a := range axes {
		if v.Shape[a] != 1 && v.Strides[a] != 0 {
			places, sorted = append(places, i), append(sorted, a)
		}
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(abs(v.Strides[b]), abs(v.Strides[a])) })
	order := slices.Clone(axes)
	for i, p := range places {
		order[p] = sorted[i]
	}
	return order
}

// axesOf returns all axes of a space.
func axesOf(s shape.Shape) []int {
	axes := make([]int, len(s))
	for i := range axes {
		axes[i] = i
	}
	return axes
}

func abs(a int) int { return max(a, -a) }

// size returns the number of elements.
func (n *nest) size() int { return shape.Shape(n.dims).Size() }

// last returns the length of the innermost dimension, or 1 if there is no dimension.
func (n *nest) last() int {
	if len(n.dims) == 0 {
		return 1
	}
	return n.dims[len(n.dims)-1]
}

// step returns the stride of operand o along the innermost dimension, or 0 if there is no dimension.
func (n *nest) step(o int) int {
	if len(n.dims) == 0 {
		return 0
	}
	return n.strides[o][len(n.dims)-1]
}

// rowMajor reports whether operand o is contiguous in the order of the nest.
func (n *nest) rowMajor(o int) bool {
	size := 1
	for d := len(n.dims) - 1; d >= 0; d-- {
		if n.strides[o][d] != size {
			return false
		}
		size *= n.dims[d]
	}
	return true
}

// fixed reports whether operand o has one element for the whole nest.
func (n *nest) fixed(o int) bool {
	return !slices.ContainsFunc(n.strides[o], func(s int) bool { return s != 0 })
}

// aligned reports whether all strides of operand o, except the innermost, are multiples of w elements.
func (n *nest) aligned(o, w int) bool {
	for d := range len(n.dims) - 1 {
		if n.strides[o][d]%w != 0 {
			return false
		}
	}
	return true
}

// walk is a nest in a kernel. The sizes and strides that the kernel needs are parameters. The kernel visits width neighbours at a time;
// width divides the innermost dimension.
type walk struct {
	*nest
	m       *maker
	width   int
	like    []int        // by operand: the first operand with the same strides
	sizes   []ir.Value   // sizes in elements by dimension; no value where the kernel does not need it
	rows    ir.Value     // innermost dimension divided by width
	strides [][]ir.Value // absolute stride by operand and dimension; no value for 0 and 1
}

// newWalk adds the parameters of n to a kernel; their names begin with name.
func newWalk(m *maker, name string, n *nest, width int) *walk {
	w := &walk{nest: n, m: m, width: width, sizes: make([]ir.Value, len(n.dims))}
	last := len(n.dims) - 1
	for d, size := range n.dims {
		if d > 0 && (d < last || width == 1) || n.mirrored(d) {
			w.sizes[d] = m.size(fmt.Sprintf("%sn%d", name, d), size)
		}
	}
	switch {
	case last > 0 && width == 1:
		w.rows = w.sizes[last]
	case last > 0:
		w.rows = m.size(name+"v", n.dims[last]/width)
	}
	for o, s := range n.strides {
		w.like = append(w.like, slices.IndexFunc(n.strides, func(t []int) bool { return slices.Equal(s, t) }))
		w.strides = append(w.strides, make([]ir.Value, len(s)))
		if w.like[o] < o {
			continue
		}
		for d, s := range s {
			if abs(s) > 1 && !n.rowMajor(o) {
				w.strides[o][d] = m.size(fmt.Sprintf("%ss%d_%d", name, o, d), abs(s))
			}
		}
	}
	return w
}

// mirrored reports whether an operand is visited backwards along dimension d.
func (n *nest) mirrored(d int) bool {
	return slices.ContainsFunc(n.strides, func(s []int) bool { return s[d] < 0 })
}

// spot is a position of a walk: a group of width neighbours.
type spot struct {
	w     *walk
	i     ir.Value         // number of the group of neighbours
	c     []ir.Value       // coordinates, the innermost in elements; computed when needed
	where map[int]ir.Value // offsets computed so far, by operand
}

// at returns the spot of group i of the walk.
func (w *walk) at(i ir.Value) *spot { return &spot{w: w, i: i, where: map[int]ir.Value{}} }

// settled computes the offsets of all operands at this point of the kernel, so that nested blocks can use them, and returns p.
func (p *spot) settled() *spot {
	for o := range p.w.nest.strides {
		p.offset(o)
	}
	return p
}

// element returns the number of the spot's first element in the order of the nest.
func (p *spot) element() ir.Value { return p.w.m.times(p.i, p.w.width) }

// times returns v·n.
func (m *maker) times(v ir.Value, n int) ir.Value {
	if n == 1 {
		return v
	}
	return m.Mul(v, m.Int(n))
}

func (p *spot) coordinates() []ir.Value {
	w := p.w
	if p.c != nil || len(w.dims) == 0 {
		return p.c
	}
	p.c = make([]ir.Value, len(w.dims))
	rest := p.i
	for d := len(w.dims) - 1; d > 0; d-- {
		size := w.sizes[d]
		if d == len(w.dims)-1 {
			size = w.rows
		}
		p.c[d] = w.m.Rem(rest, size)
		rest = w.m.Div(rest, size)
	}
	p.c[0] = rest
	last := len(w.dims) - 1
	p.c[last] = w.m.times(p.c[last], w.width)
	return p.c
}

// offset returns the offset of the element of operand o at the spot, relative to its element with the lowest address; 0 if the operand has
// one element for the whole nest.
func (p *spot) offset(o int) ir.Value {
	w, m := p.w, p.w.m
	o = w.like[o]
	if v, ok := p.where[o]; ok {
		return v
	}
	var sum ir.Value
	switch {
	case w.fixed(o):
		sum = m.Int(0)
	case w.rowMajor(o):
		sum = p.element()
	default:
		c := p.coordinates()
		for d, s := range w.nest.strides[o] {
			if s == 0 {
				continue
			}
			at := c[d]
			if s < 0 {
				at = m.Sub(m.Sub(w.sizes[d], m.Int(1)), at)
			}
			if w.strides[o][d] != 0 {
				at = m.Mul(at, w.strides[o][d])
			}
			if sum != 0 {
				at = m.Add(sum, at)
			}
			sum = at
		}
	}
	p.where[o] = sum
	return sum
}

// along returns the offset in operand o that is k elements after offset at along the innermost dimension.
func (w *walk) along(o int, at ir.Value, k int) ir.Value {
	s := w.step(o)
	if s == 0 || k == 0 {
		return at
	}
	by := w.m.Int(k)
	if v := w.strides[w.like[o]][len(w.dims)-1]; v != 0 {
		by = w.m.Mul(by, v)
	}
	if s < 0 {
		return w.m.Sub(at, by)
	}
	return w.m.Add(at, by)
}
