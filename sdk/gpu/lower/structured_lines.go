package lower

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// linesOf returns the lines of x along which node n scans.
func linesOf(n *op.Node, x shape.Shape) template.Lines {
	axis := n.Attrs.Int("axis")
	return template.Lines{Outer: x[:axis].Size(), N: x[axis], Inner: x[axis+1:].Size(), Exclusive: n.Attrs.Bool("exclusive"), Reverse: n.Attrs.Bool("reverse")}
}

func scan(how template.Join) Rule {
	return func(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
		return template.Scan(t, linesOf(n, in[0].View.Shape), how, in[0], out[0]), nil
	}
}

func scanIndex(how template.Join) Rule {
	return func(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
		return template.ScanIndex(t, linesOf(n, in[0].View.Shape), how, in[0], out[0]), nil
	}
}

func scanLogSum(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	return template.ScanLogSum(t, linesOf(n, in[0].View.Shape), in[0], out[0]), nil
}

// orderOf returns a sort along the axis that keeps the first keep elements.
func orderOf(n *op.Node, x shape.Shape, keep int, descending string) template.Order {
	l := linesOf(n, x)
	return template.Order{Outer: l.Outer, N: l.N, Inner: l.Inner, Keep: keep, Descending: n.Attrs.Bool(descending)}
}

func sort(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	s := in[0].View.Shape
	length := s[n.Attrs.Int("axis")]
	return template.Sort(t, orderOf(n, s, length, "descending"), in[0], out[0], out[1]), places(n, length)
}

func argSort(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	s := in[0].View.Shape
	length := s[n.Attrs.Int("axis")]
	return template.ArgSort(t, orderOf(n, s, length, "descending"), in[0], out[0]), places(n, length)
}

func topK(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	s := in[0].View.Shape
	return template.Sort(t, orderOf(n, s, n.Attrs.Int("k"), "largest"), in[0], out[0], out[1]), places(n, s[n.Attrs.Int("axis")])
}

func windowReduce(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	a := n.Attrs
	w := template.Windows{In: in[0].View.Shape, Out: out[0].View.Shape, Size: a.Ints("window"), Stride: a.Ints("strides"), Dilation: a.Ints("dilation"),
		Before: a.Ints("pad_lo")}
	var at template.Operand
	if len(out) > 1 {
		at = out[1]
	}
	return template.WindowReduce(t, w, joins[a.Str("reduce")], len(out) > 1, in[0], out[0], at), nil
}

func attention(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	return template.Attend(t, attentionOf(n, in, in[3:]), in, out[0]), nil
}

func attentionGradient(t template.Target, n *op.Node, in, out []template.Operand) (ir.Work, error) {
	return template.AttendBackward(t, attentionOf(n, in, in[5:]), in, out), nil
}

// attentionOf returns an attention of the first three operands. mask has one operand or none.
func attentionOf(n *op.Node, in, mask []template.Operand) template.Attention {
	q, k, v := in[0].View.Shape, in[1].View.Shape, in[2].View.Shape
	a := template.Attention{Batch: q[0], Heads: q[1], KeyHeads: k[1], Queries: q[2], Keys: k[2], Width: q[3], ValueWidth: v[3],
		Scale: n.Attrs.Float("scale"), Softcap: n.Attrs.Float("softcap"), Causal: n.Attrs.Bool("causal"), Past: n.Attrs.Int("past"), Window: n.Attrs.Int("window")}
	if a.Scale == 0 {
		a.Scale = 1 / math.Sqrt(float64(max(1, a.Width)))
	}
	// Positions beyond all queries and keys are equivalent, so numbers can stay small.
	limit := a.Queries + a.Keys + 1
	a.Past = min(max(a.Past, -limit), limit)
	if a.Window > 0 {
		a.Window = min(a.Window, 3*limit)
	}
	for _, m := range mask {
		a.Mask, a.MaskSize = m.Type, m.View.Shape.Size()
		copy(a.MaskStrides[:], shape.Contiguous(m.View.Shape).Expand(shape.Of(q[0], q[1], q[2], k[2])).Strides)
	}
	return a
}
