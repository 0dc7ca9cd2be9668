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

// closeAtWork: a stream closes with a long queue, soon, and others do not notice.
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
	if err := wantError(s.Read(ctx, d.ID, make([]byte, d.Bytes())), core.ErrClosed); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

// closeTwice: a second Close is nil or ErrClosed.
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

// closeBackend: a backend that closes ends its streams; everything afterwards is ErrClosed. Another instance goes on.
func closeBackend(ctx context.Context, q *queue) error {
	b, err := q.open()
	if err != nil {
		return fmt.Errorf("open the backend a second time: %w", err)
	}
	other := *q
	other.backend = b
	s, err := other.another(ctx)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	d, err := s.busy(ctx, 100)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := b.Close(); err != nil {
		return fmt.Errorf("close with a stream at work: %w", err)
	}
	n, in := negNode()
	n.Inputs[0], n.Outputs[0].ID = d.ID, s.id()
	_, open := b.OpenStream(ctx, q.options.Device)
	for _, c := range []struct {
		name string
		err  error
	}{
		{"read", s.Read(ctx, d.ID, make([]byte, d.Bytes()))}, {"sync", s.Sync(ctx)}, {"free", s.Free([]op.TensorID{d.ID})},
		{"write", s.Write(ctx, in[0], make([]byte, 8))}, {"submit", s.Submit([]op.Node{n})}, {"open", open},
	} {
		if !errors.Is(c.err, core.ErrClosed) {
			return fmt.Errorf("%s after the backend was closed: error is %v, want %v", c.name, c.err, core.ErrClosed)
		}
	}
	if err := b.Close(); err != nil && !errors.Is(err, core.ErrClosed) {
		return fmt.Errorf("second close: error is %v, want none or %v", err, core.ErrClosed)
	}
	return q.stillGood(ctx)
}

// reopen: a backend that was closed can be opened again, some times over.
func reopen(ctx context.Context, q *queue) error {
	for range 2 {
		b, err := q.open()
		if err != nil {
			return fmt.Errorf("open the backend again: %w", err)
		}
		other := *q
		other.backend = b
		s, err := other.another(ctx)
		if err == nil {
			err = s.stillGood(ctx)
		}
		if err := errors.Join(err, b.Close()); err != nil {
			return err
		}
	}
	return q.stillGood(ctx)
}

// processCases are for backends in a process of their own.
func processCases() []testCase {
	return []testCase{contract("process/kill", killed), contract("process/kill-at-rest", killedAtRest)}
}

// lostWithin is how long the end of a process may go unnoticed.
const lostWithin = 5 * time.Second

// killed: the process is ended while it works. Every call is ErrBackendLost, soon; a new one works, and knows nothing of
// the old one's tensors.
func killed(ctx context.Context, q *queue) error {
	return q.kill(ctx, func(s *queue) (op.Desc, error) { return s.busy(ctx, 2000) })
}

// killedAtRest: the same with nothing in the queue.
func killedAtRest(ctx context.Context, q *queue) error {
	return q.kill(ctx, func(s *queue) (op.Desc, error) {
		d, err := s.put(ctx, numbers(1, 2))
		if err != nil {
			return d, err
		}
		return d, s.Sync(ctx)
	})
}

func (q *queue) kill(ctx context.Context, work func(s *queue) (op.Desc, error)) error {
	if q.options.Kill == nil {
		return skip{"the backend has no process of its own that the suite may end"}
	}
	b, err := q.open()
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // it is gone
	other := *q
	other.backend = b
	s, err := other.another(ctx)
	if err != nil {
		return err
	}
	d, err := work(s)
	if err != nil {
		return err
	}
	if err := q.options.Kill(b); err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	start := time.Now()
	for err = s.Sync(ctx); err == nil && time.Since(start) < lostWithin; err = s.Sync(ctx) { // an answer may have been on its way
	}
	if err := wantError(err, core.ErrBackendLost); err != nil {
		return fmt.Errorf("sync after the kill: %w", err)
	}
	if took := time.Since(start); took > lostWithin {
		return fmt.Errorf("the end of the process was noticed after %v", took)
	}
	n, in := negNode()
	n.Inputs[0], n.Outputs[0].ID = d.ID, s.id()
	_, open := b.OpenStream(ctx, q.options.Device)
	for _, c := range []struct {
		name string
		err  error
	}{
		{"read", s.Read(ctx, d.ID, make([]byte, d.Bytes()))}, {"write", s.Write(ctx, in[0], make([]byte, 8))},
		{"submit", s.Submit([]op.Node{n})}, {"open", open},
	} {
		if !errors.Is(c.err, core.ErrBackendLost) {
			return fmt.Errorf("%s after the kill: error is %v, want %v", c.name, c.err, core.ErrBackendLost)
		}
	}
	again, err := q.open()
	if err != nil {
		return fmt.Errorf("start after the kill: %w", err)
	}
	other.backend = again
	s, err = other.another(ctx)
	if err == nil {
		if _, e := s.get(ctx, d); !errors.Is(e, core.ErrUnknownTensor) && !errors.Is(e, core.ErrStale) {
			err = fmt.Errorf("read of a tensor from before the kill: error is %v, want %v", e, core.ErrUnknownTensor)
		}
	}
	if err == nil {
		err = s.stillGood(ctx)
	}
	return errors.Join(err, again.Close(), q.stillGood(ctx))
}
