package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/autodiff"
)

// gradientTypes are the types that gradients are tested in.
var gradientTypes = dtype.SetOf(dtype.F64, dtype.F32, dtype.F16, dtype.BF16)

// maxElements bounds the elements of all operands of a gradient case, because each checked element takes several runs of the reference.
const maxElements = 2048

// gradients returns the cases that compare the gradient of a spec's node, computed by decorators/autodiff on the backend, with
// finite differences of the reference in f64.
func (s spec) gradients(id string, isMain bool) []testCase {
	how, _ := autodiff.Gradient(s.op)
	if how == "none" || len(s.in) == 0 || !gradientTypes.Has(s.in[0].DType) && s.op != op.Where || !s.smooth() {
		return nil
	}
	size := 0
	for _, d := range s.in {
		size += d.Shape.Size()
	}
	n, err := s.node(s.in)
	if err != nil || size > maxElements || size == 0 || !differentiable(s.in) || !differentiable(n.Outputs[:1]) && !differentiable(n.Outputs) {
		return nil
	}
	if !isMain && s.in[0].DType != dtype.F64 && s.in[0].DType != dtype.F32 {
		return nil
	}
	c := s.testCase(id+"/gradient", gradient(false))
	c.training = true
	cases := []testCase{c}
	if isMain && len(s.in[0].Shape) > 1 {
		c = s.testCase(id+"/gradient-strided", gradient(true))
		c.training = true
		cases = append(cases, c)
	}
	return cases
}

func differentiable(ds []op.Desc) bool {
	return slices.ContainsFunc(ds, func(d op.Desc) bool { return gradientTypes.Has(d.DType) })
}

// smooth reports whether finite differences are meaningful. They are not if results are rounded to another type.
func (s spec) smooth() bool {
	for _, a := range s.variant.attrs {
		if a.Name == "body" && (strings.Contains(a.Value.Str(), "cast") || strings.Contains(s.variant.name, "half")) {
			return false
		}
	}
	if s.op == op.FakeQuantize {
		return false // its gradient is a straight-through estimate, not the derivative, which is zero
	}
	for _, a := range s.variant.attrs {
		if a.Name == "dtype" && s.op == op.Cast && a.Value.DType() != dtype.F64 {
			return false
		}
	}
	return true
}

// gradient returns the body of a gradient case. If strided, the first operand is a view of a transposed tensor.
func gradient(strided bool) body {
	return func(ctx context.Context, q *queue, s spec, id string) error {
		r := q.random(id)
		in := s.inputs(r, plain)
		t, g, err := q.differentiating(ctx)
		if err != nil {
			return err
		}
		defer func() { _, _ = t.Close(), t.dev.Close() }() // the case has already reported their errors
		var descs []op.Desc
		var wanted []op.TensorID
		for i, x := range in {
			d, err := t.operand(ctx, x, strided && i == 0)
			if err != nil {
				return err
			}
			descs = append(descs, d)
			if gradientTypes.Has(d.DType) {
				wanted = append(wanted, d.ID)
			}
		}
		if err := g.Track(wanted); err != nil {
			return err
		}
		n, err := s.node(descs)
		if err != nil {
			return err
		}
		for i := range n.Outputs {
			n.Outputs[i].ID = t.id()
		}
		nodes, _, err := program.LowerNode(core.TargetOf("autodiff", t.dev), &n, descs, t.id)
		if err != nil {
			return skip{fmt.Sprintf("not supported: %v", err)}
		}
		if err := t.Submit(nodes, nil); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
		var roots, seeds []op.Desc
		weights := make([]ref.Tensor, len(n.Outputs))
		for i, d := range n.Outputs {
			if !g.Tracked(d.ID) {
				continue
			}
			weights[i] = fill(r, d, op.Domain{Lo: -1, Hi: 1}, false)
			c, err := t.put(ctx, weights[i])
			if err != nil {
				return err
			}
			roots, seeds = append(roots, d), append(seeds, c)
		}
		if len(roots) == 0 {
			return moot{skip{"no result depends on an operand of a float type"}}
		}
		grads, err := g.Backward(t.Stream, roots, seeds, wanted)
		if missing := (*program.MissingError)(nil); errors.As(err, &missing) {
			return skip{fmt.Sprintf("the gradient needs %s, which is not claimed", missing.Op)}
		}
		if err != nil {
			return fmt.Errorf("backward: %w", err)
		}
		k := 0
		for i, x := range in {
			if !gradientTypes.Has(x.Desc.DType) {
				continue
			}
			got := ref.Zeros(x.Desc) // stays zero if no result depends on the operand
			if d := grads[k].Desc; d.ID != 0 {
				var err error
				if got, err = t.get(ctx, d); err != nil {
					return fmt.Errorf("read of the gradient of operand %d: %w", i, err)
				}
			}
			k++
			if err := s.differences(ctx, in, i, weights, got, r.IntN); err != nil {
				return err
			}
		}
		return t.sync(ctx)
	}
}

