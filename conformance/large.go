package conformance

import (
	"context"
	"fmt"
	"math"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// largeCases returns the cases of a node of about 200,000 elements. They check its results, the results of its decomposition and, for a
// repeated variant, that it computes the same bits again. Devices that accept no tensors of such size skip them.
func (s spec) largeCases(id string) []testCase {
	cases := append([]testCase{s.testCase(id+"/"+string(plain), largeValues)}, s.decomposed(id)...)
	if s.variant.repeated {
		cases = append(cases, s.testCase(id+"/twice", twice))
	}
	for i := range cases {
		b := cases[i].body
		cases[i] = s.testCase(cases[i].id, func(ctx context.Context, q *queue, s spec, id string) error {
			for _, d := range s.in { // checked before the tensors are written
				if most := q.dev.Capabilities().Limits.Bytes; most > 0 && int64(d.Bytes()) > most {
					return skip{fmt.Sprintf("not claimed: tensors of more than %d bytes", most)}
				}
			}
			return b(ctx, q, s, id)
		})
		cases[i].large = true
	}
	return cases
}

// largeValues is like values(plain), with the bounds of long sums.
func largeValues(ctx context.Context, q *queue, s spec, id string) error {
	in := s.inputs(q.random(id), plain)
	_, n, err := s.placed(ctx, q, in)
	if err != nil {
		return err
	}
	want, err := ref.Eval(&n, in)
	if err != nil {
		return fmt.Errorf("the suite made a faulty case: %w", err)
	}
	outs, err := q.submit(n)
	if err != nil {
		return err
	}
	if err := s.agrees(ctx, q, &n, in, outs, want); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// agrees reads outs and compares them with want, within the tolerance of the row or, for a large variant, within largeBounds.
func (s spec) agrees(ctx context.Context, q *queue, n *op.Node, in []ref.Tensor, outs []op.Desc, want []ref.Tensor) error {
	if !s.variant.large {
		return q.same(ctx, n, in, outs, want)
	}
	for i, d := range outs {
		got, err := q.get(ctx, d)
		if err != nil {
			return fmt.Errorf("read of output %d: %w", i, err)
		}
		q.accuracy.note(q.test, n, descsOf(in), want[i], got)
		rel, abs := s.variant.largeBounds(n, descsOf(in), want[i].Desc.DType)
		if err := compareWithin(rel, abs, op.Lookup(n.Op).Tolerance.Exact, i, want[i], got); err != nil {
			return fmt.Errorf("%s: %w", renumbered(n), err)
		}
	}
	return nil
}

// largeBounds returns the tolerance of a result of a large variant. The tolerance of the row allows two rounding errors for each of n
// terms, 2·n·u relative to the sum of magnitudes: the worst case of a sum from left to right. For 200,000 terms it allows
// 2 %, and an absolute error that exceeds a mean or a probability. Rounding errors of drawn values are independent enough
// that λ·√n·u bounds them except with a probability of 2·exp(-λ²/2) for each operation (N. J. Higham and T. Mary, A new approach to
// probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019), with λ = 4, for any order of the sum. Terms are positive,
// so that the sum of magnitudes is the result and the bound is relative. For centered results the bound is also absolute.
func (x variant) largeBounds(n *op.Node, in []op.Desc, d dtype.DType) (rel, abs float64) {
	t := op.Lookup(n.Op).Tolerance
	perTerm := t.PerTerm
	t.PerTerm = false
	rel, abs = t.Bounds(d, 1)
	if terms := float64(op.Terms(n, in)); perTerm && rel > 0 && terms > 1 {
		_, unit := op.Tolerance{Units: t.Units, PerTerm: true}.Bounds(d, 2) // the absolute tolerance for two terms: abs and two units
		grown := (unit - abs) / 2 * min(terms, 2*math.Sqrt(terms))          // the unit is 2u
		rel += grown
		if x.centered {
			abs += grown
		}
	}
	return rel, abs
}
