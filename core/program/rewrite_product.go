package program

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// linear recognizes a matrix product plus a row.
func (r *rewriter) linear(i int) bool {
	n := r.root(i)
	for k := range 2 {
		m, at, ok := r.made(n.Inputs[k], op.MatMul)
		if !ok || m.Attrs.Bool("transpose_a") {
			continue
		}
		x, w, row := r.descs[m.Inputs[0]], r.descs[m.Inputs[1]], r.descs[n.Inputs[1-k]]
		width := m.Outputs[0].Shape[len(m.Outputs[0].Shape)-1]
		if len(w.Shape) != 2 || len(row.Shape) == 0 || row.Shape.Size() != width || row.Shape[len(row.Shape)-1] != width {
			continue
		}
		done := r.replace(i, []int{at}, func(b *op.Builder) op.Desc {
			row = b.Reshape(row, shape.Of(width))
			return b.With(op.Linear, []op.Desc{x, w, row}, op.Flag("transpose_w", m.Attrs.Bool("transpose_b")))
		})
		if done {
			return true
		}
	}
	return false
}

// attention recognizes softmax(scale·q·kᵀ)·v, with or without a mask, over the last two axes of tensors of rank 4 or 3. With rank 3, the
// first dimension counts as heads. The scale may be applied to either operand or to the product; k may be transposed by a permutation or by
// the product.
func (r *rewriter) attention(i int) bool {
	n := r.root(i)
	if n.Attrs.Bool("transpose_a") || n.Attrs.Bool("transpose_b") || !n.Outputs[0].DType.IsFloat() {
		return false
	}
	v := r.descs[n.Inputs[1]]
	rank := len(v.Shape)
	soft, at, ok := r.made(n.Inputs[0], op.Softmax)
	if !ok || rank != 3 && rank != 4 || len(soft.Outputs[0].Shape) != rank || soft.Attrs.Int("axis") != rank-1 {
		return false
	}
	inner := []int{at}
	scores, mask := soft.Inputs[0], op.Desc{}
	if under, m, at, ok := r.masked(scores); ok {
		scores, mask, inner = under, r.descs[m], append(inner, at)
	}
	id, scale, through := r.scaled(scores)
	inner = append(inner, through...)
	m, at, ok := r.made(id, op.MatMul)
	if !ok || m.Attrs.Bool("transpose_a") || len(m.Outputs[0].Shape) != rank {
		return false
	}
	inner = append(inner, at)
	qid, c, through := r.scaled(m.Inputs[0])
	q := r.descs[qid]
	scale, inner = scale*c, append(inner, through...)
	kid, c, through := r.scaled(m.Inputs[1])
	scale, inner = scale*c, append(inner, through...)
	k, axes := r.descs[kid], []int(nil)
	if !m.Attrs.Bool("transpose_b") {
		axes = swapped(rank)
		if p, at, ok := r.made(kid, op.Permute); ok && r.private(r.indexOf(m), []int{at}) {
			under, c, through := r.scaled(p.Inputs[0])
			scale, inner, k = scale*c, append(append(inner, through...), at), r.descs[under]
			axes = slices.Clone(p.Attrs.Ints("axes"))
			axes[rank-2], axes[rank-1] = axes[rank-1], axes[rank-2]
		}
	}
	if len(q.Shape) != rank || len(k.Shape) != rank || scale == 0 || !q.Shape[:rank-2].Equal(v.Shape[:rank-2]) {
		return false
	}
	return r.replace(i, without(inner, i), func(b *op.Builder) op.Desc {
		if axes != nil {
			k = b.Permute(k, axes...)
		}
		in := []op.Desc{four(b, q), four(b, k), four(b, v)}
		if mask.ID != 0 {
			in = append(in, mask)
		}
		return b.Reshape(b.With(op.Attention, in, op.Float("scale", scale)), n.Outputs[0].Shape)
	})
}

// indexOf returns the place of a node.
func (r *rewriter) indexOf(n *op.Node) int { return r.place[n.Outputs[0].ID] }

// swapped returns the permutation of the last two axes.
func swapped(rank int) []int {
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	axes[rank-2], axes[rank-1] = axes[rank-1], axes[rank-2]
	return axes
}

// four returns x with leading dimensions of 1 up to rank 4.
func four(b *op.Builder, x op.Desc) op.Desc {
	if len(x.Shape) == 4 {
		return x
	}
	return b.Reshape(x, append(shape.Of(1), x.Shape...))
}

// scaled returns x and factor such that id is factor·x: it follows multiplications and divisions by numbers back to x. inner are their
// places.
func (r *rewriter) scaled(id op.TensorID) (x op.TensorID, factor float64, inner []int) {
	factor = 1
	for {
		n, at, ok := r.made(id, op.Mul, op.Div)
		if !ok {
			return id, factor, inner
		}
		y, v, ok := r.operands(n)
		if !ok || !r.descs[y].SameType(r.descs[id]) || v == 0 {
			return id, factor, inner
		}
		if n.Op == op.Div {
			v = 1 / v
		}
		id, factor, inner = y, factor*v, append(inner, at)
	}
}

// masked matches masked scores: a sum, or a choice between scores and a number that counts as -Inf.
func (r *rewriter) masked(id op.TensorID) (scores, mask op.TensorID, at int, ok bool) {
	n, at, ok := r.made(id, op.Add, op.Where)
	if !ok {
		return 0, 0, 0, false
	}
	product := func(id op.TensorID) bool {
		under, _, _ := r.scaled(id)
		p, _, ok := r.made(under, op.MatMul)
		return ok && p.Outputs[0].SameType(n.Outputs[0])
	}
	if n.Op == op.Where {
		low, ok := r.number(n.Inputs[2])
		ok = ok && low <= -greatest(n.Outputs[0].DType) && product(n.Inputs[1]) && r.shows(n.Inputs[0], n.Outputs[0], 0)
		return n.Inputs[1], n.Inputs[0], at, ok
	}
	for k := range 2 {
		if product(n.Inputs[k]) && r.masks(n.Inputs[1-k], n.Outputs[0]) {
			return n.Inputs[k], n.Inputs[1-k], at, true
		}
	}
	return 0, 0, 0, false
}

// masks reports whether a tensor may be the mask of attention for these scores: it must broadcast to them and, if known, must let every
// query see a key. For a query that sees no key, the op returns 0, but a softmax returns NaN.
func (r *rewriter) masks(id op.TensorID, scores op.Desc) bool {
	d := r.descs[id]
	if d.DType != scores.DType || shape.CanExpand(d.Shape, scores.Shape) != nil {
		return false
	}
	if r.within(id, 0).finite(d.DType) {
		return true
	}
	g := greatest(d.DType)
	return r.shows(id, scores, -g) && !slices.ContainsFunc(r.content(id), func(f float64) bool { return f != f || f > g })
}

// shows reports whether a constant mask that broadcasts to the scores is known and has, for every query, a number that is at least low or,
// for bools, a true element.
func (r *rewriter) shows(id op.TensorID, scores op.Desc, low float64) bool {
	d, v := r.descs[id], r.content(id)
	if len(v) == 0 || len(d.Shape) == 0 || shape.CanExpand(d.Shape, scores.Shape) != nil {
		return false
	}
	seen := func(f float64) bool { return f >= low && (d.DType.IsFloat() || f != 0) }
	for row := range slices.Chunk(v, d.Shape[len(d.Shape)-1]) {
		if !slices.ContainsFunc(row, seen) {
			return false
		}
	}
	return true
}
