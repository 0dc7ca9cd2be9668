package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// form is a group being lowered.
type form struct {
	t       template.Target
	g       *group.Graph
	x       *group.Group
	in, out []template.Operand
}

func newForm(t template.Target, g *group.Graph, x *group.Group, in, out []template.Operand) *form {
	f := &form{t: t, g: g, x: x, in: slices.Clone(in), out: slices.Clone(out)}
	for i := range f.in {
		d := &f.in[i]
		d.Slot, d.Type = i, stored(d.Type)
		if bits, ok := Immediate(g, x.Inputs[i]); ok {
			desc := g.Desc(x.Inputs[i])
			*d = template.Operand{Type: stored(desc.DType), Slot: i, Number: &bits,
				View: shape.View{Shape: desc.Shape, Strides: make([]int, len(desc.Shape))}}
		}
	}
	for i := range f.out {
		f.out[i].Slot, f.out[i].Type = len(in)+i, stored(out[i].Type)
	}
	return f
}

// Immediate reports whether every group that reads tensor id accepts it as a number, so that the tensor needs no memory. It returns the
// bits of the number.
func Immediate(g *group.Graph, id op.TensorID) (bits uint64, ok bool) {
	k, made := g.Maker(id)
	if !made || g.Nodes[k].Op != op.Full {
		return 0, false
	}
	for _, u := range g.Users(id) {
		if u == group.Outside || !elementwise(&g.Nodes[u]) && reducers[g.Nodes[u].Op] == nil {
			return 0, false
		}
	}
	n := &g.Nodes[k]
	return number(n.Attrs.Value("value"), n.Outputs[0].DType), true
}

// kernelName returns the name of a kernel: the name of the template and the names of some ops of the group.
func (f *form) kernelName(template string) string {
	name := []string{template}
	for _, k := range f.x.Nodes() {
		if o := f.g.Nodes[k].Op.String(); !slices.Contains(name, o) && len(name) < 5 {
			name = append(name, strings.ReplaceAll(o, ".", "_"))
		}
	}
	return strings.Join(name, "_")
}

// over returns operand i of the group, broadcast to an iteration space.
func (f *form) over(i int, space shape.Shape) template.Operand {
	d := f.in[i]
	d.View = d.View.Expand(space)
	return d
}

// values maps tensors to their elements that a kernel has read or computed so far.
type values map[op.TensorID]ir.Value

// compute adds the results of elementwise nodes to v.
func (f *form) compute(b *ir.Builder, v values, nodes []int, index func(axis int) ir.Value) {
	for _, k := range nodes {
		n := &f.g.Nodes[k]
		if n.Op == op.Iota {
			v[n.Outputs[0].ID] = counted(b, n, index)
			continue
		}
		x, in := make([]ir.Value, len(n.Inputs)), make([]dtype.DType, len(n.Inputs))
		for i, id := range n.Inputs {
			x[i], in[i] = v[id], f.g.Desc(id).DType
		}
		y, err := evaluate(b, n, in, x)
		if err != nil {
			panic(failure{fmt.Errorf("%v: %w", n, err)})
		}
		v[n.Outputs[0].ID] = y
	}
}

// failure is a panic of compute that Group returns as its error.
type failure struct{ error }

// elementwise returns the work of a group whose nodes share one iteration space. The values of full nodes become parameters of the kernel,
// like immediate inputs.
func (f *form) elementwise() (ir.Work, error) {
	space := f.x.Outputs[0].Shape
	var in []template.Operand
	var ids []op.TensorID
	for i, id := range f.x.Inputs {
		in, ids = append(in, f.over(i, space)), append(ids, id)
	}
	var nodes []int
	for _, k := range f.x.Nodes() {
		n := &f.g.Nodes[k]
		if n.Op != op.Full {
			nodes = append(nodes, k)
			continue
		}
		d := n.Outputs[0]
		bits := number(n.Attrs.Value("value"), d.DType)
		in = append(in, template.Operand{Type: stored(d.DType), Number: &bits, View: shape.View{Shape: space, Strides: make([]int, len(space))}})
		ids = append(ids, d.ID)
	}
	body := func(b *ir.Builder, x []ir.Value, index func(axis int) ir.Value) []ir.Value {
		v := values{}
		for i, id := range ids {
			v[id] = x[i]
		}
		f.compute(b, v, nodes, index)
		y := make([]ir.Value, len(f.x.Outputs))
		for i, d := range f.x.Outputs {
			y[i] = v[d.ID]
		}
		return y
	}
	return template.Elementwise(f.t, f.kernelName("elementwise"), space, in, f.out, body), nil
}
