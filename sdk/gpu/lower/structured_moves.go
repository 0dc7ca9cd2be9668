package lower

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// indexing returns the shape of a gather or scatter along axis of x by indices. x and indices share the first batch dimensions.
func indexing(x, indices shape.Shape, axis, batch int) template.Indexing {
	return template.Indexing{Batch: x[:batch].Size(), Outer: x[batch:axis].Size(), Axis: x[axis], Inner: x[axis+1:].Size(), Count: indices[batch:].Size()}
}

func indexingOf(n *op.Node, in []template.Operand) template.Indexing {
	return indexing(in[0].View.Shape, in[1].View.Shape, n.Attrs.Int("axis"), n.Attrs.Int("batch"))
}

func gather(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	g := indexingOf(n, in)
	if x := in[0].View; !x.IsContiguous() {
		g.Line, _ = gapped(x, n.Attrs.Int("axis"))
	}
	return template.Gather(t, g, -1, in[0], in[1], out[0]), nil
}

// gapped returns the distance between lines of a view; a line consists of the dimensions from an axis on. ok is false unless lines are
// contiguous and all distances are equal.
func gapped(v shape.View, axis int) (line int, ok bool) {
	inner := shape.View{Shape: v.Shape[axis:], Strides: v.Strides[axis:]}
	outer := shape.Collapse(shape.View{Shape: v.Shape[:axis], Strides: v.Strides[:axis]})[0]
	if !inner.IsContiguous() || len(outer.Shape) != 1 {
		return 0, false
	}
	return outer.Strides[0], outer.Strides[0] >= inner.Shape.Size()
}

func embedding(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	g := indexing(in[0].View.Shape, in[1].View.Shape, 0, 0)
	return template.Gather(t, g, n.Attrs.Int("padding"), in[0], in[1], out[0]), nil
}

func gatherElements(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	return template.GatherElements(t, in[0].View.Shape, in[1].View.Shape, n.Attrs.Int("axis"), in[0], in[1], out[0]), nil
}

func scatter(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	g, mode := indexingOf(n, in), n.Attrs.Str("mode")
	if err := places(n, max(g.Count, g.Axis)); err != nil {
		return ir.Work{}, err
	}
	if mode == "assign" {
		return template.Assign(t, g, in[0], in[1], in[2], out[0]), nil
	}
	return template.Scatter(t, g, joins[mode], in[0], in[1], in[2], out[0]), nil
}

// places returns an error unless positions on an axis of the given number of elements fit into 32 bits, which kernels use for positions.
func places(n *op.Node, elements int) error {
	if elements > math.MaxInt32 {
		return fmt.Errorf("%v along %d elements: %w", n.Op, elements, core.ErrUnsupported)
	}
	return nil
}

// joins maps the names in attributes to the ways in which templates combine elements.
var joins = map[string]template.Join{"add": template.JoinAdd, "sum": template.JoinAdd, "mul": template.JoinMul, "max": template.JoinMax, "min": template.JoinMin}

func cacheWrite(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	axis := n.Attrs.Int("axis")
	g := indexing(in[0].View.Shape, in[1].View.Shape, axis, len(in[1].View.Shape))
	g.Count = in[2].View.Shape[axis]
	return template.CacheWrite(t, g, in[0], in[1], in[2], out[0]), nil
}

func concat(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	axis := n.Attrs.Int("axis")
	runs := make([]int, len(in))
	for k, o := range in {
		runs[k] = o.View.Shape[axis:].Size()
	}
	return template.Concat(t, out[0].View.Shape[:axis].Size(), runs, in, out[0]), nil
}

func pad(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	value := number(n.Attrs.Value("value"), n.Outputs[0].DType)
	return template.Pad(t, in[0].View.Shape, n.Attrs.Ints("lo"), n.Attrs.Ints("hi"), value, in[0], out[0]), nil
}
