package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/lane"
)

// translation returns a function that translates the tensor ids in errors of a member to the router's ids, if the tensors still exist.
func (d *device) translation(m *member) func(error) error {
	if m.index == 0 {
		return nil
	}
	return func(err error) error { return d.translate(m, err) }
}

func (d *device) translate(m *member, err error) error {
	var n *core.NodeError
	if !errors.As(err, &n) {
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
	var t *lane.Ticket
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
		s.do(func() { t = l.Read(own, dst) })
		return nil
	})
	if err != nil {
		return core.Failed(err)
	}
	return t
}

// event is a position in a stream: an event on every lane that has had commands.
type event struct {
	q     *queue
	gates []*lane.Gate
}

// Signal implements core.Stream.
func (s *stream) Signal() core.Event {
	if s.closed.Load() {
		return core.Failed(fmt.Errorf("router: stream: %w", core.ErrClosed))
	}
	e := &event{q: s.queue}
	for _, l := range s.lanes {
		if l.Used() {
			e.gates = append(e.gates, l.Mark())
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
		s.lanes[slices.Index(e.q.lanes, g.Lane)].Await(g)
	}
	return nil
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	var first error
	for _, g := range e.gates {
		err := g.Wait(ctx, e.q.dev.someLive)
		if errors.Is(err, core.ErrCanceled) && ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil && e.q.closed.Load() {
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	}
	return first
}
