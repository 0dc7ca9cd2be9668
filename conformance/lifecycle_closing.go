package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// closingCases close streams and backends in the middle of their work.
func closingCases() []testCase {
	return []testCase{
		contract("close/stream-at-work", closeAtWork), contract("close/stream-twice", closeTwice),
		contract("close/backend-at-work", closeBackend), contract("close/reopen", reopen),
	}
}

// closeAtWork checks that a stream with a long queue closes soon, and that other streams are not affected.
func closeAtWork(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	d, err := s.busy(ctx, 300)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close with work in the queue: %w", err)
	}
	if err := wantError(s.read(ctx, d.ID, make([]byte, d.Bytes())), core.ErrClosed); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

// closeTwice checks that a second Close returns nil or ErrClosed.
func closeTwice(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := s.Close(); err != nil && !errors.Is(err, core.ErrClosed) {
		return fmt.Errorf("second close: error is %v, want none or %v", err, core.ErrClosed)
	}
	return q.stillGood(ctx)
}

// closeBackend checks that closing a backend ends its streams and that every later call returns ErrClosed, while another instance goes on.
func closeBackend(ctx context.Context, q *queue) error {
	s, err := q.instance(ctx)
	if err != nil {
		return err
	}
	b := s.backend
	d, err := s.busy(ctx, 100)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := b.Close(); err != nil {
		return fmt.Errorf("close with a stream at work: %w", err)
	}
	_, open := b.Open(ctx, q.options.Device)
	_, stream := s.dev.OpenStream(ctx)
	calls := append(s.calls(ctx, d), called{"sync", s.sync(ctx)}, called{"free", s.free([]op.TensorID{d.ID})},
		called{"open", open}, called{"stream", stream})
	if err := allAre(core.ErrClosed, "the backend was closed", calls...); err != nil {
		return err
	}
	if err := b.Close(); err != nil && !errors.Is(err, core.ErrClosed) {
		return fmt.Errorf("second close: error is %v, want none or %v", err, core.ErrClosed)
	}
	return q.stillGood(ctx)
}

// reopen checks that a backend that was closed can be opened again, several times.
func reopen(ctx context.Context, q *queue) error {
	for range 2 {
		if err := q.withInstance(ctx, func(s *queue) error { return s.stillGood(ctx) }); err != nil {
			return err
		}
	}
	return q.stillGood(ctx)
}

// processCases are the cases for backends in a separate process.
func processCases() []testCase {
	return []testCase{contract("process/kill", killed), contract("process/kill-at-rest", killedAtRest)}
}

// lostWithin is the time within which the end of a process must be noticed.
const lostWithin = 5 * time.Second

// killed ends the process while it works. It checks that every call soon returns ErrBackendLost, and that a new process works and does not
// know the tensors of the old one.
func killed(ctx context.Context, q *queue) error {
	return q.kill(ctx, func(s *queue) (op.Desc, error) { return s.busy(ctx, 2000) })
}

// killedAtRest is like killed, with nothing in the queue.
func killedAtRest(ctx context.Context, q *queue) error {
	return q.kill(ctx, func(s *queue) (op.Desc, error) {
		d, err := s.put(ctx, numbers(1, 2))
		if err != nil {
			return d, err
		}
		return d, s.sync(ctx)
	})
}

func (q *queue) kill(ctx context.Context, work func(s *queue) (op.Desc, error)) error {
	if q.options.Kill == nil {
		return skip{"the backend has no process of its own that the suite may end"}
	}
	s, err := q.instance(ctx)
	if err != nil {
		return err
	}
	b := s.backend
	defer func() { _ = b.Close() }() // the process is gone
	d, err := work(s)
	if err != nil {
		return err
	}
	if err := q.options.Kill(b); err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	start := time.Now()
	for err = s.sync(ctx); err == nil && time.Since(start) < lostWithin; err = s.sync(ctx) { // a reply may have been in transit
	}
	if err := wantError(err, core.ErrBackendLost); err != nil {
		return fmt.Errorf("sync after the kill: %w", err)
	}
	if took := time.Since(start); took > lostWithin {
		return fmt.Errorf("the end of the process was noticed after %v", took)
	}
	_, open := b.Open(ctx, q.options.Device)
	if err := allAre(core.ErrBackendLost, "the kill", append(s.calls(ctx, d), called{"open", open})...); err != nil {
		return err
	}
	err = q.withInstance(ctx, func(s *queue) error {
		if _, err := s.get(ctx, d); !errors.Is(err, core.ErrUnknownTensor) && !errors.Is(err, core.ErrStale) {
			return fmt.Errorf("read of a tensor from before the kill: error is %v, want %v", err, core.ErrUnknownTensor)
		}
		return s.stillGood(ctx)
	})
	if err != nil {
		return fmt.Errorf("a new process after the kill: %w", err)
	}
	return q.stillGood(ctx)
}
