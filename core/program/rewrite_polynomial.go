package program

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// power is a monomial x^n · t^m.
type power struct{ x, t int }

// polynomial maps monomials to coefficients; a missing one is zero.
type polynomial map[power]float64

// reading is the state of matching a result with a polynomial in the tensors x and t.
type reading struct {
	r     *rewriter
	x, t  op.TensorID // t may be 0
	inner []int       // the places that were read
	depth int
}

// maxPatternDepth and maxTerms bound the search. Patterns are much smaller.
const (
	maxPatternDepth = 10
	maxTerms        = 8
)

// readAs returns tensor id as a polynomial in x and t, and the places of its intermediate results. It returns nil if id is not such a
// polynomial.
func (r *rewriter) readAs(id, x, t op.TensorID) (polynomial, []int) {
	l := &reading{r: r, x: x, t: t}
	p := l.read(id)
	if p == nil {
		return nil, nil
	}
	return p, l.inner
}

// read returns id as a polynomial. It returns nil if id is not a polynomial, or if a coefficient becomes zero: terms with infinite values
// do not cancel.
func (l *reading) read(id op.TensorID) polynomial {
	switch id {
	case l.x:
		return polynomial{{1, 0}: 1}
	case l.t:
		return polynomial{{0, 1}: 1}
	}
	if v, ok := l.r.number(id); ok {
		if v == 0 {
			return nil
		}
		return polynomial{{}: v}
	}
	n, i := l.r.producer(id)
	if n == nil || l.depth >= maxPatternDepth {
		return nil
	}
	l.depth++
	defer func() { l.depth-- }()
	if !slices.Contains(l.inner, i) {
		l.inner = append(l.inner, i)
	}
	switch n.Op {
	case op.Add:
		return sum(l.read(n.Inputs[0]), l.read(n.Inputs[1]), 1)
	case op.Sub:
		return sum(l.read(n.Inputs[0]), l.read(n.Inputs[1]), -1)
	case op.Mul:
		return times(l.read(n.Inputs[0]), l.read(n.Inputs[1]))
	case op.Neg:
		return times(l.read(n.Inputs[0]), polynomial{{}: -1})
	case op.Square:
		p := l.read(n.Inputs[0])
		return times(p, p)
	case op.Div:
		if v, ok := l.r.number(n.Inputs[1]); ok && v != 0 {
			return times(l.read(n.Inputs[0]), polynomial{{}: 1 / v})
		}
	case op.Pow:
		v, ok := l.r.number(n.Inputs[1])
		if ok && (v == 2 || v == 3) {
			p := l.read(n.Inputs[0])
			q := times(p, p)
			if v == 3 {
				q = times(q, p)
			}
			return q
		}
	}
	return nil
}

func sum(p, q polynomial, sign float64) polynomial {
	if p == nil || q == nil {
		return nil
	}
	s := polynomial{}
	for k, v := range p {
		s[k] = v
	}
	for k, v := range q {
		if s[k] += sign * v; s[k] == 0 {
			return nil
		}
	}
	return s
}

func times(p, q polynomial) polynomial {
	if p == nil || q == nil || len(p)*len(q) > maxTerms {
		return nil
	}
	s := polynomial{}
	for k, v := range p {
		for m, w := range q {
			at := power{k.x + m.x, k.t + m.t}
			if s[at] += v * w; s[at] == 0 {
				return nil
			}
		}
	}
	return s
}

// is reports whether p has the coefficients of want, rounded to the type of id.
func (r *rewriter) is(id op.TensorID, p, want polynomial) bool {
	if p == nil || len(p) != len(want) {
		return false
	}
	for k, w := range want {
		if v, ok := p[k]; !ok || !about(r.descs[id].DType, v, w) {
			return false
		}
	}
	return true
}

// below lists the tensors that id is computed from by arithmetic, beginning with id. It omits known numbers.
func (r *rewriter) below(id op.TensorID) []op.TensorID {
	list := []op.TensorID{id}
	for k := 0; k < len(list) && k < 32; k++ {
		n, _, ok := r.made(list[k], op.Add, op.Sub, op.Mul, op.Div, op.Neg, op.Square, op.Pow)
		if !ok {
			continue
		}
		for _, in := range n.Inputs {
			if _, number := r.number(in); !number && !slices.Contains(list, in) {
				list = append(list, in)
			}
		}
	}
	return list
}
