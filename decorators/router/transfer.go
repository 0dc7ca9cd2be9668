package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// bring plans that a tensor is on a member, and returns its id there. What it plans does not wait on the caller's
// goroutine. The caller holds the device's mu.
func (q *queue) bring(t *tensor, to *member) op.TensorID {
	l := q.lane(to)
	if c := t.on(to); c != nil {
		q.behind(l, c)
		return c.id
	}
	from := t.source()
	own := t.desc
	own.ID = to.newID(t.desc.ID)
	c := &copied{m: to, id: own.ID, gate: newGate(l)}
	t.copies = append(t.copies, c)
	src, link := q.lane(from.m), &q.dev.links[from.m.index][to.index]
	link.count(own.Bytes())
	q.behind(src, from)
	if link.peer {
		from.readers = append(from.readers, c.gate)
		q.do(func() { l.copyFrom(src.mark(), from, own, c.gate) })
		return c.id
	}
	q.do(func() {
		if int64(own.Bytes()) > min(from.m.memory, to.memory) {
			l.tooLarge(src.read(q.dev, from.id, nil), own, c.gate)
			return
		}
		_ = l.take(l.ctx, int64(own.Bytes()), q.dev.router.held) // ends early when the lane is closed, which drops the command
		data := make([]byte, own.Bytes())
		l.receive(src.read(q.dev, from.id, data), data, own, c.gate)
	})
	return c.id
}

// copyFrom makes own by core.PeerCopy behind a mark of the lane that has it, and then passes the gate.
func (l *lane) copyFrom(after *gate, from *copied, own op.Desc, g *gate) {
	c := command{do: func(dropped error) {
		err := dropped
		if err == nil {
			err = from.m.bad(from.id)
		}
		if err == nil {
			_ = l.m.note(l.inner.Wait(after.event)) // it failed: the copy finds that too
			if err = l.m.note(l.m.peers.CopyFrom(l.inner, own, from.m.dev, from.id)); err != nil {
				l.fail(err)
			}
		}
		if err != nil {
			l.m.spoil(own.ID, err)
		}
		g.pass(dropped)
	}}
	if !after.isOpen() {
		c.wait = after.through
	}
	l.push(c)
}

// receive makes own from the elements that a ticket reads, and then passes the gate. The room for data was taken.
func (l *lane) receive(t *ticket, data []byte, own op.Desc, g *gate) {
	var err error
	l.push(command{
		wait: func(ctx context.Context) { err = t.Wait(ctx) },
		do: func(dropped error) {
			defer l.leave(int64(len(data)))
			if dropped != nil {
				err = dropped
			} else if err == nil {
				if err = l.adopt(own, data, func() {}); err != nil {
					l.fail(err)
				}
			}
			if err != nil {
				l.m.spoil(own.ID, err)
			}
			g.pass(dropped)
		},
	})
}

// tooLarge poisons own, which no member can hold, and then passes the gate. The ticket is of a read that has to fail: with
// the failure of the tensor, or as there is no room for its elements.
func (l *lane) tooLarge(t *ticket, own op.Desc, g *gate) {
	var err error
	l.push(command{
		wait: func(ctx context.Context) { err = t.Wait(ctx) },
		do: func(dropped error) {
			var n *core.NodeError
			if !errors.As(err, &n) {
				err = fmt.Errorf("router: copy of %v to %s: %w", own, l.m.spec, core.ErrOutOfMemory)
			}
			l.m.spoil(own.ID, err)
			g.pass(dropped)
		},
	})
}

// adopt makes a tensor of data that the caller hands over. The lane executes.
func (l *lane) adopt(own op.Desc, data []byte, release func()) error {
	if h := l.m.host; h != nil {
		if err := h.Adopt(l.inner, own, data, release); err == nil {
			return nil
		}
	}
	err := l.m.note(l.inner.Write(l.ctx, own, data))
	if err == nil {
		release()
	}
	return err
}

// produce appends a command that makes tensors out from tensors in and ends the life of gone. If an operand is missing, call is
// not made. An error of call poisons the results. done, which may be nil, is called at the end.
func (l *lane) produce(in, gone []op.TensorID, out []op.Desc, call func() error, done func()) {
	l.push(command{do: func(dropped error) {
		if done != nil {
			defer done()
		}
		err := dropped
		if err == nil {
			err = l.m.bad(in...)
		}
		if err == nil {
			if err = l.m.note(call()); err == nil {
				return
			}
			l.fail(err)
		}
		for _, d := range out {
			l.m.spoil(d.ID, err)
		}
		if there := l.m.forget(gone); len(there) > 0 {
			_ = l.m.note(l.inner.Submit(nil, there)) // the results say what is wrong
		}
	}})
}

var _ core.Ticket = (*ticket)(nil)
