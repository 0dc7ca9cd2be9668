package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Bounds of the search for a minimal node.
const (
	defaultShrinks = 20
	shrinkTime     = 5 * time.Second
	shrinkTries    = 400
)

func (s *session) mayShrink() bool {
	most := s.options.Shrink
	if most == 0 {
		most = defaultShrinks
	}
	return int(s.shrunk.Load()) < most
}

// shrink looks for a small spec on which the case of c also fails: fewer and shorter dimensions first, then plainer attributes, then
// plainer values. It returns c's own node when nothing smaller fails, and nil for cases without a node.
func (s *session) shrink(ctx context.Context, c testCase, failure error) *Minimal {
	if c.spec == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	search := &search{session: s, ctx: ctx, c: c, best: *c.spec, failure: failure}
	if !c.redraws {
		search.fix()
	}
	for again := true; again && !search.over(); {
		again = search.dims() || search.attrs()
	}
	if search.best.fixed != nil {
		search.values()
	}
	return minimalOf(search.best, search.failure)
}

// search is one search: best is the smallest failing spec so far, failure how it fails.
type search struct {
	session *session
	ctx     context.Context
	c       testCase
	best    spec
	failure error
	tries   int
}

func (x *search) over() bool { return x.tries >= shrinkTries || x.ctx.Err() != nil }

// fix stores the values that the case draws in the spec, if the case also fails with these fixed values.
func (x *search) fix() {
	q := &queue{seed: x.session.seed}
	k := plain
	for _, other := range []kind{special, withNaN} {
		if strings.HasSuffix(x.c.id, "/"+string(other)) {
			k = other
		}
	}
	x.try(x.best.with(x.best.inputs(q.random(x.c.id), k)))
}

// try runs the case on a candidate, and keeps it as the best if it is valid and fails.
func (x *search) try(s spec) bool {
	if x.over() {
		return false
	}
	n, err := s.node(s.in)
	if err != nil {
		return false
	}
	if s.fixed != nil {
		if _, err := evaluate(&n, s.fixed); err != nil {
			return false
		}
	}
	x.tries++
	s.variant.grid = false
	c := s.testCase(x.c.id, x.c.body)
	err = x.session.attempt(x.ctx, c)
	var sk skip
	if err == nil || errors.As(err, &sk) || x.ctx.Err() != nil {
		return false
	}
	x.best, x.failure = s, err
	return true
}

// evaluate is like ref.Eval, but returns panics as errors, because candidates may be invalid.
func evaluate(n *op.Node, in []ref.Tensor) (out []ref.Tensor, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("no reference")
		}
	}()
	return ref.Eval(n, in)
}

// place is one dimension of one operand.
type place struct{ operand, axis int }

// dims shortens dimensions: all of the same length together, pairs of them, or single ones. Then it drops leading dimensions of length 1. It
// reports whether a smaller spec fails.
func (x *search) dims() bool {
	shorter := false
	for again := true; again && !x.over(); {
		again = false
		for _, group := range x.groups() {
			size := x.best.in[group[0].operand].Shape[group[0].axis]
			for _, keep := range []struct{ from, n int }{{0, size / 2}, {size - size/2, size / 2}, {0, size - 1}, {1, size - 1}} {
				if keep.n < 1 {
					continue
				}
				if x.try(x.best.cut(group, keep.from, keep.n, true)) || x.try(x.best.cut(group, keep.from, keep.n, false)) {
					again, shorter = true, true
					break
				}
			}
			if again {
				break
			}
		}
	}
	for i := range x.best.in {
		for len(x.best.in[i].Shape) > 0 && x.best.in[i].Shape[0] == 1 && !x.over() {
			if !x.try(x.best.squeezed(i)) {
				break
			}
			shorter = true
		}
	}
	return shorter
}

