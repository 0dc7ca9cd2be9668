package gpu

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
)

// offered is a group expressed as a problem of a library, with its operands and result in the order of a call's arguments.
type offered struct {
	product     *Product
	convolution *Convolution
	attention   *Attention
	in          []op.TensorID // without bias and residual
	from        []tensor      // places of the tensors in
	bias        op.TensorID   // 0: no bias
	residual    op.TensorID   // 0: no residual
	out         op.Desc
	view        shape.View // view of the result in its buffer
	most        int        // greatest number of nodes after the anchor to offer
	rest        []int      // the nodes after the anchor that the library does not compute
}

// offer returns the problem that libraries may solve for the anchor of x. The epilogue of the problem has at most the given number (most)
// of the nodes after the anchor. offer returns nil if x has no such anchor, or if its operands have a layout that libraries do not accept.
func (b *builder) offer(x *group.Group, most int) *offered {
	if x.Anchor == group.None || len(x.Prologue) > 0 {
		return nil
	}
	n := &b.g.Nodes[x.Anchor]
	for _, id := range n.Inputs {
		if b.at[id].buffer == none {
			return nil
		}
	}
	var o *offered
	switch n.Op {
	case op.MatMul:
		o = b.offerProduct(n, n.Attrs.Bool("transpose_a"), n.Attrs.Bool("transpose_b"))
	case op.Linear:
		o = b.offerProduct(n, false, n.Attrs.Bool("transpose_w"))
	case op.Conv:
		o = b.offerConvolution(n)
	case op.Attention:
		o = b.offerAttention(n)
	}
	if o == nil {
		return nil
	}
	o.out = n.Outputs[0]
	if o.from == nil {
		for _, id := range o.in {
			o.from = append(o.from, b.at[id])
		}
	}
	if o.view.Shape == nil {
		o.view = shape.Contiguous(o.out.Shape)
	}
	if n.Op == op.Linear && len(n.Inputs) > 2 && !b.setBias(o, n.Inputs[2], len(o.out.Shape)-1) {
		return nil
	}
	o.most = most
	b.epilogue(o, x)
	return o
}

// batched joins the batch dimensions of a view into one and returns its stride. ok is false if they cannot be joined.
func batched(v shape.View, batch shape.Shape) (stride int, ok bool) {
	outer := shape.View{Shape: v.Shape[:len(v.Shape)-2], Strides: v.Strides[:len(v.Shape)-2]}.Expand(batch)
	c := shape.Collapse(outer)[0]
	switch len(c.Shape) {
	case 0:
		return 0, true
	case 1:
		return c.Strides[0], true
	}
	return 0, false
}

// matrix returns the last two dimensions of a view as a matrix, exchanged if transposed is set. ok is false unless one of them is
// contiguous and lines do not overlap.
func matrix(v shape.View, transposed bool) (m Matrix, rows, cols int, ok bool) {
	r := len(v.Shape)
	rows, cols = v.Shape[r-2], v.Shape[r-1]
	m.Row, m.Col = v.Strides[r-2], v.Strides[r-1]
	if transposed {
		rows, cols, m.Row, m.Col = cols, rows, m.Col, m.Row
	}
	switch { // the stride of a dimension of one element means nothing
	case cols == 1 && m.Row == 1:
		m.Col = max(rows, 1)
	case cols == 1:
		m.Col = 1
	case rows == 1 && m.Col != 1:
		m.Row = 1
	}
	if rows == 1 && m.Col == 1 {
		m.Row = max(cols, 1)
	}
	switch {
	case m.Col == 1:
		ok = m.Row >= cols
	case m.Row == 1:
		ok = m.Col >= rows
	}
	return m, rows, cols, ok
}

func (b *builder) offerProduct(n *op.Node, transA, transB bool) *offered {
	d := n.Outputs[0]
	if !d.DType.IsFloat() || d.Shape.Size() == 0 {
		return nil
	}
	va, vb := b.at[n.Inputs[0]].view, b.at[n.Inputs[1]].view
	vd := shape.Contiguous(d.Shape)
	if len(va.Shape) == 1 { // linear of a vector
		va = shape.View{Shape: shape.Of(1, va.Shape[0]), Strides: []int{va.Shape[0], va.Strides[0]}}
		vd = shape.Contiguous(shape.Of(1, d.Shape[0]))
	}
	a, m, k, okA := matrix(va, transA)
	w, _, nn, okB := matrix(vb, transB)
	if !okA || !okB || k == 0 {
		return nil
	}
	batch := vd.Shape[:len(vd.Shape)-2]
	p := &Product{Batch: batch.Size(), M: m, N: nn, K: k, A: a, B: w}
	p.D = Matrix{Row: nn, Col: 1, Batch: m * nn}
	p.A.Type, p.B.Type, p.D.Type = d.DType, d.DType, d.DType
	p.TF32 = b.d.options.TF32
	if sb, ok := batched(vb, batch); !ok {
		return nil
	} else if p.B.Batch = sb; sb == 0 && p.Batch > 1 && !transA && va.IsContiguous() && len(va.Shape) == len(vd.Shape) && va.Shape[:len(batch)].Equal(batch) {
		p.M, p.Batch, p.D.Batch = m*p.Batch, 1, 0
		p.A.Row, p.A.Col = k, 1
		if p.K == 1 {
			p.A.Col = 1
		}
	} else if p.A.Batch, ok = batched(va, batch); !ok {
		return nil
	}
	if p.Batch == 1 {
		p.A.Batch, p.B.Batch, p.D.Batch = 0, 0, 0
	}
	return &offered{product: p, in: n.Inputs[:2]}
}

func (b *builder) offerAttention(n *op.Node) *offered {
	q, k, v := b.at[n.Inputs[0]].view, b.at[n.Inputs[1]].view, b.at[n.Inputs[2]].view
	d := n.Outputs[0]
	switch a := n.Attrs; {
	case len(n.Inputs) > 3: // a row without keys is 0 in generated kernels and NaN in libraries
		return nil
	case d.Shape.Size() == 0 || k.Shape[2] == 0 || q.Shape[3] == 0:
		return nil
	case a.Int("past") != 0 || a.Int("window") != 0 || a.Float("softcap") != 0 || !d.DType.IsFloat():
		return nil
	}
	for _, x := range []shape.View{q, k, v} {
		if x.Strides[3] != 1 && x.Shape[3] != 1 || slices.Min(x.Strides) < 0 {
			return nil
		}
	}
	scale := n.Attrs.Float("scale")
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Shape[3]))
	}
	four := func(s []int) [4]int { return [4]int(s) }
	return &offered{in: n.Inputs[:3], attention: &Attention{Type: d.DType, Batch: q.Shape[0], Heads: q.Shape[1], KeyHeads: k.Shape[1], Queries: q.Shape[2],
		Keys: k.Shape[2], Width: q.Shape[3], ValueWidth: v.Shape[3], QStrides: four(q.Strides), KStrides: four(k.Strides), VStrides: four(v.Strides),
		OutStrides: four(d.Shape.Strides()), Scale: scale, Causal: n.Attrs.Bool("causal")}}
}