// differentiating returns a stream of the same device behind decorators/autodiff.
func (q *queue) differentiating(ctx context.Context) (*queue, core.Gradients, error) {
	t := *q
	t.backend = autodiff.Wrap(opened{q.backend, q.dev})
	var err error
	if t.dev, err = t.backend.Open(ctx, q.options.Device); err != nil {
		return nil, nil, fmt.Errorf("open behind autodiff: %w", err)
	}
	g, ok := core.Extension[core.Gradients](t.dev)
	if !ok {
		return nil, nil, errors.New("autodiff does not claim gradients")
	}
	s, err := t.another(ctx)
	return s, g, err
}

// opened is a backend whose only device is already open, and remains open after Close.
type opened struct {
	core.Backend
	device core.Device
}

func (o opened) Open(context.Context, int) (core.Device, error) { return kept{o.device}, nil }

type kept struct{ core.Device }

func (kept) Close() error { return nil }

// operand writes x, as a transposed view if strided.
func (q *queue) operand(ctx context.Context, x ref.Tensor, strided bool) (op.Desc, error) {
	rank := len(x.Desc.Shape)
	if !strided || rank < 2 {
		return q.put(ctx, x)
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = rank - 1 - i
	}
	n, err := op.New(op.Permute, []op.Desc{x.Desc}, op.Ints("axes", axes...))
	if err != nil {
		return op.Desc{}, err
	}
	turned, err := ref.Eval(&n, []ref.Tensor{x})
	if err != nil {
		return op.Desc{}, err
	}
	base, err := q.put(ctx, turned[0])
	if err != nil {
		return base, err
	}
	view, err := op.New(op.Permute, []op.Desc{base}, op.Ints("axes", axes...))
	if err != nil {
		return base, err
	}
	if err := q.claims(&view, []op.Desc{base}); err != nil {
		return base, err
	}
	back, err := q.submit(view)
	if err != nil {
		return base, err
	}
	return back[0], nil
}

// gradientTolerance contains the relative tolerances of gradients by type. They apply to the sum of the magnitude of the element, the
// greatest gradient of the operand and gradientFloor. They exceed the tolerances of ops, because a gradient is a longer computation.
var gradientTolerance = map[dtype.DType]float64{dtype.F64: 2e-5, dtype.F32: 2e-3, dtype.F16: 5e-2, dtype.BF16: 2e-1}

// gradientFloor is the constant term of the sum to which gradientTolerance applies. The floor times gradientTolerance is therefore the absolute
// tolerance. For f16 and bf16 the product is about half a unit in the last place of 1: the rounding error of results of about 1.
var gradientFloor = map[dtype.DType]float64{dtype.F64: 1e-3, dtype.F32: 1e-3, dtype.F16: 1e-2, dtype.BF16: 2e-2}

// sharpKink is the greatest relative difference between the slopes to the right and to the left of an element, at a relative distance of
// 1e-6. If the slopes differ more, the function counts as not differentiable there, and any gradient is accepted.
const sharpKink = 1e-3

