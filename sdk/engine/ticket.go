package engine

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// ticket is a read. When the queue reaches it, it becomes a holder of the tensor. Wait copies the elements.
type ticket[V any] struct {
	s    *stream[V]
	id   op.TensorID
	dst  []byte
	done latch // opens when resolved

	err   error
	fetch *fetch // set by an asynchronous queue

	view bool // the elements are not copied

	// The lock of the device guards the fields below.
	abandoned     bool       // no goroutine waits any more
	cell          *cell[V]   // held by the ticket
	before, after *ticket[V] // neighbours in the device's list of tickets with a cell
}

// fetch is an asynchronous copy of elements in progress.
type fetch struct {
	stage []byte
	mark  Mark // reached when stage is filled
	place uint64
}

// link adds t to the list of tickets that hold tensors. The caller holds mu.
func (d *device[V]) link(t *ticket[V]) {
	t.after = d.tickets
	if t.after != nil {
		t.after.before = t
	}
	d.tickets = t
}

// unlink removes t from that list. The caller holds mu.
func (d *device[V]) unlink(t *ticket[V]) {
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
	return s.read(&ticket[V]{s: s, id: id, dst: dst})
}

func (s *stream[V]) read(t *ticket[V]) *ticket[V] {
	if err := s.do(command{kind: doRead, on: t}); err != nil {
		t.err = err
		t.done.open()
	}
	return t
}

// resolve makes t, which the queue has reached, a holder of its tensor.
func (s *stream[V]) resolve(t *ticket[V]) {
	d := s.dev
	s.enter()
	c, err := d.alive(t.id)
	switch {
	case err == core.ErrStale || err == core.ErrUnknownTensor:
		err = fmt.Errorf("%s: read %v: %w", d.backend.name(), t.id, err)
	case err == nil && !t.view && len(t.dst) != c.desc.Bytes():
		err = fmt.Errorf("%s: read %v, got room for %d bytes, want %d: %w", d.backend.name(), t.id, len(t.dst), c.desc.Bytes(), core.ErrShape)
	case err == nil:
		c.refs++
		if s.async != nil {
			s.leave()
			t.fetch, err = s.fetch(c, !t.view)
			s.enter()
		}
		if err == nil && !t.abandoned {
			t.cell = c
			d.link(t)
		} else {
			s.unhold(c)
		}
	}
	s.leave() // release the tensors that were freed earlier before the ticket opens
	t.err = err
	t.done.open()
}

// fetch records a mark. If elements is set, it first starts copying the elements.
func (s *stream[V]) fetch(c *cell[V], elements bool) (f *fetch, err error) {
	f = &fetch{place: s.done}
	if elements {
		f.stage = make([]byte, c.desc.Bytes())
		if err := guard(func() error { return s.async.Fetch(f.stage, c.desc, c.value) }); err != nil {
			return nil, err
		}
	}
	f.mark, err = s.record()
	return f, err
}

// reach waits until the ticket is resolved. If ctx or the stream ends first, the ticket is abandoned.
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
	t.abandoned, t.cell = true, nil
	if c != nil {
		d.unlink(t)
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
	c, t.cell, t.abandoned = t.cell, nil, true
	d.unlink(t)
	d.using.Add(1)
	return c, nil
}

// leave undoes take.
func (t *ticket[V]) leave(c *cell[V]) {
	d := t.s.dev
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
	defer t.leave(c)
	if t.fetch == nil {
		return guard(func() error { return t.s.dev.author.Download(t.dst, c.desc, c.value) })
	}
	switch failed, err := t.settled(ctx, c); {
	case err != nil:
		return err
	case failed: // either the copy failed, or only a command that is unrelated to the tensor
		return t.s.dev.download(t.dst, c)
	}
	copy(t.dst, t.fetch.stage)
	return nil
}

// settled waits until an asynchronous device has reached the ticket. err is the error of ctx or of the tensor. failed means that earlier
// work may have failed.
func (t *ticket[V]) settled(ctx context.Context, c *cell[V]) (failed bool, err error) {
	if failed, err = t.s.waitMark(ctx, t.fetch.mark, t.fetch.place); err != nil {
		return failed, err
	}
	d := t.s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return failed, c.poison()
}
