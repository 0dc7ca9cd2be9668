package engine

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
)

// event is a position in a stream.
type event[V any] struct {
	s     *stream[V]
	done  latch  // opens when the queue has reached the event
	place uint64 // number of commands before the event
	mark  Mark   // set by an asynchronous queue
	err   error  // reason why mark is nil
}

// Signal implements core.Stream.
func (s *stream[V]) Signal() core.Event {
	e, err := s.signal()
	if err != nil {
		return core.Failed(err).(core.Event)
	}
	return e
}

func (s *stream[V]) signal() (*event[V], error) {
	e := &event[V]{s: s}
	return e, s.do(command{kind: doSignal, on: e})
}

// reach executes the event command: the queue has reached the event.
func (s *stream[V]) reach(e *event[V]) {
	e.place = s.done
	if s.async != nil {
		e.mark, e.err = s.record()
	}
	e.done.open()
}

// reach waits until the queue has reached the event.
func (e *event[V]) reach(ctx context.Context) error {
	if ctx.Err() != nil {
		return e.s.dev.backend.canceled(ctx)
	}
	if !e.done.isOpen.Load() {
		e.s.help(ctx, &e.done)
	}
	if e.done.isOpen.Load() {
		return nil
	}
	select {
	case <-e.done.opened():
		return nil
	case <-ctx.Done():
		return e.s.dev.backend.canceled(ctx)
	case <-e.s.quit:
		return e.s.closedError()
	}
}

// Wait implements core.Event.
func (e *event[V]) Wait(ctx context.Context) error {
	if err := e.reach(ctx); err != nil {
		return err
	}
	if e.err != nil {
		return e.err
	}
	if e.mark != nil {
		if _, err := e.s.waitMark(ctx, e.mark, e.place); err != nil {
			return err
		}
	}
	if e.s.closed.Load() {
		return e.s.closedError()
	}
	return e.s.report(e.place)
}

// Wait implements core.Stream.
func (s *stream[V]) Wait(e core.Event) error {
	own, ok := e.(*event[V])
	if !ok || own.s.dev.backend != s.dev.backend {
		return fmt.Errorf("%s: wait for an event of another backend: %w", s.dev.backend.name(), core.ErrAttr)
	}
	if own.s == s {
		return nil
	}
	if s.async == nil && own.done.isOpen.Load() {
		return nil
	}
	return s.append(command{kind: doAwait, on: own})
}

// await blocks the queue until an event of another stream is reached, or that stream has ended.
func (s *stream[V]) await(e *event[V]) {
	select {
	case <-e.done.opened():
	case <-e.s.quit:
		return
	case <-s.quit:
		return
	}
	if s.async == nil || e.mark == nil {
		return
	}
	if err := guard(func() error { return s.async.Await(e.mark) }); err != nil {
		s.fail(fmt.Errorf("%s: wait: %w", s.dev.backend.name(), err))
		return
	}
	s.settling.Lock()
	s.late.follows = append(s.late.follows, followed[V]{e, s.done})
	s.settling.Unlock()
}
