package conformance

import (
	"context"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// programBindings checks that outputs may repeat and may be inputs, that each run has separate output tensors, and that inputs stay alive.
func programBindings(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	first, err := p.run(q, x)
	if err != nil {
		return err
	}
	second, err := p.run(q, first[0])
	if err != nil {
		return err
	}
	if err := q.free(idsOf(first[:2])); err != nil {
		return err
	}
	for _, c := range []struct {
		d    op.Desc
		want []float64
	}{{first[2], []float64{11, 42}}, {second[0], []float64{121, 882}}, {second[1], []float64{11, 42}}, {second[2], []float64{121, 882}}, {x, []float64{1, 2}}} {
		if err := q.holds(ctx, c.d, c.want...); err != nil {
			return err
		}
	}
	return q.sync(ctx)
}

// programPoison checks that a poisoned input poisons the outputs that depend on it, with the error of the first node.
func programPoison(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	outs, err := p.run(q, bad)
	if err != nil {
		return err
	}
	for _, d := range outs {
		_, err := q.get(ctx, d)
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return err
		}
	}
	return p.computes(ctx, q, x)
}

// programFaulty checks that Define refuses a program that uses an id that it does not define.
func programFaulty(ctx context.Context, q *queue) error {
	programs, err := needs[core.Programs](q.dev, "programs")
	if err != nil {
		return err
	}
	p, err := affine()
	if err != nil {
		return err
	}
	p.Consts = nil
	if _, err := programs.Define(ctx, q.Stream, p, nil); err == nil {
		return fmt.Errorf("Define accepts a program with an undefined tensor")
	}
	d, err := q.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 2)))
	if err != nil {
		return err
	}
	return q.holds(ctx, d, 0, 0)
}

// programUndefined checks that a program cannot be run after Undefine, and that earlier runs are unaffected.
func programUndefined(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	outs, err := p.run(q, x)
	if err != nil {
		return err
	}
	if err := p.Undefine(p.id); err != nil {
		return err
	}
	if later, err := p.run(q, x); err == nil {
		if _, err := q.get(ctx, later[0]); err == nil {
			return fmt.Errorf("a program ran after it was undefined")
		}
	}
	return q.holds(ctx, outs[0], 11, 42)
}