// differences compares some elements of got, the gradient of operand i, with central differences of the weighted sum of the results. It
// skips elements whose differences to the right and to the left disagree, because the function is not differentiable there. For unique it
// also skips elements that occur more than once, because changing one changes the number of results.
func (s spec) differences(ctx context.Context, in []ref.Tensor, i int, weights []ref.Tensor, got ref.Tensor, random func(int) int) error {
	wide := make([]ref.Tensor, len(in))
	ds := make([]op.Desc, len(in))
	for k, x := range in {
		wide[k] = x.Clone()
		if gradientTypes.Has(x.Desc.DType) {
			wide[k].Desc.DType = dtype.F64
		}
		ds[k] = wide[k].Desc
	}
	n, err := s.node(ds)
	if err != nil {
		return err
	}
	total := func() (float64, error) {
		outs, err := ref.Eval(&n, wide)
		if err != nil {
			return 0, fmt.Errorf("the suite made a faulty case: %w", err)
		}
		sum := 0.0
		for k, w := range weights {
			for j, c := range w.F {
				sum += c * outs[k].F[j]
			}
		}
		return sum, nil
	}
	mirrored := s.domain(i).Matrix == op.Symmetric || s.domain(i).Matrix == op.PositiveDefinite
	rank := len(in[i].Desc.Shape)
	// slopes returns the differences to the right and to the left of element e, and a bound of their rounding errors
	slopes := func(e, m int, h float64) (right, left, noise float64, err error) {
		var at [3]float64
		x := wide[i].F
		old, other := x[e], x[m]
		for k, sign := range []float64{-1, 0, 1} {
			x[e] = old + sign*h
			if m != e {
				x[m] = other + sign*h
			}
			if at[k], err = total(); err != nil {
				return 0, 0, 0, err
			}
		}
		x[e], x[m] = old, other
		return (at[2] - at[1]) / h, (at[1] - at[0]) / h, 1e-15 * math.Abs(at[1]) / h, nil
	}
	count := in[i].Desc.Shape.Size()
	scale := 0.0
	for _, f := range got.F {
		if !math.IsInf(f, 0) && !math.IsNaN(f) {
			scale = max(scale, math.Abs(f))
		}
	}
	faintest := 1.0 // the least magnitude of the weights, except zeros
	for _, w := range weights {
		for _, f := range w.F {
			if f != 0 {
				faintest = min(faintest, math.Abs(f))
			}
		}
	}
	tol := gradientTolerance[got.Desc.DType]
	for range min(count, 10) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		e := random(count)
		m, have := e, got.F[e]
		if cols := 0; mirrored {
			cols = in[i].Desc.Shape[rank-1]
			matrix, row, col := e/(cols*cols), e/cols%cols, e%cols
			if m = matrix*cols*cols + col*cols + row; m != e {
				have += got.F[m]
			}
		}
		h := 1e-6 * max(0.1, math.Abs(wide[i].F[e]))
		right, left, noise, err := slopes(e, m, h)
		if err != nil {
			return err
		}
		near, _, _, err := slopes(e, m, h/4)
		if err != nil {
			return err
		}
		want := (right + left) / 2
		size := math.Abs(want) + scale + gradientFloor[got.Desc.DType]
		allowed, kink := tol*size, sharpKink*size
		switch {
		case s.op == op.Unique && slices.Index(in[i].F[e+1:], in[i].F[e])+slices.Index(in[i].F[:e], in[i].F[e]) > -2:
		case !(math.Abs(right-left) <= min(allowed, kink+4*noise) && math.Abs(right-near) <= min(allowed, kink)+4*noise): // or not a number
		case noise > allowed/4:
		case got.Desc.DType == dtype.F16 && math.Abs(want)+scale > 8192: // intermediate results may overflow
		case got.Desc.DType == dtype.F16 && math.IsInf(have, 0) && math.Abs(want) > 32768*faintest: // the slope overflowed, although the weight makes the result smaller
		case !(math.Abs(have-want) <= allowed):
			return fmt.Errorf("gradient of operand %d at element %d is %g, finite differences are %g", i, e, have, want)
		}
	}
	return nil
}
