package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// settleEvery is the number of events after which the client requests an answer for the last event, so that the plugin can release all of
// them.
const settleEvery = 1 << 10

// event is a position in a stream: the n-th event of the stream.
type event struct {
	s *stream
	n uint64
}

// marks tracks the events of a stream.
type marks struct {
	signaled uint64 // guarded by the stream
	asked    uint64 // the last event for which an answer was requested; guarded by the stream

	mu      sync.Mutex // guards the fields below
	settled uint64     // the last event known to be reached
	missed  error      // a failure that is not reported yet
}

// reached records the answer to a wait for event n.
func (m *marks) reached(n uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !errors.Is(err, core.ErrCanceled) {
		m.settled = max(m.settled, n)
	}
}

// keep keeps an unreported failure for the next wait for an event.
func (m *marks) keep(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.missed == nil && !errors.Is(err, core.ErrCanceled) {
		m.missed = err
	}
}

// first returns and clears the kept failure, which is earlier than err. It returns err if no failure is kept.
func (m *marks) first(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.missed != nil {
		err, m.missed = m.missed, nil
	}
	return err
}

func (m *marks) past(n uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n <= m.settled
}

// open returns the number of events that the plugin stores. The caller holds the stream.
func (m *marks) open() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.signaled - m.settled
}

// Signal implements core.Stream. If the plugin stores too many events, Signal waits until some can be released.
func (s *stream) Signal() core.Event {
	if err := s.begin(); err != nil {
		return core.Failed(err)
	}
	s.enc.Signal()
	s.marks.signaled++
	e := &event{s, s.marks.signaled}
	var r *request
	if e.n-s.marks.asked >= settleEvery {
		r = e.ask(false)
	}
	full := r != nil && s.marks.open() >= wire.MaxEvents/2
	if r != nil {
		s.flush()
	}
	s.mu.Unlock() // no timer is set, because a timer costs as much as a flush: the wait for the event sends the command
	if full {
		s.fs.Sleep()
		defer s.fs.Wake()
		select {
		case <-r.done:
		case <-s.over:
		}
	}
	return e
}

// ask requests an answer for the event. told says that a caller waits for it. The caller holds the stream.
func (e *event) ask(told bool) *request {
	s := e.s
	r := s.requests.put(&request{settle: func(err error, dropped bool) {
		s.marks.reached(e.n, err)
		if dropped || !told {
			s.marks.keep(err)
		}
	}})
	s.enc.Await(r.id, e.n)
	s.marks.asked = max(s.marks.asked, e.n)
	return r
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	s := e.s
	if ctx.Err() != nil {
		return canceled(s.d.b.proc.name, ctx)
	}
	if err := s.begin(); err != nil {
		return err
	}
	if s.marks.past(e.n) {
		s.mu.Unlock()
		return s.marks.first(nil)
	}
	r := e.ask(true)
	s.flush()
	s.mu.Unlock()
	err := s.await(ctx, r)
	if errors.Is(err, core.ErrCanceled) {
		return err
	}
	return s.marks.first(err)
}

// Wait implements core.Stream.
func (s *stream) Wait(e core.Event) error {
	own, ok := e.(*event)
	if !ok || own.s.d.b != s.d.b {
		return fmt.Errorf("plugin %s: wait for an event of another backend: %w", s.d.b.proc.name, core.ErrAttr)
	}
	if from := own.s; from != s && from.begin() == nil {
		past := from.marks.past(own.n)
		if !past {
			from.flush()
		}
		from.mu.Unlock()
		if past {
			return s.refused()
		}
	} else {
		return s.refused() // ordered already, or ended
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.enc.Wait(own.s.number, own.n)
	return s.added()
}
