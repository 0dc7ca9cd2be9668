package conformance

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// poison checks that every Read of the output of a failed node returns its error, and that other tensors stay good.
func poison(ctx context.Context, q *queue) error {
	good, err := q.put(ctx, numbers(7))
	if err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		_, err := q.get(ctx, bad)
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return err
		}
	}
	outs, err := q.do(op.Neg, []op.Desc{good})
	if err != nil {
		return fmt.Errorf("the stream does not go on: %w", err)
	}
	return q.holds(ctx, outs[0], -7)
}

// poisonSpreads checks that a tensor computed from a poisoned tensor has the error of the node that failed.
func poisonSpreads(ctx context.Context, q *queue) error {
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	d := []op.Desc{bad}
	for _, c := range []op.Code{op.Neg, op.Exp, op.Copy} {
		if d, err = q.do(c, d); err != nil {
			return err
		}
	}
	var twoOutputs []op.Desc // if the device has a node with two outputs
	sort, err := op.New(op.Sort, d, op.Int("axis", 0))
	if err == nil && q.dev.Capabilities().Check(&sort, d) == nil {
		twoOutputs, err = q.submit(sort)
	}
	if err != nil {
		return err
	}
	for _, d := range append(twoOutputs, d...) {
		_, err := q.get(ctx, d)
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return err
		}
	}
	return nil
}

// poisonDropped checks that poison passes through an operand that the node drops.
func poisonDropped(ctx context.Context, q *queue) error {
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	neg, err := q.consume(op.Neg, bad)
	if err != nil {
		return err
	}
	_, err = q.get(ctx, neg)
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return err
	}
	return q.unknown(ctx, bad)
}

// syncOnce checks that Sync reports the first failure since the last Sync, once.
func syncOnce(ctx context.Context, q *queue) error {
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	if _, err := q.do(op.Neg, []op.Desc{bad}); err != nil {
		return err
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return fmt.Errorf("first sync: %w", err)
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("second sync reports again: %w", err)
	}
	_, err = q.get(ctx, bad)
	return wantNodeError(err, op.Gather, core.ErrIndex)
}
