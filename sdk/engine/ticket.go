package engine

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// ticket is a read. When its turn comes it takes hold of the tensor; Wait copies the elements.
type ticket[V any] struct {
	s     *stream[V]
	id    op.TensorID
	bytes int // wanted
	dst   []byte
	done  latch // opens when resolved

	err   error
	mark  Mark   // of an asynchronous queue: when staged is filled
	stage []byte // elements on their way
	place uint64

	given bool     // up: nobody waits any more; guarded by the device
	cell  *cell[V] // whose holder the ticket is; guarded by the device

	before, after *ticket[V] // in the device's list of those with a cell
}

// hang puts t into the list of tickets that hold tensors. The caller holds mu.
func (d *device[V]) hang(t *ticket[V]) {
	t.after = d.tickets
	if t.after != nil {
		t.after.before = t
	}
	d.tickets = t
}

// unhang takes t out of that list. The caller holds mu.
func (d *device[V]) unhang(t *ticket[V]) {
	if t.before != nil {
		t.before.after = t.after
	} else {
		d.tickets = t.after
	}
	if t.after != nil {
		t.after.before = t.before
	}
	t.before, t.after = nil, nil
}

// Read implements core.Stream.
func (s *stream[V]) Read(id op.TensorID, dst []byte) core.Ticket {
	return s.read(id, len(dst), dst)
}

// read makes a ticket for n bytes; none for as many as the tensor has if n is negative.
func (s *stream[V]) read(id op.TensorID, n int, dst []byte) *ticket[V] {
	t := &ticket[V]{s: s, id: id, bytes: n, dst: dst}
	if s.idle(t.resolve) {
		return t
	}
	if err := s.push(func(p *pending[V]) { p.add(command[V]{kind: doRead, ticket: t}) }); err != nil {
		t.err = err
		t.done.open()
	}
	return t
}

// resolve takes hold of the tensor, when it is the turn of the read.
func (t *ticket[V]) resolve() {
	s := t.s
	c, err := s.dev.hold(t.id)
	name := s.dev.backend.name()
	switch {
	case err == core.ErrStale || err == core.ErrUnknownTensor:
		err = fmt.Errorf("%s: read %v: %w", name, t.id, err)
	case err == nil && t.bytes >= 0 && t.bytes != c.desc.Bytes():
		err = fmt.Errorf("%s: read %v, got room for %d bytes, want %d: %w", name, t.id, t.bytes, c.desc.Bytes(), core.ErrShape)
	case err == nil && s.async != nil:
		if t.bytes >= 0 {
			t.stage = make([]byte, c.desc.Bytes())
			err = guard(func() error { return s.async.Fetch(t.stage, c.desc, c.value) })
		}
		if err == nil {
			t.mark, err = s.record()
		}
	}
	t.err, t.place = err, s.done
	d := s.dev
	d.mu.Lock()
	if c != nil && err == nil && !t.given {
		t.cell, c = c, nil
		d.hang(t)
	}
	d.mu.Unlock()
	if c != nil {
		d.drop(c)
	}
	t.done.open()
}

// reach waits until the ticket is resolved. When ctx ends first, the ticket is given up.
func (t *ticket[V]) reach(ctx context.Context) error {
	if !t.done.isOpen.Load() && ctx.Err() == nil {
		t.s.help(ctx, &t.done)
	}
	if t.done.isOpen.Load() {
		return t.err
	}
	var err error
	select {
	case <-t.done.opened():
		return t.err
	case <-ctx.Done():
		err = t.s.dev.backend.canceled(ctx)
	case <-t.s.quit:
		err = t.s.closedError()
	}
	t.giveUp()
	return err
}

func (t *ticket[V]) giveUp() {
	d := t.s.dev
	d.mu.Lock()
	c := t.cell
	t.given, t.cell = true, nil
	if c != nil {
		d.unhang(t)
	}
	d.mu.Unlock()
	if c != nil {
		d.drop(c)
	}
}

// take makes the caller the holder of the tensor, and keeps the device open, until it calls leave.
func (t *ticket[V]) take() (c *cell[V], err error) {
	d := t.s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case t.cell == nil && d.closed:
		return nil, d.closedError()
	case t.cell == nil:
		return nil, fmt.Errorf("%s: read %v: waited for before: %w", d.backend.name(), t.id, core.ErrClosed)
	}
	c, t.cell, t.given = t.cell, nil, true
	d.unhang(t)
	d.using.Add(1)
	return c, nil
}

// leave ends what take began.
func (d *device[V]) leave(c *cell[V]) {
	d.drop(c)
	d.using.Done()
}

// Wait implements core.Ticket.
func (t *ticket[V]) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		t.giveUp()
		return t.s.dev.backend.canceled(ctx)
	}
	if err := t.reach(ctx); err != nil {
		return err
	}
	c, err := t.take()
	if err != nil {
		return err
	}
	defer t.s.dev.leave(c)
	if t.mark == nil {
		return guard(func() error { return t.s.dev.author.Download(t.dst, c.desc, c.value) })
	}
	switch failed, err := t.settled(ctx, c); {
	case err != nil:
		return err
	case failed: // the copy, or a command that is nothing to the tensor
		return t.s.dev.download(t.dst, c)
	}
	copy(t.dst, t.stage)
	return nil
}

// settled waits until an asynchronous device has come to the ticket. err is that of ctx or of the tensor, and failed says
// that something else may have gone wrong on the way.
func (t *ticket[V]) settled(ctx context.Context, c *cell[V]) (failed bool, err error) {
	if failed, err = t.s.waitMark(ctx, t.mark, t.place); err != nil {
		return failed, err
	}
	d := t.s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return failed, c.poison()
}
