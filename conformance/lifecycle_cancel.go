package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// cancelCases end the context of a call while a long queue of work runs.
func cancelCases() []testCase {
	return []testCase{
		contract("cancel/read", func(ctx context.Context, q *queue) error {
			return canceledMidway(ctx, q, func(ctx context.Context, d op.Desc) error { return q.read(ctx, d.ID, make([]byte, d.Bytes())) })
		}),
		contract("cancel/sync", func(ctx context.Context, q *queue) error {
			return canceledMidway(ctx, q, func(ctx context.Context, _ op.Desc) error { return q.sync(ctx) })
		}),
		contract("cancel/keeps-failure", cancelKeepsFailure),
	}
}

// busy submits a chain of n nodes over vectors, and returns its last result. Every element of it is n.
func (q *queue) busy(ctx context.Context, n int) (op.Desc, error) {
	x, err := q.put(ctx, ref.Zeros(op.DescOf(dtype.I32, 1024)))
	if err != nil {
		return x, err
	}
	inc, err := q.put(ctx, numbersOf(x, 1))
	if err != nil {
		return x, err
	}
	return q.chain(x, inc, n)
}

// chain submits a list of n nodes that add inc to x; each drops its operand. It returns the last result.
func (q *queue) chain(x, inc op.Desc, n int) (op.Desc, error) {
	var nodes []op.Node
	for range n {
		n, err := op.New(op.Add, []op.Desc{x, inc})
		if err != nil {
			return x, err
		}
		n.Outputs[0].ID, n.Drop = q.id(), 1
		x = n.Outputs[0]
		nodes = append(nodes, n)
	}
	return x, q.Submit(nodes, nil)
}

// counted checks that every element of d is n, as in a result of busy.
func (q *queue) counted(ctx context.Context, d op.Desc, n int) error {
	got, err := q.get(ctx, d)
	if err != nil {
		return err
	}
	for i, v := range got.I {
		if v != int64(n) {
			return fmt.Errorf("element %d is %d after %d additions of 1", i, v, n)
		}
	}
	return nil
}

var errEnough = errors.New("enough")

// enough returns a context that has ended with cause errEnough.
func enough(ctx context.Context) context.Context {
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errEnough)
	return ended
}

// wantEnough checks that a call ended with its context, and that its error carries the cause.
func wantEnough(err error) error {
	if err := wantError(err, core.ErrCanceled); err != nil {
		return err
	}
	if err := wantError(err, errEnough); err != nil {
		return fmt.Errorf("the cause is lost: %w", err)
	}
	return nil
}

// canceledMidway ends the context of a call while the call waits. It checks that the call soon returns ErrCanceled with the cause, unless
// the call was done before, and that the submitted work continues.
func canceledMidway(ctx context.Context, q *queue, call func(context.Context, op.Desc) error) error {
	const n = 200
	d, err := q.busy(ctx, n)
	if err != nil {
		return err
	}
	short, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(200*time.Microsecond, func() { cancel(errEnough) })
	defer timer.Stop()
	start := time.Now()
	err = call(short, d)
	took := time.Since(start)
	cancel(errEnough)
	if err != nil {
		if err := wantEnough(err); err != nil {
			return err
		}
		const patience = 20 * time.Second // far longer than any machine needs
		if took > patience {
			return fmt.Errorf("the call, whose context ended after 200µs, took %v, want at most %v", took, patience)
		}
	}
	if err := q.counted(ctx, d, n); err != nil {
		return fmt.Errorf("after the cancellation: %w", err)
	}
	return q.stillGood(ctx)
}

// cancelKeepsFailure checks that a canceled Sync does not clear the failure: the next one reports it.
func cancelKeepsFailure(ctx context.Context, q *queue) error {
	if _, err := q.failing(ctx); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	switch err := q.sync(ended); {
	case errors.Is(err, core.ErrCanceled):
	case errors.Is(err, core.ErrIndex): // no wait was necessary
		return q.stillGood(ctx)
	default:
		return fmt.Errorf("sync with an ended context: error is %v, want %v", err, core.ErrCanceled)
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return fmt.Errorf("sync after a canceled one: %w", err)
	}
	return q.stillGood(ctx)
}
