package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// ticket is a read from a member, which may not have been asked yet.
type ticket struct {
	dev   *device
	m     *member
	asked chan struct{} // closed when inner is set; nil: from the beginning

	mu      sync.Mutex
	inner   core.Ticket
	given   bool // up: nobody waits any more
	foreign bool // the error of inner is the member's own
}

// read asks for the elements of a tensor of the member.
func (l *lane) read(d *device, id op.TensorID, dst []byte) *ticket {
	t := &ticket{dev: d, m: l.m}
	if l.idle(func() { t.ask(l, id, dst) }) {
		return t
	}
	t.asked = make(chan struct{})
	l.push(command{do: func(dropped error) {
		t.mu.Lock()
		switch {
		case t.given:
		case dropped != nil:
			t.inner = core.Failed(dropped)
		default:
			t.ask(l, id, dst)
		}
		t.mu.Unlock()
		close(t.asked)
	}})
	return t
}

// ask asks the member. The lane executes.
func (t *ticket) ask(l *lane, id op.TensorID, dst []byte) {
	if err := l.m.bad(id); err != nil {
		t.inner = core.Failed(err)
		return
	}
	t.inner, t.foreign = l.inner.Read(id, dst), true
}

// Wait implements core.Ticket.
func (t *ticket) Wait(ctx context.Context) error {
	if t.asked != nil {
		select {
		case <-t.asked:
		default:
			select {
			case <-t.asked:
			case <-ctx.Done():
				t.mu.Lock()
				t.given = t.inner == nil
				t.mu.Unlock()
				if t.given {
					return canceled(ctx)
				}
			}
		}
	}
	if t.inner == nil {
		return fmt.Errorf("router: the ticket was given up: %w", core.ErrClosed)
	}
	err := t.inner.Wait(ctx)
	if !t.foreign {
		return err
	}
	return t.dev.translate(t.m, t.m.note(err))
}

// translate returns an error of a member that names a node with the router's ids of its results, as far as they live.
func (d *device) translate(m *member, err error) error {
	var n *core.NodeError
	if m.index == 0 || !errors.As(err, &n) {
		return err
	}
	own := *n
	own.Outputs = slices.Clone(n.Outputs)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tensors {
		c := t.on(m)
		if c == nil {
			continue
		}
		for i, o := range n.Outputs {
			if o.ID == c.id && o.SameType(t.desc) {
				own.Outputs[i].ID = t.desc.ID
			}
		}
	}
	return &own
}

// Read implements core.Stream.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	var t *ticket
	err := s.command(func(*change) error {
		x := s.dev.tensors[id]
		l, own := s.lanes[0], op.TensorID(0)
		if x == nil {
			own = s.dev.unknown(id)
		} else {
			c := x.source()
			l, own = s.lane(c.m), c.id
			s.behind(l, c)
		}
		s.do(func() { t = l.read(s.dev, own, dst) })
		return nil
	})
	if err != nil {
		return core.Failed(err)
	}
	return t
}

// event is a place in a stream: one on every lane that has had commands.
type event struct {
	q     *queue
	gates []*gate
}

// Signal implements core.Stream.
func (s *stream) Signal() core.Event {
	if s.closed.Load() {
		return core.Failed(fmt.Errorf("router: stream: %w", core.ErrClosed))
	}
	e := &event{q: s.queue}
	for _, l := range s.lanes {
		if l.dirty || l.last != nil {
			e.gates = append(e.gates, l.mark())
		}
	}
	return e
}

// Wait implements core.Stream.
func (s *stream) Wait(ce core.Event) error {
	e, ok := ce.(*event)
	switch {
	case !ok || e.q.dev.router != s.dev.router:
		return fmt.Errorf("router: wait for an event of another backend: %w", core.ErrAttr)
	case s.closed.Load():
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	case e.q == s.queue:
		return nil
	}
	for _, g := range e.gates {
		s.lanes[g.lane.m.index].await(g)
	}
	return nil
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	var first error
	for _, g := range e.gates {
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if g.through(ctx); !g.isOpen() {
			return canceled(ctx)
		}
		err := g.event.Wait(ctx)
		if errors.Is(err, core.ErrCanceled) && ctx.Err() != nil {
			return err
		}
		_ = g.lane.m.note(err)
		err = g.lane.report(g, err, e.q.dev.someLive())
		if first == nil {
			first = e.q.dev.translate(g.lane.m, err)
		}
	}
	if first == nil && e.q.closed.Load() {
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	}
	return first
}
