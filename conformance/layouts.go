package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// layout describes how a tensor of shape s can be a view of another tensor. view returns the shape of the other tensor and the node that
// creates the view, or false if there is no such view.
type layout struct {
	name string
	view func(s shape.Shape) (base shape.Shape, c op.Code, attrs []op.Attr, ok bool)
}

var layouts = []layout{
	{"permuted", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		base, axes := slices.Clone(s), make([]int, len(s))
		slices.Reverse(base)
		for i := range axes {
			axes[i] = len(s) - 1 - i
		}
		return base, op.Permute, set(op.Ints("axes", axes...)), len(s) > 1
	}},
	{"strided", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		base, start, step := slices.Clone(s), make([]int, len(s)), make([]int, len(s))
		for i := range s {
			base[i], start[i], step[i] = 2*s[i]+1, 1, 2
		}
		return base, op.Slice, set(op.Ints("start", start...), op.Dims("size", s), op.Ints("step", step...)), len(s) > 0
	}},
	{"offset", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		if len(s) == 0 {
			return nil, 0, nil, false
		}
		base, start, step := slices.Clone(s), make([]int, len(s)), slices.Repeat([]int{1}, len(s))
		base[0] += 3
		start[0] = 2
		return base, op.Slice, set(op.Ints("start", start...), op.Dims("size", s), op.Ints("step", step...)), true
	}},
	{"reversed", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		start, step := make([]int, len(s)), slices.Repeat([]int{-1}, len(s))
		for i := range s {
			start[i] = max(0, s[i]-1)
		}
		return s, op.Slice, set(op.Ints("start", start...), op.Dims("size", s), op.Ints("step", step...)), len(s) > 0
	}},
	{"flipped", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		return s, op.Flip, set(op.Ints("axes", len(s)-1)), len(s) > 0
	}},
	{"expanded", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		if len(s) == 0 {
			return nil, 0, nil, false
		}
		base := slices.Clone(s)
		base[0] = 1
		return base, op.Expand, set(op.Dims("shape", s)), true
	}},
	{"expanded-last", func(s shape.Shape) (shape.Shape, op.Code, []op.Attr, bool) {
		if len(s) < 2 {
			return nil, 0, nil, false
		}
		base := slices.Clone(s)
		base[len(s)-1] = 1
		return base, op.Expand, set(op.Dims("shape", s)), true
	}},
}

// layouts returns the cases with operands in other layouts than row-major order: views, one tensor as two operands, and operands
// that the node drops while a view of them lives on.
func (s spec) layouts(id string) []testCase {
	if len(s.in) == 0 || !(dtype.Required | dtype.SetOf(dtype.F64)).Has(s.in[0].DType) {
		return nil
	}
	var cases []testCase
	for _, l := range layouts {
		if s.structured() && !l.keepsMatrices() || s.centred() && l.name == "expanded-last" {
			continue
		}
		for _, drop := range []bool{false, true} {
			id := id + "/" + l.name
			if drop {
				if l.name != "permuted" && l.name != "expanded" && l.name != "offset" {
					continue
				}
				id += "-dropped"
			}
			c := s.testCase(id, func(ctx context.Context, q *queue, s spec, id string) error { return s.viewed(ctx, q, id, l, drop) })
			c.redraws = true
			cases = append(cases, c)
		}
	}
	cases = append(cases, s.testCase(id+"/dropped", func(ctx context.Context, q *queue, s spec, id string) error { return s.dropped(ctx, q, id) }))
	if len(s.in) > 1 && s.in[0].SameType(s.in[1]) && !s.domain(1).Index {
		cases = append(cases, s.testCase(id+"/aliased", func(ctx context.Context, q *queue, s spec, id string) error { return s.aliased(ctx, q, id) }))
	}
	return cases
}

// centred reports whether the op divides the distance from the mean of a row by its deviation. If all elements of the row are equal, the
// quotient is the rounding error of the mean, magnified without bound.
func (s spec) centred() bool {
	return s.op == op.LayerNorm || s.op == op.GroupNorm || s.op == op.CorrCoef
}

