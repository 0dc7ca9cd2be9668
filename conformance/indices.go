package conformance

import (
	"context"
	"fmt"
	"math"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// emptyIndexCases check that an index out of range is not an error if no elements are moved.
func emptyIndexCases() []testCase {
	outside := ref.Tensor{Desc: op.DescOf(dtype.I64, 2), I: []int64{0, 9}}
	tuples := ref.Tensor{Desc: op.DescOf(dtype.I64, 2, 1), I: []int64{9, -1}}
	none := ref.Zeros(op.DescOf(dtype.F32, 3, 0))
	empty := ref.Zeros(op.DescOf(dtype.F32, 2, 0))
	var cases []testCase
	for _, c := range []struct {
		op    op.Code
		in    []ref.Tensor
		attrs []op.Attr
	}{
		{op.Gather, []ref.Tensor{none, outside}, set(op.Int("axis", 0))}, {op.GatherND, []ref.Tensor{none, tuples}, nil},
		{op.Scatter, []ref.Tensor{none, outside, empty}, set(op.Int("axis", 0), op.Str("mode", "assign"))},
		{op.ScatterND, []ref.Tensor{none, tuples, empty}, set(op.Str("mode", "assign"))},
	} {
		x := contract("index-of-nothing/"+c.op.String(), func(ctx context.Context, q *queue) error {
			descs, err := q.putAll(ctx, c.in)
			if err != nil {
				return err
			}
			n, err := op.New(c.op, descs, c.attrs...)
			if err != nil {
				return fmt.Errorf("the suite made a faulty node: %w", err)
			}
			if err := q.claims(&n, descs); err != nil {
				return err
			}
			return q.expect(ctx, n, c.in)
		})
		x.types = dtype.SetOf(dtype.F32, dtype.I64)
		cases = append(cases, x)
	}
	return cases
}

// zeroTieCases check that, with -0 and +0 as extremes, the first of them wins.
func zeroTieCases() []testCase {
	neg := math.Copysign(0, -1)
	var cases []testCase
	for _, c := range []struct {
		op    op.Code
		x     ref.Tensor
		attrs []op.Attr
	}{
		{op.ArgMax, numbers(-1, neg, 0, -2), set(op.Int("axis", 0))}, {op.ArgMin, numbers(1, 0, neg, 2), set(op.Int("axis", 0))},
		{op.WindowReduce, numbers(-1, neg, 0, -2), sliding(l(4), l(1), l(0), l(0), l(1), op.Str("reduce", "max"), op.Flag("indices", true))},
	} {
		x := contract("zeros-are-equal/"+c.op.String(), func(ctx context.Context, q *queue) error {
			d, err := q.put(ctx, c.x)
			if err != nil {
				return err
			}
			outs, err := q.do(c.op, []op.Desc{d}, c.attrs...)
			if err != nil {
				return err
			}
			got, err := q.get(ctx, outs[len(outs)-1])
			if err != nil {
				return err
			}
			if got.I[0] != 1 {
				return fmt.Errorf("%v of %v is at %d, want 1", c.op, c.x.F, got.I[0])
			}
			return nil
		})
		x.types = dtype.SetOf(dtype.F32, dtype.I64) // of indices
		cases = append(cases, x)

	}
	return cases
}
