package restore

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// ticket is a read that is requested again if the process is lost before it has answered.
type ticket struct {
	s  *stream
	id op.TensorID

	// Guarded by Backend.mu.
	inner core.Ticket
	epoch int // epoch of inner; -1: inner is not set yet
	entry *entry
	open  bool // no Wait has completed
}

// ready returns an error if a tensor is lost.
func (s *stream) ready(id tensorID) error {
	s.d.b.mu.Lock()
	defer s.d.b.mu.Unlock()
	return s.d.b.journal.gone[id]
}

// Read implements core.Stream.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	if err := s.ready(id); err != nil {
		return core.Failed(err)
	}
	t := &ticket{s: s, id: id, epoch: -1, open: true}
	t.entry = &entry{s: s, kind: asked, what: "read", ins: []tensorID{id}, ticket: t}
	t.entry.play = func(_ *replay, on core.Stream, _ []bool) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.open {
			t.inner, t.epoch = on.Read(id, dst), b.epoch
		}
		return nil
	}
	b.mu.Lock()
	if !b.journal.live[id] {
		t.entry.ins = nil // the read needs no replay
	}
	b.mu.Unlock()
	err := s.send(func() error {
		epoch, _, _ := b.state()
		t.inner, t.epoch = s.inner.Read(id, dst), epoch // t is not shared yet
		return nil
	}, func(j *journal) { j.add(t.entry) })
	if err != nil {
		return core.Failed(err)
	}
	return t
}

// Wait implements core.Ticket.
func (t *ticket) Wait(ctx context.Context) error {
	b := t.s.d.b
	waited := -1 // epoch of the last inner ticket that was waited for
	err := b.again(ctx, func() string { return fmt.Sprintf("reading %v", t.id) }, func() (core.Ticket, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case !t.open:
			return nil, fmt.Errorf("restore: read %v: waited for before: %w", t.id, core.ErrClosed)
		case t.epoch != b.epoch: // the entry is no longer in the journal
			return nil, closedError("device")
		}
		waited = t.epoch
		return t.inner, nil
	})
	b.mu.Lock()
	inner, left := t.inner, t.inner != nil && t.epoch > waited
	t.open, t.inner = false, nil
	if err == nil {
		t.s.proven = max(t.s.proven, t.entry.number)
	}
	b.mu.Unlock()
	if left { // the read was requested again, but no goroutine waits for it
		_ = inner.Wait(ended)
	}
	return err
}

// ended is a context that is over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// event is a position in a stream. After a replay it represents the end of the replay.
type event struct {
	s      *stream
	number uint64 // number of the last command before the event
	inner  core.Event
	epoch  int // epoch of inner
}

// Signal implements core.Stream.
func (s *stream) Signal() core.Event {
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	epoch, down, err := s.state()
	if err != nil {
		return core.Failed(err)
	}
	e := &event{s: s, epoch: -1}
	if !down {
		e.inner, e.epoch = s.inner.Signal(), epoch
	}
	b.mu.Lock()
	e.number = b.journal.last
	b.mu.Unlock()
	return e
}

// follow orders on after an event of the same process. An event of a lost process returns its error.
func follow(on core.Stream, e core.Event) error {
	err := on.Wait(e)
	if errors.Is(err, core.ErrAttr) {
		if why := e.Wait(ended); isGone(why) {
			return why
		}
	}
	return err
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	s, b := e.s, e.s.d.b
	err := b.again(ctx, func() string { return "the work of a stream" }, func() (core.Ticket, error) {
		epoch, _, err := s.state()
		if err != nil || e.epoch == epoch {
			return e.inner, err
		}
		return s.replayed, nil
	})
	var node *core.NodeError
	if !errors.As(err, &node) && (errors.Is(err, core.ErrCanceled) || errors.Is(err, core.ErrClosed) || errors.Is(err, core.ErrBackendLost)) {
		return err // no failure was reported
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.reported, s.proven = max(s.reported, e.number), max(s.proven, e.number)
	if err == nil && len(s.failures) > 0 {
		err, s.failures = s.failures[0], nil
	}
	return err
}

// Wait implements core.Stream. For a lost process no ordering is needed: the journal is in order.
func (s *stream) Wait(ce core.Event) error {
	e, ok := ce.(*event)
	if !ok || e.s.d.b != s.d.b {
		return fmt.Errorf("restore: wait for an event of another backend: %w", core.ErrAttr)
	}
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	return s.send(func() error {
		if epoch, _, _ := b.state(); e.epoch != epoch {
			return nil // a replay took place after the event
		}
		return follow(s.inner, e.inner)
	}, func(*journal) {})
}
