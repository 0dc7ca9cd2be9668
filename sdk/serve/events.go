package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// events contains the events of a stream, numbered from 1, and failures of commands that the backend does not report itself.
type events struct {
	mu       sync.Mutex
	signaled uint64 // the last event that was decoded
	settled  uint64 // the last event that the host knows to be reached
	open     map[uint64]core.Event
	ended    bool
	news     chan struct{} // closed when an event is signaled or the stream ends; nil if no goroutine waits
	failures []failure
}

// failure is a failure that occurred after an event.
type failure struct {
	behind uint64 // number of the last event before the failure
	err    error
}

// maxFailures bounds the failures that are kept for reports.
const maxFailures = 16

// note records a failure, which the next event reports.
func (v *events) note(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.failures) < maxFailures {
		v.failures = append(v.failures, failure{v.signaled, err})
	}
}

// report returns the first failure before event n, and clears all failures before it.
func (v *events) report(n uint64) (first error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failures = slices.DeleteFunc(v.failures, func(f failure) bool {
		if f.behind >= n {
			return false
		}
		if first == nil {
			first = f.err
		}
		return true
	})
	return first
}

// add adds the next event.
func (v *events) add(e core.Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.signaled-v.settled >= wire.MaxEvents {
		return fmt.Errorf("stream: %w: %d events since the last that was waited for, at most %d", core.ErrProtocol, v.signaled-v.settled, wire.MaxEvents)
	}
	if v.open == nil {
		v.open = map[uint64]core.Event{}
	}
	v.signaled++
	v.open[v.signaled] = e
	v.tell()
	return nil
}

// tell wakes all goroutines that wait in get. The caller holds mu.
func (v *events) tell() {
	if v.news != nil {
		close(v.news)
		v.news = nil
	}
}

// end marks the end of events. Waiting goroutines return.
func (v *events) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	v.tell()
}

// own returns the event to which a command of this stream refers, or nil if it is settled.
func (v *events) own(n uint64) (core.Event, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n == 0 || n > v.signaled {
		return nil, fmt.Errorf("stream: %w: event %d, %d were signaled", core.ErrProtocol, n, v.signaled)
	}
	return v.open[n], nil
}

// get waits until an event is signaled and returns it. It returns nil for an event that is settled or will never be signaled.
func (v *events) get(ctx context.Context, n uint64) (core.Event, error) {
	for {
		v.mu.Lock()
		if n <= v.signaled || v.ended {
			defer v.mu.Unlock()
			return v.open[n], nil
		}
		if v.news == nil {
			v.news = make(chan struct{})
		}
		news := v.news
		v.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settle removes the events up to n, which the host knows to be reached.
func (v *events) settle(n uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ; v.settled < n; v.settled++ {
		delete(v.open, v.settled+1)
	}
}

// signal adds an event at the current position of the stream.
func (t *session) signal() error {
	var e core.Event
	err := t.guard("signal", func() error { e = t.be.Signal(); return nil })
	if err != nil {
		e = core.Failed(err)
	}
	return t.events.add(e)
}

// wait waits until an event of another stream is signaled, and orders later commands after it.
func (t *session) wait(c *wire.Command) error {
	from := t.dev.conn.stream(c.Stream)
	switch from {
	case nil:
		return nil // the other stream has ended
	case t:
		_, err := t.events.own(c.Event)
		return err
	}
	e, err := from.events.get(t.ctx, c.Event)
	if err != nil || e == nil {
		return err
	}
	if err := t.guard("wait", func() error { return t.be.Wait(e) }); err != nil {
		t.events.note(fmt.Errorf("wait: %w", err))
	}
	return nil
}

// await answers when an event is reached, with the first failure before it.
func (t *session) await(c *wire.Command) error {
	e, err := t.events.own(c.Event)
	if err != nil {
		return err
	}
	if e == nil {
		e = core.Failed(nil)
	}
	return t.answerLater(answer{request: c.Request, ticket: e, event: c.Event})
}

// reached waits for an event and answers with the first failure: a failure that the backend reports, or a failure in t.events.
func (t *session) reached(ctx context.Context, a *answer) error {
	err := t.guard("await", func() error { return a.ticket.Wait(ctx) })
	if !errors.Is(err, core.ErrCanceled) {
		err = earlier(err, t.events.report(a.event))
		t.events.settle(a.event)
	}
	return t.fs.Send(wire.DoneFrame(a.request, err))
}

// earlier returns the failure that occurred first in the stream.
func earlier(backend, own error) error {
	switch {
	case backend == nil:
		return own
	case own == nil:
		return backend
	}
	var a, b *core.NodeError
	if errors.As(backend, &a) && errors.As(own, &b) && len(a.Outputs) > 0 && len(b.Outputs) > 0 &&
		a.Outputs[0].ID < b.Outputs[0].ID {
		return backend
	}
	return own
}
