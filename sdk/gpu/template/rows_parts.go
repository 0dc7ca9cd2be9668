package template

import (
	"slices"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// without returns the nest without count operands from operand o on.
func (n *nest) without(o, count int) nest {
	return nest{dims: n.dims, strides: slices.Delete(slices.Clone(n.strides), o, o+count)}
}

// temporaries returns operands in new slots for n states of a pass, one operand for each value of a state.
func (l *layout) temporaries(n int, p *Pass) []Operand {
	slots := 0
	for _, d := range l.all {
		slots = max(slots, d.Slot+1)
	}
	out := make([]Operand, len(p.State))
	for i, d := range p.State {
		out[i] = Operand{Type: d, View: shape.Contiguous(shape.Shape{n}), Slot: slots + i}
	}
	return out
}

// joinParts adds the launch that joins the states of the parts of rows. The launches of w write these states to temps: states of
// neighbouring rows are ofRow apart, and states of neighbouring parts of a row are ofPart apart, both in elements.
func (l *layout) joinParts(w ir.Work, temps []Operand, parts, ofRow, ofPart int) ir.Work {
	space := make(shape.Shape, len(l.Space), len(l.Space)+1)
	strides := make([]int, len(l.Space), len(l.Space)+1)
	for a := range space {
		space[a] = 1
	}
	for i := len(l.kept) - 1; i >= 0; i-- {
		a := l.kept[i]
		space[a], strides[a] = l.Space[a], ofRow
		ofRow *= space[a]
	}
	space, strides = append(space, parts), append(strides, ofPart)
	longer := func(ds []Operand) []Operand {
		out := slices.Clone(ds)
		for i := range out {
			v := &out[i].View
			*v = shape.View{Shape: space, Strides: append(slices.Clone(v.Strides), 0), Offset: v.Offset}
		}
		return out
	}
	p := l.Passes[0]
	r := Rows{Name: l.Name + "_join", Space: space, Axes: []int{len(space) - 1}, Side: longer(l.Side), Once: longer(l.Once)}
	p.Reads, p.All = nil, nil
	for i, d := range temps {
		w.Temps = append(w.Temps, int64(max(16, d.View.Shape.Size()*d.Type.Size())))
		d.View = shape.View{Shape: space, Strides: strides}
		r.In = append(r.In, d)
		p.Reads, p.All = append(p.Reads, i), append(p.All, i)
	}
	r.Passes = []Pass{p}
	begin := l.Begin
	r.Begin = func(b *ir.Builder, side []ir.Value) Row { return joining{begin(b, side)} }
	for _, d := range r.Side { // reduced axes have one element here
		for _, a := range l.Axes {
			d.View.Strides[a] = 0
		}
	}
	join := Reduce(l.t, &r) // which may be split into parts again
	w.Launches, w.Temps = append(w.Launches, join.Launches...), append(w.Temps, join.Temps...)
	return w
}

// joining is a Row whose elements are the states of the parts of a row.
type joining struct{ Row }

// Lift implements Row.
func (joining) Lift(_ *ir.Builder, _ int, e Element) (state, keep []ir.Value) { return e.In, nil }