// viewed runs the case with every operand as a view. It checks that the tensors behind the views are unchanged afterwards,
// whether or not the node dropped the views.
func (s spec) viewed(ctx context.Context, q *queue, id string, l layout, drop bool) error {
	r := q.random(id)
	var in, bases []ref.Tensor
	var descs, baseDescs []op.Desc
	for i, d := range s.in {
		shape, c, attrs, ok := l.view(d.Shape)
		if !ok {
			t := s.draw(r, i)
			desc, err := q.put(ctx, t)
			if err != nil {
				return err
			}
			in, descs = append(in, t), append(descs, desc)
			continue
		}
		base := s.drawBase(r, i, op.Desc{DType: d.DType, Shape: shape})
		if err := s.embed(r, i, base, c, attrs); err != nil {
			return err
		}
		desc, err := q.put(ctx, base)
		if err != nil {
			return err
		}
		n, err := op.New(c, []op.Desc{desc}, attrs...)
		if err != nil {
			return err
		}
		if err := q.claims(&n, []op.Desc{desc}); err != nil {
			return err
		}
		view, err := ref.Eval(&n, []ref.Tensor{base})
		if err != nil {
			return err
		}
		outs, err := q.submit(n)
		if err != nil {
			return err
		}
		in, descs = append(in, view[0]), append(descs, outs[0])
		bases, baseDescs = append(bases, base), append(baseDescs, desc)
	}
	n, err := s.supported(q, descs)
	if err != nil {
		return err
	}
	if drop {
		n.Drop = 1<<len(descs) - 1
	}
	if err := q.expect(ctx, n, in); err != nil {
		return err
	}
	return q.unchanged(ctx, baseDescs, bases)
}

// dropped lets the node drop its operands while a view of each operand still exists.
func (s spec) dropped(ctx context.Context, q *queue, id string) error {
	in := s.inputs(q.random(id), plain)
	descs, err := q.putAll(ctx, in)
	if err != nil {
		return err
	}
	var views []op.Desc
	for _, d := range descs {
		outs, err := q.do(op.Reshape, []op.Desc{d}, op.Ints("shape", d.Shape.Size()))
		if err != nil {
			return err
		}
		views = append(views, outs[0])
	}
	n, err := s.supported(q, descs)
	if err != nil {
		return err
	}
	n.Drop = 1<<len(descs) - 1
	if err := q.expect(ctx, n, in); err != nil {
		return err
	}
	for i := range in {
		in[i].Desc.Shape = views[i].Shape
	}
	if err := q.unchanged(ctx, views, in); err != nil {
		return err
	}
	for _, d := range descs {
		if err := q.unknown(ctx, d); err != nil {
			return fmt.Errorf("after the drop: %w", err)
		}
	}
	return nil
}

// aliased passes one tensor as both of the first two operands.
func (s spec) aliased(ctx context.Context, q *queue, id string) error {
	in := s.inputs(q.random(id), plain)
	in[0] = in[1] // from the domain of the second operand, which is the narrower one
	descs, err := q.putAll(ctx, in[1:])
	if err != nil {
		return err
	}
	descs = append(descs[:1:1], descs...)
	n, err := s.supported(q, descs)
	if err != nil {
		return err
	}
	if err := q.expect(ctx, n, in); err != nil {
		return err
	}
	return q.unchanged(ctx, descs, in)
}

// unchanged checks that tensors hold what was written.
func (q *queue) unchanged(ctx context.Context, descs []op.Desc, want []ref.Tensor) error {
	for i, d := range descs {
		got, err := q.get(ctx, d)
		if err != nil {
			return fmt.Errorf("read of an operand after the node: %w", err)
		}
		if !slices.Equal(got.Bytes(), want[i].Bytes()) {
			return fmt.Errorf("%v: the node changed an operand or the tensor that it is a view of", d)
		}
	}
	return nil
}

// unknown checks that the device does not know a tensor.
func (q *queue) unknown(ctx context.Context, d op.Desc) error {
	_, err := q.get(ctx, d)
	return wantError(err, core.ErrUnknownTensor)
}
