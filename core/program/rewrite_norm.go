package program

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// softmax recognizes e/sum(e) with e = exp(x-max(x)) along one axis.
func (r *rewriter) softmax(i int) bool {
	n := r.root(i)
	s, a, ok := r.made(n.Inputs[1], op.Sum)
	if !ok || s.Inputs[0] != n.Inputs[0] {
		return false
	}
	e, b, ok := r.made(n.Inputs[0], op.Exp)
	if !ok {
		return false
	}
	d, c, ok := r.made(e.Inputs[0], op.Sub)
	if !ok {
		return false
	}
	m, f, ok := r.made(d.Inputs[1], op.ReduceMax)
	axes := s.Attrs.Ints("axes")
	if !ok || m.Inputs[0] != d.Inputs[0] || len(axes) != 1 || !slices.Equal(axes, m.Attrs.Ints("axes")) ||
		!s.Attrs.Bool("keep_dims") || !m.Attrs.Bool("keep_dims") {
		return false
	}
	return r.single(i, d.Inputs[0], []int{a, b, c, f}, op.Softmax, op.Int("axis", axes[0]))
}

// tail returns the first reduced axis of reduction n of x, if n reduces all axes from there on, and keeps them.
func (r *rewriter) tail(n *op.Node, x op.TensorID) (axis int, ok bool) {
	axes := slices.Sorted(slices.Values(n.Attrs.Ints("axes")))
	rank := len(r.descs[x].Shape)
	if len(axes) == 0 || len(axes) > rank || !n.Attrs.Bool("keep_dims") {
		return 0, false
	}
	for k, a := range axes {
		if a != rank-len(axes)+k {
			return 0, false
		}
	}
	return axes[0], true
}

// mean matches the mean of some x over its last axes: the op, or a sum and a division.
func (r *rewriter) mean(id op.TensorID) (x op.TensorID, axis int, inner []int, ok bool) {
	n, i := r.producer(id)
	if n == nil {
		return 0, 0, nil, false
	}
	if n.Op == op.Mean {
		axis, ok = r.tail(n, n.Inputs[0])
		return n.Inputs[0], axis, []int{i}, ok
	}
	if n.Op != op.Div && n.Op != op.Mul {
		return 0, 0, nil, false
	}
	y, v, ok := r.operands(n)
	if !ok {
		return 0, 0, nil, false
	}
	s, k, ok := r.made(y, op.Sum)
	if !ok {
		return 0, 0, nil, false
	}
	x = s.Inputs[0]
	if axis, ok = r.tail(s, x); !ok {
		return 0, 0, nil, false
	}
	count := float64(r.descs[x].Shape[axis:].Size())
	if n.Op == op.Mul {
		ok = about(r.descs[x].DType, v*count, 1)
	} else {
		ok = v == count
	}
	return x, axis, []int{i, k}, ok
}

// square matches x·x.
func (r *rewriter) square(id op.TensorID) (x op.TensorID, at int, ok bool) {
	n, i := r.producer(id)
	if n == nil {
		return 0, 0, false
	}
	switch n.Op {
	case op.Square:
		return n.Inputs[0], i, true
	case op.Mul:
		return n.Inputs[0], i, n.Inputs[0] == n.Inputs[1]
	case op.Pow:
		v, ok := r.number(n.Inputs[1])
		return n.Inputs[0], i, ok && v == 2 && r.descs[id].SameType(r.descs[n.Inputs[0]])
	}
	return 0, 0, false
}

// overRoot matches x/√(v+epsilon) at place i, in several forms.
func (r *rewriter) overRoot(i int) []quotient {
	n := r.root(i)
	if n.Op == op.Div {
		if v, epsilon, inner, ok := r.rooted(n.Inputs[1], false); ok {
			return []quotient{{n.Inputs[0], v, epsilon, inner}}
		}
		return nil
	}
	var list []quotient
	for k := range 2 {
		if v, epsilon, inner, ok := r.rooted(n.Inputs[1-k], true); ok {
			list = append(list, quotient{n.Inputs[k], v, epsilon, inner})
		}
	}
	return list
}

type quotient struct {
	x, v    op.TensorID
	epsilon float64
	inner   []int
}

