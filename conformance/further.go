package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// behind makes further work of q wait for all work submitted to other.
func (q *queue) behind(other *queue) error {
	if err := q.Wait(other.Signal()); err != nil {
		return fmt.Errorf("wait for an event: %w", err)
	}
	return nil
}

// with opens another stream of the device, calls f with it, and closes it.
func (q *queue) with(ctx context.Context, f func(s *queue) error) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(s), ignoreClosed(s.Close()))
}

// withApart opens the device once more, calls f with a stream of the new device, and closes the new device.
func (q *queue) withApart(ctx context.Context, f func(s *queue) error) error {
	s, err := q.apart(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(s), ignoreClosed(s.dev.Close()))
}

// instance opens the backend again, with a device and a stream. The caller closes the backend.
func (q *queue) instance(ctx context.Context) (*queue, error) {
	b, err := q.open()
	if err != nil {
		return nil, fmt.Errorf("open the backend once more: %w", err)
	}
	other := *q
	other.backend = b
	s, err := other.apart(ctx)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

// withInstance opens another instance of the backend, calls f with a stream of it, and closes the instance.
func (q *queue) withInstance(ctx context.Context, f func(s *queue) error) error {
	s, err := q.instance(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.backend.Close())
}

// called is a call and the error that it returned.
type called struct {
	call string
	err  error
}

// calls reads d, writes another tensor and submits a node on d, and returns the errors of these calls.
func (q *queue) calls(ctx context.Context, d op.Desc) []called {
	n, in := negNode()
	n.Inputs[0], n.Outputs[0].ID = d.ID, q.id()
	return []called{{"read", q.read(ctx, d.ID, make([]byte, d.Bytes()))}, {"write", q.Write(ctx, in[0], make([]byte, 8))},
		{"submit", q.Submit([]op.Node{n}, nil)}}
}

// allAre checks that every call returned want.
func allAre(want error, when string, calls ...called) error {
	for _, c := range calls {
		if !errors.Is(c.err, want) {
			return fmt.Errorf("%s after %s: error is %v, want %v", c.call, when, c.err, want)
		}
	}
	return nil
}

// ignoreClosed returns nil for core.ErrClosed, and other errors unchanged.
func ignoreClosed(err error) error {
	if errors.Is(err, core.ErrClosed) {
		return nil
	}
	return err
}
