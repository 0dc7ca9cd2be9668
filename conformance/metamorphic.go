package conformance

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// rowwise is a node whose results for row i along axis 0 depend only on row i of its first operand. linear: it is linear in that
// operand.
type rowwise struct {
	name   string
	op     op.Code
	linear bool
	// shapes draws the shape of a row, and the further operands.
	shapes func(r *rand.Rand) (row shape.Shape, further []shape.Shape)
	attrs  func(row shape.Shape) []op.Attr
}

func someRow(r *rand.Rand) (shape.Shape, []shape.Shape) {
	return shape.Of(1+r.IntN(7), 1+r.IntN(40)), nil
}

func withRow(r *rand.Rand) (shape.Shape, []shape.Shape) {
	row, _ := someRow(r)
	return row, []shape.Shape{row}
}

// lastAxis returns the attribute for the operand's last axis; its rows have one dimension less.
func lastAxis(row shape.Shape) []op.Attr { return set(op.Int("axis", len(row))) }

func sumOfLast(row shape.Shape) []op.Attr {
	return set(op.Ints("axes", len(row)), op.Flag("keep_dims", false))
}

var rowwises = []rowwise{
	{name: "neg", op: op.Neg, linear: true, shapes: someRow},
	{name: "exp", op: op.Exp, shapes: someRow}, {name: "log", op: op.Log, shapes: someRow}, {name: "sqrt", op: op.Sqrt, shapes: someRow},
	{name: "sin", op: op.Sin, shapes: someRow}, {name: "erf", op: op.Erf, shapes: someRow}, {name: "floor", op: op.Floor, shapes: someRow},
	{name: "sigmoid", op: op.Sigmoid, shapes: someRow}, {name: "gelu", op: op.Gelu, shapes: someRow},
	{name: "add", op: op.Add, shapes: withRow}, {name: "mul", op: op.Mul, linear: true, shapes: withRow}, {name: "max", op: op.Max, shapes: withRow},
	{name: "div", op: op.Div, shapes: withRow},
	{name: "sum", op: op.Sum, linear: true, shapes: someRow, attrs: sumOfLast}, {name: "reduce_max", op: op.ReduceMax, shapes: someRow, attrs: sumOfLast},
	{name: "cumsum", op: op.CumSum, linear: true, shapes: someRow, attrs: lastAxis}, {name: "softmax", op: op.Softmax, shapes: someRow, attrs: lastAxis},
	{name: "sort", op: op.Sort, shapes: someRow, attrs: lastAxis},
	{name: "argmax", op: op.ArgMax, shapes: someRow, attrs: func(row shape.Shape) []op.Attr { return set(op.Int("axis", len(row)), op.Flag("keep_dims", false)) }},
	{name: "matmul", op: op.MatMul, linear: true, shapes: func(r *rand.Rand) (shape.Shape, []shape.Shape) {
		m, k, n := 1+r.IntN(9), 1+r.IntN(33), 1+r.IntN(17)
		return shape.Of(m, k), []shape.Shape{shape.Of(k, n)}
	}},
	{name: "conv", op: op.Conv, linear: true, shapes: func(r *rand.Rand) (shape.Shape, []shape.Shape) {
		c := 1 + r.IntN(4)
		return shape.Of(c, 4+r.IntN(6), 4+r.IntN(6)), []shape.Shape{shape.Of(1+r.IntN(5), c, 1+r.IntN(3), 1+r.IntN(3))}
	}, attrs: func(shape.Shape) []op.Attr {
		one := []int{1, 1}
		return set(op.Ints("strides", one...), op.Ints("pad_lo", one...), op.Ints("pad_hi", one...), op.Ints("kernel_dilation", one...),
			op.Ints("input_dilation", one...), op.Int("groups", 1))
	}},
}

// relation is a relation between results of a backend that holds for any values.
type relation struct {
	name   string
	linear bool // holds only for linear nodes
	check  func(ctx context.Context, q *queue, r *rand.Rand, f *application) error
}

