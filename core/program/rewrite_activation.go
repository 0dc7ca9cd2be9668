package program

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// kernel finds the nodes of the given ops that place i depends on through arithmetic. It calls f for each until f returns true, and reports
// whether f did.
func (r *rewriter) kernel(i int, f func(n *op.Node, at int) bool, codes ...op.Code) bool {
	root := r.root(i)
	for _, id := range r.below(root.Outputs[0].ID)[1:] {
		if n, at, ok := r.made(id, codes...); ok && f(n, at) {
			return true
		}
	}
	return false
}

// gated replaces place i, which is a polynomial want in x and in the result of the node at place at, by one op on x. inner
// are the places between x and that node.
func (r *rewriter) gated(i, at int, x op.TensorID, inner []int, want polynomial, c op.Code, attrs ...op.Attr) bool {
	y := r.root(i).Outputs[0]
	p, between := r.readAs(y.ID, x, r.root(at).Outputs[0].ID)
	if !r.is(y.ID, p, want) {
		return false
	}
	return r.single(i, x, append(append(between, inner...), at), c, attrs...)
}

func (r *rewriter) single(i int, x op.TensorID, inner []int, c op.Code, attrs ...op.Attr) bool {
	return r.replace(i, without(inner, i), func(b *op.Builder) op.Desc { return b.Un(c, r.descs[x], attrs...) })
}

// without returns the list without place i and without duplicates.
func without(list []int, i int) []int {
	seen := map[int]bool{i: true}
	var out []int
	for _, k := range list {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// gelu recognizes x/2·(1+erf(x/√2)), or x/2·(1+tanh(√(2/π)·(x+0.044715·x³))), in any order.
func (r *rewriter) gelu(i int) bool {
	k := math.Sqrt(2 / math.Pi)
	return r.kernel(i, func(n *op.Node, at int) bool {
		form, want := "none", polynomial{{1, 0}: math.Sqrt2 / 2}
		if n.Op == op.Tanh {
			form, want = "tanh", polynomial{{1, 0}: k, {3, 0}: k * 0.044715}
		}
		for _, x := range r.below(n.Inputs[0])[1:] {
			p, inner := r.readAs(n.Inputs[0], x, 0)
			if r.is(x, p, want) && r.gated(i, at, x, inner, polynomial{{1, 0}: 0.5, {1, 1}: 0.5}, op.Gelu, op.Str("approximate", form)) {
				return true
			}
		}
		return false
	}, op.Erf, op.Tanh)
}

// silu recognizes x·sigmoid(alpha·x).
func (r *rewriter) silu(i int) bool {
	return r.kernel(i, func(n *op.Node, at int) bool {
		for _, x := range r.below(n.Inputs[0]) {
			p, inner := r.readAs(n.Inputs[0], x, 0)
			alpha, ok := p[power{1, 0}]
			if ok && len(p) == 1 && r.gated(i, at, x, inner, polynomial{{1, 1}: 1}, op.Silu, op.Float("alpha", alpha)) {
				return true
			}
		}
		return false
	}, op.Sigmoid)
}

// logistic matches 1+exp(-x).
func (r *rewriter) logistic(id op.TensorID) (x op.TensorID, inner []int, ok bool) {
	s, a, ok := r.made(id, op.Add)
	if !ok {
		return 0, nil, false
	}
	y, one, ok := r.operands(s)
	if !ok || one != 1 {
		return 0, nil, false
	}
	e, b, ok := r.made(y, op.Exp)
	if !ok {
		return 0, nil, false
	}
	n, c, ok := r.made(e.Inputs[0], op.Neg)
	if !ok {
		return 0, nil, false
	}
	return n.Inputs[0], []int{a, b, c}, true
}

// sigmoid recognizes 1/(1+exp(-x)).
func (r *rewriter) sigmoid(i int) bool {
	n := r.root(i)
	if n.Op == op.Div {
		if v, ok := r.number(n.Inputs[0]); !ok || v != 1 {
			return false
		}
	}
	x, inner, ok := r.logistic(n.Inputs[len(n.Inputs)-1])
	return ok && r.single(i, x, inner, op.Sigmoid)
}

// siluQuotient recognizes x/(1+exp(-x)).
func (r *rewriter) siluQuotient(i int) bool {
	n := r.root(i)
	x, inner, ok := r.logistic(n.Inputs[1])
	return ok && x == n.Inputs[0] && r.single(i, x, inner, op.Silu)
}

// hardSwish recognizes x·clip(x/6+1/2, 0, 1), or x·clip(x+3, 0, 6)/6, or the same on another scale.
func (r *rewriter) hardSwish(i int) bool {
	return r.kernel(i, func(n *op.Node, at int) bool {
		high, shift, slope := 1.0, 0.0, 1.0 // the kernel is slope·a+shift for its operand a, clamped to [0, high]
		switch n.Op {
		case op.HardSigmoid:
			slope, shift = n.Attrs.Float("alpha"), n.Attrs.Float("beta")
		case op.Relu6:
			high = 6
		default:
			if n.Attrs.Value("min").Float() != 0 {
				return false
			}
			high = n.Attrs.Value("max").Float()
		}
		if !(high > 0) || math.IsInf(high, 1) {
			return false
		}
		for _, x := range r.below(n.Inputs[0]) {
			p, inner := r.readAs(n.Inputs[0], x, 0)
			q := times(p, polynomial{{}: slope})
			if shift != 0 {
				q = sum(q, polynomial{{}: shift}, 1)
			}
			if r.is(x, q, polynomial{{1, 0}: high / 6, {}: high / 2}) && r.gated(i, at, x, inner, polynomial{{1, 1}: 1 / high}, op.HardSwish) {
				return true
			}
		}
		return false
	}, op.Clamp, op.HardSigmoid, op.Relu6)
}
