package lower

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// movements are the rules of ops that create elements, or copy them from places that a view describes. Operands may be views too.
var movements = map[op.Code]Rule{
	op.RandomBits:   randomBits,
	op.RandomBitsAt: randomBits,
	op.Reshape:      moved(func(n *op.Node, v shape.View) (shape.View, bool) { return v.Reshape(n.Outputs[0].Shape) }),
	op.Permute:      moved(func(n *op.Node, v shape.View) (shape.View, bool) { return v.Permute(n.Attrs.Ints("axes")), true }),
	op.Flip:         moved(func(n *op.Node, v shape.View) (shape.View, bool) { return v.Flip(n.Attrs.Ints("axes")), true }),
	op.Slice: moved(func(n *op.Node, v shape.View) (shape.View, bool) {
		return v.Slice(n.Attrs.Ints("start"), n.Attrs.Ints("step"), n.Outputs[0].Shape), true
	}),
}

// moved returns the rule of an op whose result has the elements of a view of the operand. If there is no such view, the kernel visits the
// operand in its own shape, and accesses the result through a view.
func moved(view func(n *op.Node, v shape.View) (shape.View, bool)) Rule {
	return func(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
		x, y := in[0], out[0]
		if v, ok := view(n, x.View); ok {
			x.View = v
		} else if y.View, ok = y.View.Reshape(x.View.Shape); !ok {
			return ir.Work{}, unsupported(n, "of a view into a view")
		}
		copied := func(_ *ir.Builder, in []ir.Value, _ func(axis int) ir.Value) []ir.Value { return in }
		return template.Elementwise(t, n.Op.String(), x.View.Shape, []template.Operand{x}, []template.Operand{y}, copied), nil
	}
}
