package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/lane"
)

// queue is a stream of the router: a lane on each member. One goroutine at a time uses it.
type queue struct {
	dev     *device
	lanes   []*lane.Lane
	closed  atomic.Bool
	actions []action // actions of the current command, in order
	in      []op.Desc
	ts      []*tensor
	change  change
}

// action is a step of a command on a lane: run, or else nodes and then frees.
type action struct {
	l     *lane.Lane
	nodes []op.Node
	free  []op.TensorID
	run   func()
}

// stream is a view of a queue that prefers a member.
type stream struct {
	*queue
	place int // place of tensors that are written or computed; anywhere: the operands determine it
}

var _ core.Stream = (*stream)(nil)

func (q *queue) lane(m *member) *lane.Lane { return q.lanes[m.index] }

func (q *queue) do(run func()) { q.actions = append(q.actions, action{run: run}) }

// on returns the action that nodes of a lane are added to.
func (q *queue) on(l *lane.Lane) *action {
	if n := len(q.actions); n > 0 && q.actions[n-1].l == l && len(q.actions[n-1].free) == 0 {
		return &q.actions[n-1]
	}
	q.actions = append(q.actions, action{l: l})
	return &q.actions[len(q.actions)-1]
}

// free releases the copies of a tensor that was removed from the table, except but, which a node drops.
func (q *queue) free(t *tensor, but *copied) {
	for _, c := range t.copies {
		l := q.lane(c.m)
		q.order(l, c)
		if c != but {
			q.give(l, c.id)
		}
	}
}

// order makes later commands of a lane wait for the transfers that write or read copy c.
func (q *queue) order(l *lane.Lane, c *copied) {
	q.behind(l, c)
	for _, g := range c.readers {
		q.do(func() { l.Await(g) })
	}
}

// behind makes later commands of a lane wait for the transfer that writes copy c.
func (q *queue) behind(l *lane.Lane, c *copied) {
	if g := c.gate; g != nil && g.Lane != l {
		q.do(func() { l.Await(g) })
	}
}

// perform executes the planned actions. If there is only one, it returns the refusal of its nodes; otherwise the next event reports a
// refusal.
func (q *queue) perform() error {
	actions := q.actions
	q.actions = nil
	var refused error
	for _, a := range actions {
		if a.run != nil {
			a.run()
			continue
		}
		err := a.l.Submit(a.nodes, a.free)
		switch {
		case err == nil:
		case len(actions) == 1:
			refused = err
		default:
			a.l.Refuse(err, a.nodes)
		}
	}
	return refused
}

// command calls plan, which changes the table and plans actions. It then performs the actions. If one of the two fails, it undoes the
// changes of the table.
func (q *queue) command(plan func(x *change) error) error {
	if q.closed.Load() {
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	}
	d, x := q.dev, &q.change
	x.made, x.gone, q.actions = x.made[:0], x.gone[:0], nil
	d.mu.Lock()
	err := plan(x)
	if err != nil {
		d.back(x)
	}
	d.unlock()
	if err == nil {
		if err = q.perform(); err == nil {
			return nil
		}
		d.mu.Lock()
		d.back(x)
		d.mu.Unlock()
	}
	return err
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	return s.command(func(x *change) error {
		for i := range nodes {
			s.node(x, &nodes[i])
		}
		for _, id := range free {
			s.release(x, id)
		}
		return nil
	})
}

// release plans that the host frees a tensor.
func (s *stream) release(x *change, id op.TensorID) {
	if t := s.dev.tensors[id]; t != nil {
		if s.dev.remove(x, t) {
			s.free(t, nil)
		}
		return
	}
	s.give(s.lanes[0], s.dev.unknown(id))
}

// give plans that a lane frees an id of its member.
func (q *queue) give(l *lane.Lane, id op.TensorID) {
	if n := len(q.actions); n == 0 || q.actions[n-1].l != l {
		q.actions = append(q.actions, action{l: l})
	}
	a := &q.actions[len(q.actions)-1]
	a.free = append(a.free, id)
}

// unknown returns an id to pass to the first member in place of one that is not in the table, so that the member returns the error.
func (d *device) unknown(id op.TensorID) op.TensorID {
	if d.kept[id] != nil {
		return d.unusedID
	}
	return id
}

// node plans one node: where it runs, which operands are copied there, and which tensors are freed.
func (s *stream) node(x *change, n *op.Node) {
	d := s.dev
	s.in, s.ts = s.in[:0], s.ts[:0]
	known := true
	for _, id := range n.Inputs {
		t := d.tensors[id]
		s.ts = append(s.ts, t)
		if t == nil {
			known = false
			s.in = append(s.in, op.Desc{ID: id})
			continue
		}
		s.in = append(s.in, t.desc)
	}
	m, place := d.members[0], 0
	if known {
		m, place = d.choose(n, s.in, s.ts, s.place)
	}
	l, c := s.lane(m), *n
	for i, t := range s.ts {
		id := d.unknown(n.Inputs[i])
		if t != nil {
			id = s.bring(t, m)
		}
		if id != n.Inputs[i] && &c.Inputs[0] == &n.Inputs[0] {
			c.Inputs = slices.Clone(n.Inputs)
		}
		c.Inputs[i] = id
	}
	for i, t := range s.ts[:min(len(s.ts), 64)] {
		if n.Drop>>i&1 == 0 || t == nil {
			continue
		}
		if t.held > 0 {
			c.Drop &^= 1 << i
		}
		if d.tensors[n.Inputs[i]] == t && d.remove(x, t) {
			s.free(t, t.on(m))
		}
	}
	if m.index != 0 {
		c.Outputs = slices.Clone(n.Outputs)
	}
	for i, o := range n.Outputs {
		id := d.define(x, o, place, m)
		if m.index != 0 {
			c.Outputs[i].ID = id
		}
	}
	m.nodes.Add(1)
	a := s.on(l)
	a.nodes = append(a.nodes, c)
}

// Write implements core.Stream. It copies data if earlier commands for the member are queued.
func (s *stream) Write(ctx context.Context, desc op.Desc, data []byte) error {
	return s.write(desc, func(l *lane.Lane, own op.Desc) error { return l.Write(ctx, own, data) })
}

// write creates a tensor on the preferred member. put writes it to a lane, given the member's description.
func (s *stream) write(desc op.Desc, put func(l *lane.Lane, own op.Desc) error) error {
	if s.closed.Load() {
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	}
	d := s.dev
	m := d.live(max(s.place, 0))
	own := desc
	own.ID = m.newID(desc.ID)
	if err := put(s.lane(m), own); err != nil {
		return err
	}
	desc.Shape = desc.Shape.Clone()
	d.mu.Lock()
	d.tensors[desc.ID] = &tensor{desc: desc, place: m.index, copies: []*copied{{m: m, id: own.ID}}}
	d.mu.Unlock()
	return nil
}

// Close implements core.Stream.
func (s *stream) Close() error {
	s.dev.mu.Lock()
	delete(s.dev.streams, s.queue)
	s.dev.mu.Unlock()
	return s.close()
}

func (q *queue) close() error {
	if q.closed.Swap(true) {
		return fmt.Errorf("router: stream: %w", core.ErrClosed)
	}
	var err error
	for _, l := range q.lanes {
		err = errors.Join(err, l.Close())
	}
	return err
}