var relations = []relation{
	{name: "permuted", check: permutedRows}, {name: "concatenated", check: concatenatedRows}, {name: "split", check: splitRows},
	{name: "linear", linear: true, check: linearCombination},
}

// application is a node whose first operand varies.
type application struct {
	rowwise
	row     shape.Shape
	further []ref.Tensor
	domain  op.Domain
}

// relation draws an application and checks the relation on it.
func (q *queue) relation(ctx context.Context, id string, rel relation, f rowwise) error {
	r := q.random(id)
	a := &application{rowwise: f}
	var shapes []shape.Shape
	a.row, shapes = f.shapes(r)
	s := spec{op: f.op}
	a.domain = s.domain(0)
	for i, sh := range shapes {
		d := op.Desc{DType: dtype.F32, Shape: sh}
		if rel.linear {
			a.further = append(a.further, small(r, d))
		} else {
			a.further = append(a.further, fill(r, d, s.domain(i+1), op.Lookup(f.op).Tolerance.PerTerm))
		}
	}
	return rel.check(ctx, q, r, a)
}

// draw returns values for n rows.
func (a *application) draw(r *rand.Rand, n int) ref.Tensor {
	return fill(r, a.desc(n), a.domain, op.Lookup(a.op).Tolerance.PerTerm)
}

func (a *application) desc(n int) op.Desc {
	return op.Desc{DType: dtype.F32, Shape: slices.Concat(shape.Of(n), a.row)}
}

// small returns whole numbers from -2 to 2, on which sums and products are exact.
func small(r *rand.Rand, d op.Desc) ref.Tensor {
	t := ref.Zeros(d)
	for i := range t.F {
		t.F[i] = float64(r.IntN(5) - 2)
	}
	return t
}

// apply computes the results for x on the device, and compares them with the reference.
func (a *application) apply(ctx context.Context, q *queue, x ref.Tensor) (n op.Node, in []op.Desc, results []ref.Tensor, err error) {
	in, err = q.putAll(ctx, append([]ref.Tensor{x}, a.further...))
	if err != nil {
		return n, nil, nil, err
	}
	var attrs []op.Attr
	if a.attrs != nil {
		attrs = a.attrs(a.row)
	}
	if n, err = op.New(a.op, in, attrs...); err != nil {
		return n, nil, nil, fmt.Errorf("the suite made a faulty node: %w", err)
	}
	outs, err := q.lowered(ctx, n, in)
	if err != nil {
		return n, nil, nil, err
	}
	for _, d := range outs {
		t, err := q.get(ctx, d)
		if err != nil {
			return n, nil, nil, err
		}
		results = append(results, t)
	}
	want, err := ref.Eval(&n, append([]ref.Tensor{x}, a.further...))
	if err != nil {
		return n, nil, nil, fmt.Errorf("the suite made a faulty case: %w", err)
	}
	for i := range want {
		if err := compare(&n, in, i, want[i], results[i]); err != nil {
			return n, nil, nil, fmt.Errorf("%s: %w", renumbered(&n), err)
		}
	}
	return n, in, results, nil
}

// rows returns the rows of t at the given indices along axis 0.
func rows(t ref.Tensor, which ...int) ref.Tensor {
	d := t.Desc
	size := d.Shape[1:].Size()
	d.Shape = slices.Concat(shape.Of(len(which)), d.Shape[1:])
	u := ref.Zeros(d)
	for i, k := range which {
		for j := range size {
			if t.F != nil {
				u.F[i*size+j] = t.F[k*size+j]
			} else {
				u.I[i*size+j] = t.I[k*size+j]
			}
		}
	}
	return u
}

func upTo(lo, hi int) []int {
	var l []int
	for i := lo; i < hi; i++ {
		l = append(l, i)
	}
	return l
}

