package template

import (
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Generate returns the work that computes the elements of y, which is contiguous. Each thread computes a group of width elements: body
// returns the elements of group i. The numbers in scalars and the buffers of reads, which are contiguous, become parameters of the kernel
// and are passed to body.
func Generate(t Target, name string, width int, y Operand, reads, scalars []Operand, body func(b *ir.Builder, i ir.Value, scalars []ir.Value, reads []ir.Buf) []ir.Value) ir.Work {
	n := y.View.Shape.Size()
	if n == 0 {
		return ir.Work{}
	}
	m := newMaker(t, name, threads, n)
	buf := m.buffer("y", y, ir.Write)
	var from []ir.Buf
	for i, d := range reads {
		from = append(from, m.buffer(numbered("r", i), d, ir.Read))
	}
	given := make([]ir.Value, len(scalars))
	for i, d := range scalars {
		given[i] = m.number(numbered("x", i), d)
	}
	groups := ceil(n, width)
	count, end := m.size("groups", groups), m.size("elements", n)
	wide := width*y.Type.Size() <= t.Wide && lowest(y.View)%width == 0
	grid := m.blocks(ceil(groups, threads), func(block ir.Value) {
		i := m.Add(m.times(block, threads), m.Thread())
		m.If(m.Lt(i, count), func() {
			v := body(m.Builder, i, given, from)
			at := m.times(i, width)
			each := func() {
				for k, x := range v {
					m.If(m.Lt(m.plus(at, k), end), func() { m.Store(buf, m.plus(at, k), x) })
				}
			}
			switch {
			case !wide:
				each()
			case n%width == 0:
				m.Store(buf, at, v...)
			default:
				m.IfElse(m.Le(m.plus(at, width), end), func() { m.Store(buf, at, v...) }, each)
			}
		})
	})
	return ir.Work{Launches: []ir.Launch{m.launch(grid)}}
}