// groups returns the sets of dimensions to shorten together.
func (x *search) groups() [][]place {
	bySize := map[int][]place{}
	var single [][]place
	for i, d := range x.best.in {
		for a, n := range d.Shape {
			if n > 1 {
				p := place{i, a}
				bySize[n] = append(bySize[n], p)
				single = append(single, []place{p})
			}
		}
	}
	var out [][]place
	for _, g := range bySize {
		if len(g) > 1 {
			out = append(out, g)
			for k := range g { // each pair
				for _, p := range g[k+1:] {
					if len(g) > 2 && p.operand != g[k].operand {
						out = append(out, []place{g[k], p})
					}
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []place) int {
		return x.best.in[b[0].operand].Shape[b[0].axis] - x.best.in[a[0].operand].Shape[a[0].axis]
	})
	return append(out, single...)
}

// cut returns the spec with n elements along each dimension of a group, beginning at an index. attrs means that the old length is also
// replaced in attributes.
func (s spec) cut(group []place, from, n int, attrs bool) spec {
	old := s.in[group[0].operand].Shape[group[0].axis]
	in := slices.Clone(s.in)
	var fixed []ref.Tensor
	if s.fixed != nil {
		fixed = slices.Clone(s.fixed)
	}
	for _, p := range group {
		shp := in[p.operand].Shape.Clone()
		shp[p.axis] = n
		in[p.operand].Shape = shp
		if fixed != nil {
			fixed[p.operand] = sliced(fixed[p.operand], p.axis, from, n)
		}
	}
	s.in, s.fixed = in, fixed
	if attrs {
		s.variant.attrs = slices.Clone(s.variant.attrs)
		for i, a := range s.variant.attrs {
			if a.Value.Kind() == op.KindInts {
				l := slices.Clone(a.Value.Ints())
				for k := range l {
					if l[k] == old {
						l[k] = n
					}
				}
				s.variant.attrs[i] = op.Ints(a.Name, l...)
			}
		}
	}
	return s
}

// squeezed drops the first dimension of an operand, which has length 1.
func (s spec) squeezed(operand int) spec {
	s.in = slices.Clone(s.in)
	s.in[operand].Shape = s.in[operand].Shape[1:]
	if s.fixed != nil {
		s.fixed = slices.Clone(s.fixed)
		s.fixed[operand].Desc.Shape = s.in[operand].Shape
	}
	return s
}

// sliced returns n elements of t along an axis, beginning at the index from.
func sliced(t ref.Tensor, axis, from, n int) ref.Tensor {
	s := t.Desc.Shape
	outer, inner := shape.Shape(s[:axis]).Size(), shape.Shape(s[axis+1:]).Size()
	out := t
	out.Desc.Shape = s.Clone()
	out.Desc.Shape[axis] = n
	out.F, out.I = nil, nil
	for o := range outer {
		lo := (o*s[axis] + from) * inner
		if t.Desc.DType.IsFloat() {
			out.F = append(out.F, t.F[lo:lo+n*inner]...)
		} else {
			out.I = append(out.I, t.I[lo:lo+n*inner]...)
		}
	}
	return out
}

// attrs tries plainer attributes: it omits an attribute, so that it has its default, or sets integers to 0 or 1. It reports whether a
// plainer spec fails.
func (x *search) attrs() bool {
	plainer := false
	for i := len(x.best.variant.attrs) - 1; i >= 0 && !x.over(); i-- {
		without := x.best
		without.variant.attrs = slices.Delete(slices.Clone(x.best.variant.attrs), i, i+1)
		if x.try(without) {
			plainer = true
			continue
		}
		a := x.best.variant.attrs[i]
		for _, b := range plainerAttrs(a) {
			s := x.best
			s.variant.attrs = slices.Clone(x.best.variant.attrs)
			s.variant.attrs[i] = b
			if x.try(s) {
				plainer = true
				break
			}
		}
	}
	return plainer
}

// plainerAttrs returns simpler values for an attribute of integers, the simplest first. It returns none for
// other kinds of attributes.
func plainerAttrs(a op.Attr) []op.Attr {
	var l []op.Attr
	switch a.Value.Kind() {
	case op.KindInts:
		v := a.Value.Ints()
		for _, to := range []int{0, 1} {
			for k := range v {
				if v[k] != to && (to == 0 || v[k] != 0) {
					w := slices.Clone(v)
					w[k] = to
					l = append(l, op.Ints(a.Name, w...))
				}
			}
		}
	case op.KindInt:
		for _, to := range []int64{0, 1} {
			if v := a.Value.Int(); v != to && (to == 0 || v != 0) {
				l = append(l, op.Int(a.Name, int(to)))
			}
		}
	}
	return l
}

// values replaces elements by 1, or indices by 0: all of an operand, or single ones.
func (x *search) values() {
	set := func(operand int, change func(k int) bool) bool {
		s := x.best
		s.fixed = cloneAll(x.best.fixed)
		t := s.fixed[operand]
		changed := false
		for k := range t.Desc.Shape.Size() {
			if !change(k) {
				continue
			}
			if t.Desc.DType.IsFloat() {
				changed = changed || t.F[k] != 1
				t.F[k] = 1
			} else if x.best.domain(operand).Index {
				changed = changed || t.I[k] != 0
				t.I[k] = 0
			} else {
				changed = changed || t.I[k] != 1
				t.I[k] = 1
			}
		}
		return changed && x.try(s)
	}
	for i := range x.best.fixed {
		if set(i, func(int) bool { return true }) {
			continue
		}
		for k := range min(64, x.best.in[i].Shape.Size()) {
			set(i, func(j int) bool { return j == k })
		}
	}
}
