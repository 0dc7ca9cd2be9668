package lower

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// maxPlaces is the greatest number of spatial dimensions of a convolution for which there is a kernel.
const maxPlaces = 3

// contractions are the ops whose kernels have an epilogue.
var contractions = map[op.Code]func(f *form, n *op.Node, e epilogue) (ir.Work, error){
	op.MatMul: matmul,
	op.Linear: linear,
	op.Conv:   convolution,
}

func init() {
	for c, rule := range contractions {
		rules[c] = func(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
			f, e := &form{t: t, in: in, out: out}, epilogue{a: 0, b: 1}
			if biased(n) {
				e.extra = []template.Operand{f.over(2, n.Outputs[0].Shape)}
			}
			return rule(f, n, e)
		}
	}
}

// epilogue is the computation that the kernel of a product or convolution applies to its sums.
type epilogue struct {
	a, b  int // the inputs of the group that are the factors
	extra []template.Operand
	body  template.Body
	// order is, for each slot of the template, the slot of the group.
	order []int
}

// productGroup returns the work of a product or convolution with its epilogue.
func productGroup(t template.Target, g *group.Graph, x *group.Group, in, out []template.Operand) (ir.Work, error) {
	f := newForm(t, g, x, in, out)
	n := &g.Nodes[x.Anchor]
	rule := contractions[n.Op]
	if rule == nil {
		return ir.Work{}, unsupported(n, "has no kernel")
	}
	e := epilogue{a: slices.Index(x.Inputs, n.Inputs[0]), b: slices.Index(x.Inputs, n.Inputs[1])}
	e.order = []int{e.a, e.b}
	space := n.Outputs[0].Shape
	var ids []op.TensorID
	numbers := map[op.TensorID]uint64{}
	if biased(n) {
		i := slices.Index(x.Inputs, n.Inputs[2])
		e.extra, e.order = append(e.extra, f.over(i, space)), append(e.order, i)
	}
	first := 1 + len(e.extra)
	for i, id := range x.Inputs {
		switch {
		case !usedBy(g, x.Epilogue, id):
		case f.in[i].Number != nil:
			numbers[id] = *f.in[i].Number
		default:
			e.extra, ids, e.order = append(e.extra, f.over(i, space)), append(ids, id), append(e.order, i)
		}
	}
	for i := range f.out {
		e.order = append(e.order, len(in)+i)
	}
	e.body = func(b *ir.Builder, y []ir.Value, index func(axis int) ir.Value) []ir.Value {
		v := values{n.Outputs[0].ID: sumOf(b, n, y)}
		for i, id := range ids {
			v[id] = y[first+i]
		}
		for id, bits := range numbers {
			v[id] = b.Const(stored(g.Desc(id).DType), bits)
		}
		f.compute(b, v, x.Epilogue, index)
		results := make([]ir.Value, len(x.Outputs))
		for i, d := range x.Outputs {
			results[i] = v[d.ID]
		}
		return results
	}
	w, err := rule(f, n, e)
	if err != nil {
		return ir.Work{}, err
	}
	renumber(&w, e.order, len(in)+len(out))
	return w, nil
}

// renumber replaces the slots in the arguments of launches by slots of the group: slot i of the template becomes order[i], and temporaries
// follow the group's slots.
func renumber(w *ir.Work, order []int, slots int) {
	for l := range w.Launches {
		for a := range w.Launches[l].Args {
			arg := &w.Launches[l].Args[a]
			switch {
			case !w.Launches[l].Kernel.Params[a].IsBuffer():
			case arg.Slot < len(order):
				arg.Slot = order[arg.Slot]
			default:
				arg.Slot += slots - len(order)
			}
		}
	}
}

func usedBy(g *group.Graph, nodes []int, id op.TensorID) bool {
	return slices.ContainsFunc(nodes, func(k int) bool { return slices.Contains(g.Nodes[k].Inputs, id) })
}

// matmul returns the work of a product of matrices.
func matmul(f *form, n *op.Node, e epilogue) (ir.Work, error) {
	a, b := f.in[e.a], f.in[e.b]
	if n.Attrs.Bool("transpose_a") {
		a.View = turned(a.View)
	}
	if n.Attrs.Bool("transpose_b") {
		b.View = turned(b.View)
	}
	y := n.Outputs[0].Shape
	r := len(y)
	batch := y[:r-2]
	k := a.View.Shape[len(a.View.Shape)-1]
	a.View = a.View.Expand(append(slices.Clone(batch), y[r-2], k))
	b.View = b.View.Expand(append(slices.Clone(batch), k, y[r-1]))
	return template.Product{Batch: batch, M: y[r-2], N: y[r-1], K: k, A: a, B: b, Compute: compute(n.Outputs[0].DType),
		Extra: e.extra, Out: f.out, Body: bodyOf(e, n)}.Build(f.t)
}

