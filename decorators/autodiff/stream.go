package autodiff

import (
	"context"
	"fmt"
	"math/bits"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// stream is a view of a stream of the device: the recording view or, with mute set, the view that Untracked returns.
type stream struct {
	*tape
	queue *queue
	inner core.Stream // the same view of the stream below
	mute  bool
}

var _ core.Stream = (*stream)(nil)

// queue is a stream below. Its owner calls it; other streams of the device call it before they free tensors that it used.
type queue struct {
	mu    sync.Mutex // held while a method of the stream below runs; taken after tape.mu, never before
	inner core.Stream
	slot  int
}

// slots is the number of streams that the tape distinguishes when it records which streams used a tensor; further streams share
// slots.
const slots = 64

// enter assigns a slot to a stream below.
func (t *tape) enter(inner core.Stream) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := &queue{inner: inner}
	for i := range t.open {
		if len(t.open[i]) < len(t.open[q.slot]) {
			q.slot = i
		}
	}
	t.open[q.slot] = append(t.open[q.slot], q)
	return q
}

// leave releases the slot of a stream.
func (t *tape) leave(q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.open[q.slot]
	for i := range list {
		if list[i] == q {
			t.open[q.slot] = append(list[:i:i], list[i+1:]...)
			return
		}
	}
}

// used records that the tape read v on s, or that the host released v on s while the tape still needs it.
func (s *stream) used(v *value) { v.users |= 1 << s.queue.slot }

// order makes s wait for the other streams that used the tensors which it frees next.
func (s *stream) order() {
	users := s.after
	s.after = 0
	for ; users != 0; users &= users - 1 {
		for _, q := range s.open[bits.TrailingZeros64(users)] {
			if q == s.queue {
				continue
			}
			q.mu.Lock()
			e := q.inner.Signal()
			q.mu.Unlock()
			s.queue.mu.Lock()
			_ = s.inner.Wait(e) // fails if the other stream has ended and uses nothing any more
			s.queue.mu.Unlock()
		}
	}
}

// submit passes commands to the stream below.
func (s *stream) submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) == 0 && len(free) == 0 {
		return nil
	}
	s.order()
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.inner.Submit(nodes, free)
}

// flush sends what is queued to the stream below.
func (s *stream) flush() error {
	err := s.submit(s.out, s.dead)
	clear(s.out)
	s.out = s.out[:0]
	if err == nil {
		s.dead = s.dead[:0]
	}
	return err
}

// Submit records the nodes with tracked operands and passes all nodes on. If it returns an error, nothing has changed.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range nodes {
		n := &nodes[i]
		for k, id := range n.Inputs {
			if _, err := s.find(id); err != nil {
				return s.settled(fmt.Errorf("autodiff: %v: operand %d, %w", n.Op, k, err))
			}
		}
		if err := s.node(n, s.mute); err != nil {
			return s.settled(err)
		}
	}
	err := s.giveUp(free)
	if err == nil {
		err = s.submit(s.out, s.gone)
	}
	return s.settled(err)
}

// giveUp ends the host's hold on tensors.
func (s *stream) giveUp(free []op.TensorID) error {
	for _, id := range free {
		v, err := s.find(id)
		if err != nil {
			return fmt.Errorf("autodiff: free %w", err)
		}
		if v == nil || s.freeByHost(v) { // the stream below reports the error for unknown ids
			s.gone = append(s.gone, id)
		}
	}
	return nil
}

// settled ends a command that the stream below answered with err. If err is nil, it keeps what the command recorded and frees what it
// released; otherwise it undoes both.
func (s *stream) settled(err error) error {
	clear(s.out)
	s.out, s.gone = s.out[:0], s.gone[:0]
	if err != nil {
		s.after = 0
		for _, p := range s.parting {
			p.v.parting = false
			p.v.live = p.v.live || p.freed
		}
		for i := len(s.made) - 1; i >= 0; i-- {
			v := s.made[i]
			v.live = false
			s.drop(v)
		}
	} else {
		for _, p := range s.parting {
			p.v.parting = false
			if s.drop(p.v); p.v.live {
				s.used(p.v)
			}
		}
	}
	clear(s.parting)
	clear(s.made)
	s.parting, s.made = s.parting[:0], s.made[:0]
	if len(s.dead) > 0 {
		_ = s.flush() // if it fails, a later command frees, or reports why it cannot
	}
	return err
}

// Write creates a constant.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	return s.constant("write", s, d, func(inner core.Stream) error { return inner.Write(ctx, d, data) })
}

// Read reads from the stream below.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.inner.Read(id, dst)
}

// Signal returns an event of the stream below.
func (s *stream) Signal() core.Event {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.inner.Signal()
}

// Wait waits on the stream below.
func (s *stream) Wait(e core.Event) error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.inner.Wait(e)
}

// Close closes the stream below. What was recorded on it stays.
func (s *stream) Close() error {
	s.leave(s.queue)
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.inner.Close()
}