// rooted matches √(v+epsilon), or its inverse.
func (r *rewriter) rooted(id op.TensorID, inverse bool) (v op.TensorID, epsilon float64, inner []int, ok bool) {
	n, i := r.producer(id)
	if n == nil {
		return 0, 0, nil, false
	}
	within := n.Inputs
	switch {
	case inverse && n.Op == op.Rsqrt, !inverse && n.Op == op.Sqrt:
	case n.Op == op.Pow:
		want := 0.5
		if inverse {
			want = -0.5
		}
		if e, ok := r.number(n.Inputs[1]); !ok || e != want || !r.descs[id].SameType(r.descs[n.Inputs[0]]) {
			return 0, 0, nil, false
		}
	case inverse && n.Op == op.Reciprocal:
		v, epsilon, inner, ok = r.rooted(n.Inputs[0], false)
		return v, epsilon, append(inner, i), ok
	case inverse && n.Op == op.Div:
		if one, ok := r.number(n.Inputs[0]); !ok || one != 1 {
			return 0, 0, nil, false
		}
		v, epsilon, inner, ok = r.rooted(n.Inputs[1], false)
		return v, epsilon, append(inner, i), ok
	default:
		return 0, 0, nil, false
	}
	s, k, ok := r.made(within[0], op.Add)
	if !ok {
		return 0, 0, nil, false
	}
	v, epsilon, ok = r.operands(s)
	return v, epsilon, []int{i, k}, ok && epsilon >= 0
}

// layerNorm recognizes (x-mean)/√(variance+epsilon) over the last axes.
func (r *rewriter) layerNorm(i int) bool {
	for _, q := range r.overRoot(i) {
		x, mean, at, ok := r.centred(q.x)
		if !ok {
			continue
		}
		of, axis, inner, ok := r.mean(mean)
		if !ok || of != x {
			continue
		}
		inner = append(append(inner, q.inner...), at)
		spread, ok := r.spread(q.v, x, axis)
		if !ok {
			continue
		}
		if r.single(i, x, append(inner, spread...), op.LayerNorm, op.Int("axis", axis), op.Float("epsilon", q.epsilon)) {
			return true
		}
	}
	return false
}

// centred matches x-mean.
func (r *rewriter) centred(id op.TensorID) (x, mean op.TensorID, at int, ok bool) {
	n, at, ok := r.made(id, op.Sub)
	if !ok {
		return 0, 0, 0, false
	}
	return n.Inputs[0], n.Inputs[1], at, true
}

// spread matches the variance of x over axis and all later axes.
func (r *rewriter) spread(id, x op.TensorID, axis int) (inner []int, ok bool) {
	if n, at, ok := r.made(id, op.Variance); ok {
		a, ok := r.tail(n, x)
		return []int{at}, ok && n.Inputs[0] == x && a == axis && n.Attrs.Float("correction") == 0
	}
	sq, a, inner, ok := r.mean(id)
	if !ok || a != axis {
		return nil, false
	}
	d, at, ok := r.square(sq)
	if !ok {
		return nil, false
	}
	y, mean, sub, ok := r.centred(d)
	if !ok || y != x {
		return nil, false
	}
	of, a, more, ok := r.mean(mean)
	if !ok || of != x || a != axis {
		return nil, false
	}
	return append(append(inner, more...), at, sub), true
}

// rmsNorm recognizes x/√(mean(x²)+epsilon) over the last axes.
func (r *rewriter) rmsNorm(i int) bool {
	for _, q := range r.overRoot(i) {
		sq, axis, inner, ok := r.mean(q.v)
		if !ok {
			continue
		}
		x, at, ok := r.square(sq)
		if !ok || x != q.x {
			continue
		}
		if r.single(i, x, append(append(inner, q.inner...), at), op.RMSNorm, op.Int("axis", axis), op.Float("epsilon", q.epsilon)) {
			return true
		}
	}
	return false
}

// normScale merges a factor into the norm before it.
func (r *rewriter) normScale(i int) bool { return r.widenNorm(i, 1, op.LayerNorm, op.RMSNorm) }

// normBias merges a summand into the norm before it.
func (r *rewriter) normBias(i int) bool { return r.widenNorm(i, 2, op.LayerNorm) }

// widenNorm appends the other operand of place i to the operands of the norm that computes one operand, if the norm is of one of the given
// ops and has the given number of operands.
func (r *rewriter) widenNorm(i, operands int, codes ...op.Code) bool {
	n := r.root(i)
	for k := range 2 {
		m, at, ok := r.made(n.Inputs[k], codes...)
		if !ok || len(m.Inputs) != operands {
			continue
		}
		x, w := r.descs[m.Inputs[0]], r.descs[n.Inputs[1-k]]
		axis := m.Attrs.Int("axis")
		cut := len(w.Shape) - (len(x.Shape) - axis) // leading dimensions of 1 that the op does not accept
		if cut > 0 && w.Shape[:cut].Size() != 1 {
			continue
		}
		in := make([]op.Desc, 0, 3)
		for _, id := range m.Inputs {
			in = append(in, r.descs[id])
		}
		done := r.replace(i, []int{at}, func(b *op.Builder) op.Desc {
			if cut > 0 {
				w = b.Reshape(w, w.Shape[cut:])
			}
			return b.With(m.Op, append(in, w), m.Attrs...)
		})
		if done {
			return true
		}
	}
	return false
}