// agree compares two results, each of which may differ from the true value by the tolerance of the row. scale is the magnitude of the
// terms.
func agree(what string, n *op.Node, in []op.Desc, want, got []ref.Tensor, scale float64) error {
	for k := range want {
		rel, abs, exact := bounds(n, in, want[k].Desc.DType)
		for i, w := range want[k].F {
			if g := got[k].F[i]; !near(w, g, 2*rel, 2*abs*scale, exact) {
				return fmt.Errorf("%s: result %d of %v, element %d: got %v, want %v within %.3g", what, k, renumbered(n), i, g, w, 2*rel*math.Abs(w)+2*abs*scale)
			}
		}
		for i, w := range want[k].I {
			if g := got[k].I[i]; g != w {
				return fmt.Errorf("%s: result %d of %v, element %d: got %d, want %d", what, k, renumbered(n), i, g, w)
			}
		}
	}
	return nil
}

// selectedRows returns the same rows of each tensor.
func selectedRows(ts []ref.Tensor, which []int) []ref.Tensor {
	l := make([]ref.Tensor, len(ts))
	for i, t := range ts {
		l[i] = rows(t, which...)
	}
	return l
}

// permutedRows checks that the results for rows in another order are the results in that order.
func permutedRows(ctx context.Context, q *queue, r *rand.Rand, a *application) error {
	n := 2 + r.IntN(8)
	x, order := a.draw(r, n), r.Perm(n)
	_, _, y, err := a.apply(ctx, q, x)
	if err != nil {
		return err
	}
	node, in, z, err := a.apply(ctx, q, rows(x, order...))
	if err != nil {
		return err
	}
	return agree(fmt.Sprintf("rows in the order %v", order), &node, in, selectedRows(y, order), z, 1)
}

// concatenatedRows checks that the results for two concatenated tensors are the concatenated results.
func concatenatedRows(ctx context.Context, q *queue, r *rand.Rand, a *application) error {
	m, n := 1+r.IntN(6), 1+r.IntN(6)
	x := a.draw(r, m+n)
	node, in, y, err := a.apply(ctx, q, x)
	if err != nil {
		return err
	}
	for _, part := range [][]int{upTo(0, m), upTo(m, m+n)} {
		_, _, z, err := a.apply(ctx, q, rows(x, part...))
		if err != nil {
			return err
		}
		if err := agree(fmt.Sprintf("rows %v by themselves", part), &node, in, z, selectedRows(y, part), 1); err != nil {
			return err
		}
	}
	return nil
}

// splitRows checks that the results for a batch are the results for each row by itself.
func splitRows(ctx context.Context, q *queue, r *rand.Rand, a *application) error {
	n := 3 + r.IntN(15)
	x := a.draw(r, n)
	node, in, y, err := a.apply(ctx, q, x)
	if err != nil {
		return err
	}
	for i := range n {
		_, _, z, err := a.apply(ctx, q, rows(x, i))
		if err != nil {
			return err
		}
		if err := agree(fmt.Sprintf("row %d by itself", i), &node, in, z, selectedRows(y, []int{i}), 1); err != nil {
			return err
		}
	}
	return nil
}

// linearCombination checks that the result for u·x + v·y is u times the result for x plus v times the result for y.
func linearCombination(ctx context.Context, q *queue, r *rand.Rand, a *application) error {
	d := a.desc(1 + r.IntN(6))
	x, y, both := small(r, d), small(r, d), ref.Zeros(d)
	u, v := float64(1+r.IntN(3)), float64(-1-r.IntN(3))
	for i := range both.F {
		both.F[i] = u*x.F[i] + v*y.F[i]
	}
	_, _, fx, err := a.apply(ctx, q, x)
	if err != nil {
		return err
	}
	_, _, fy, err := a.apply(ctx, q, y)
	if err != nil {
		return err
	}
	node, in, got, err := a.apply(ctx, q, both)
	if err != nil {
		return err
	}
	want := make([]ref.Tensor, len(fx))
	for k := range fx {
		want[k] = fx[k].Clone()
		for i := range want[k].F {
			want[k].F[i] = u*fx[k].F[i] + v*fy[k].F[i]
			if want[k].F[i] == 0 && got[k].F[i] == 0 {
				want[k].F[i] = got[k].F[i] // the sign of a zero depends on the terms
			}
		}
	}
	return agree(fmt.Sprintf("%v·x + %v·y", u, v), &node, in, want, got, 64)
}