// biased reports whether node n is a linear layer with a bias. The bias is the first operand of the kernel after the factors.
func biased(n *op.Node) bool { return n.Op == op.Linear && len(n.Inputs) > 2 }

// sumOf returns an element of the result of node n: y[0], the sum of products, plus the bias y[1] if n has a bias, rounded to the type of
// the result.
func sumOf(b *ir.Builder, n *op.Node, y []ir.Value) ir.Value {
	d := n.Outputs[0].DType
	if !biased(n) {
		return narrow(b, d, y[0])
	}
	return narrow(b, d, b.Add(y[0], b.Cast(compute(d), y[1])))
}

// linear returns the work of a linear layer: a product of matrices whose epilogue adds the bias.
func linear(f *form, n *op.Node, e epilogue) (ir.Work, error) {
	a, b := f.in[e.a], f.in[e.b]
	if n.Attrs.Bool("transpose_w") {
		b.View = turned(b.View)
	}
	y := n.Outputs[0].Shape
	r := len(y)
	batch := y[:r-2]
	b.View = b.View.Expand(append(slices.Clone(batch), b.View.Shape...))
	return template.Product{Batch: batch, M: y[r-2], N: y[r-1], K: b.View.Shape[r-2], A: a, B: b, Compute: compute(n.Outputs[0].DType),
		Extra: e.extra, Out: f.out, Body: bodyOf(e, n)}.Build(f.t)
}

// turned swaps the last two dimensions of v.
func turned(v shape.View) shape.View {
	axes := make([]int, len(v.Shape))
	for i := range axes {
		axes[i] = i
	}
	r := len(axes)
	axes[r-2], axes[r-1] = r-1, r-2
	return v.Permute(axes)
}

// convolution returns the work of a convolution.
func convolution(f *form, n *op.Node, e epilogue) (ir.Work, error) {
	if places := len(n.Outputs[0].Shape) - 2; places > maxPlaces {
		return ir.Work{}, unsupported(n, fmt.Sprintf("has kernels for up to %d dimensions of places", maxPlaces))
	}
	v := convolutionOf(n, f.in[e.a], f.in[e.b])
	v.Extra, v.Out, v.Body = e.extra, f.out, bodyOf(e, n)
	return v.Build(f.t)
}

// convolutionOf returns the convolution of a node without its results.
func convolutionOf(n *op.Node, x, w template.Operand) template.Convolution {
	return template.Convolution{X: x, W: w, Stride: n.Attrs.Ints("strides"), Pad: n.Attrs.Ints("pad_lo"), Dilation: n.Attrs.Ints("kernel_dilation"),
		InputDilation: n.Attrs.Ints("input_dilation"), Groups: n.Attrs.Int("groups"), Compute: compute(n.Outputs[0].DType)}
}

// Direct reports whether node k is a convolution of f32 for which generated kernels are faster than libraries. image and filter are the
// views of its operands.
func Direct(t template.Target, g *group.Graph, k int, image, filter shape.View) bool {
	n := &g.Nodes[k]
	d := n.Outputs[0]
	if n.Op != op.Conv || d.DType != dtype.F32 || len(d.Shape) != 4 || d.Shape.Size() == 0 {
		return false
	}
	v := convolutionOf(n, template.Operand{Type: d.DType, View: image}, template.Operand{Type: d.DType, View: filter})
	v.Out = []template.Operand{{Type: d.DType, View: shape.Contiguous(d.Shape)}}
	return v.Direct(t)
}

// bodyOf returns the body of e, or a body that rounds the sum to the type of the node's result.
func bodyOf(e epilogue, n *op.Node) template.Body {
	if e.body != nil {
		return e.body
	}
	return func(b *ir.Builder, y []ir.Value, _ func(axis int) ir.Value) []ir.Value {
		return []ir.Value{sumOf(b, n, y)}
	}
}

// acceptProduct reports whether productGroup can lower x. All nodes after the product must have results of its shape.
func acceptProduct(t template.Target, g *group.Graph, x *group.Group) bool {
	n := &g.Nodes[x.Anchor]
	if contractions[n.Op] == nil || len(x.Prologue) > 0 || Supports(t, n, g.In(n)) != nil || len(n.Outputs[0].Shape) > maxPlaces+2 && n.Op == op.Conv {
		return false
	}
	space := n.Outputs[0].Shape
	return !slices.ContainsFunc(x.Epilogue, func(k int) bool { return !g.Nodes[k].Outputs[0].Shape.Equal(space) || g.Nodes[k].Op == op.Full })
}
