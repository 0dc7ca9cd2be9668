package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

// partRows is the number of rows of a large result that are compared with the reference.
const partRows = 8

// part describes how the rows of a result depend on the rows of the operands, so that single rows can be checked: row i of the result
// along axis out is computed from row i of operand k along axis in[k], or from the whole operand if in[k] is -1.
type part struct {
	in  []int
	out int
}

// partOf returns the part of a spec. It returns false if the whole result must be computed.
func (s spec) partOf(n *op.Node) (part, bool) {
	switch row := op.Lookup(s.op); {
	case s.op == op.MatMul || s.op == op.Linear:
		return part{in: append([]int{0}, make([]int, len(s.in)-1)...), out: 0}.whole(1), true
	case (s.op == op.Conv || s.op == op.ConvInteger) && len(s.in) == 2:
		return part{in: []int{-1, 0}, out: 1}, true
	case (row.Traits.Has(op.Elementwise) || s.alongLaterAxis()) && len(n.Outputs[0].Shape) > 1:
		p := part{}
		for _, d := range s.in {
			axis := -1
			if len(d.Shape) == len(n.Outputs[0].Shape) && d.Shape[0] == n.Outputs[0].Shape[0] {
				axis = 0
			}
			p.in = append(p.in, axis)
		}
		return p, true
	}
	return part{}, false
}

// whole returns p such that a row of the result depends on all rows of every operand from index from on.
func (p part) whole(from int) part {
	for i := from; i < len(p.in); i++ {
		p.in[i] = -1
	}
	return p
}

// alongLaterAxis reports whether the op works along a single axis other than the first.
func (s spec) alongLaterAxis() bool {
	switch s.op {
	case op.CumSum, op.CumProd, op.CumMax, op.CumMin, op.Sort:
		return s.attr("axis") > 0
	}
	return false
}

// checkTimed compares the result of a timed node with the reference: some rows if rows are independent, else all.
func (q *queue) checkTimed(ctx context.Context, s spec, n *op.Node, in []ref.Tensor, outs []op.Desc) error {
	p, ok := s.partOf(n)
	if !ok || n.Outputs[0].Shape[p.out] <= partRows {
		want, err := ref.Eval(n, in)
		if err != nil {
			return fmt.Errorf("the suite made a faulty case: %w", err)
		}
		return q.same(ctx, n, in, outs, want)
	}
	start := firstRow(q.random("rows/"+n.Op.String()), n.Outputs[0].Shape[p.out])
	var some []ref.Tensor
	for i, t := range in {
		rows, err := rowsOf(t, p.in[i], start)
		if err != nil {
			return err
		}
		some = append(some, rows)
	}
	m, err := s.node(descsOf(some))
	if err != nil {
		return err
	}
	want, err := ref.Eval(&m, some)
	if err != nil {
		return fmt.Errorf("the suite made a faulty case: %w", err)
	}
	for i, d := range outs {
		all, err := q.get(ctx, d)
		if err != nil {
			return err
		}
		got, err := rowsOf(all, p.out, start)
		if err != nil {
			return err
		}
		if err := compare(&m, descsOf(some), i, want[i], got); err != nil {
			return fmt.Errorf("rows from %d on along axis %d: %w", start, p.out, err)
		}
	}
	return nil
}

// firstRow draws the first of partRows consecutive rows out of n.
func firstRow(r *rand.Rand, n int) int { return r.IntN(n - partRows + 1) }

// rowsOf returns some rows of t along an axis, or all of t for axis -1.
func rowsOf(t ref.Tensor, axis, start int) (ref.Tensor, error) {
	if axis < 0 {
		return t, nil
	}
	at, size, step := make([]int, len(t.Desc.Shape)), t.Desc.Shape.Clone(), make([]int, len(t.Desc.Shape))
	for i := range step {
		step[i] = 1
	}
	at[axis], size[axis] = start, partRows
	n, err := op.New(op.Slice, []op.Desc{t.Desc}, op.Ints("start", at...), op.Dims("size", size), op.Ints("step", step...))
	if err != nil {
		return t, err
	}
	out, err := ref.Eval(&n, []ref.Tensor{t})
	if err != nil {
		return t, err
	}
	return out[0], nil
}
