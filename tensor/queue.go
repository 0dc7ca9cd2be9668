package tensor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// queue is a stream of the device, with the nodes that have not been sent yet. Its commands are numbered: a tensor records the
// number of the command that creates it, and other queues wait for that command.
type queue struct {
	dev     *device
	closed  atomic.Bool   // set under mu
	reached atomic.Uint64 // last command that is known to be done, because a caller waited for it

	mu        sync.Mutex // guards the fields below
	stream    core.Stream
	untracked core.Stream // the same stream without recording for gradients
	muted     bool        // whether pending will be sent to untracked
	pending   []op.Node
	dead      []op.TensorID
	sent      uint64            // number of commands sent; pending becomes sent+1
	event     core.Event        // after command marked
	marked    uint64            // 0 if there is no event
	waited    map[*queue]uint64 // by other queue: the last of its commands after which later commands of this queue are ordered
	refused   error             // error of a command that the device did not accept, for the next Sync
	id        op.TensorID       // the next reserved id
	ids       int
	current   op.Node            // the node that is being enqueued
	next      func() op.TensorID // nextID
}

// flushAt is the number of queued nodes at which they are sent. It is small, so that work starts early.
const flushAt = 32

// live returns q, or the first queue if q was closed.
func (q *queue) live() *queue {
	if q.closed.Load() {
		return q.dev.first
	}
	return q
}

func (q *queue) closedError() error {
	return fmt.Errorf("tensor: device %s: %w", q.dev, core.ErrClosed)
}

// record sets whether the following nodes are recorded for gradients. The caller holds mu.
func (q *queue) record(mute bool) {
	if mute != q.muted {
		q.flush()
		q.muted = mute
	}
}

// enqueue lowers n, whose outputs already have ids, and appends the nodes to pending. The caller holds mu. If enqueue returns an
// error, it has changed nothing.
func (q *queue) enqueue(n *op.Node, in []op.Desc) error {
	if q.closed.Load() {
		return q.closedError()
	}
	from := len(q.pending)
	nodes, free, err := q.dev.target.Append(q.pending, n, in, q.next)
	if err != nil {
		return err
	}
	q.pending = nodes
	if len(nodes)-from != 1 || nodes[from].Op != n.Op || looksUp[n.Op] {
		q.dev.origins.note(n.Op, n.Outputs[0], nodes[from:])
	}
	q.dead = append(q.dead, free...)
	if len(q.pending) >= flushAt {
		q.flush()
	}
	return nil
}

// to returns the stream for pending nodes. The caller holds mu.
func (q *queue) to() core.Stream {
	if q.muted {
		return q.untracked
	}
	return q.stream
}

// flush sends the queued nodes. The caller holds mu. Nodes that the device refuses, and nodes with an operand whose node was
// refused, are dropped, and their outputs are recorded in faults.
func (q *queue) flush() {
	if q.closed.Load() {
		return
	}
	if q.dev.faults.some() {
		q.sieve()
	}
	if len(q.pending) == 0 && len(q.dead) == 0 {
		return
	}
	err := q.to().Submit(q.pending, q.dead)
	if len(q.pending) > 0 {
		q.sent++
	}
	if err != nil {
		q.refuse(fmt.Errorf("tensor: submit %d nodes to %s: %w", len(q.pending), q.dev, err))
		return
	}
	clear(q.pending)
	q.pending, q.dead = q.pending[:0], q.dead[:0]
}

// release frees id after the last queued node that uses it, or, if no queued node uses it, when the queue is next sent. The
// caller holds mu.
func (q *queue) release(id op.TensorID) {
	for i := len(q.pending) - 1; i >= 0; i-- {
		n := &q.pending[i]
		for k, in := range n.Inputs {
			if in == id && k < 64 {
				n.Drop |= 1 << k
				return
			}
		}
	}
	if !q.dev.faults.forget(id) && !q.closed.Load() {
		q.dead = append(q.dead, id)
	}
}

// lockFor orders q after the computation of ts, and locks it.
func (q *queue) lockFor(ts []*Tensor) {
	q.mu.Lock()
	for _, t := range ts {
		if s := t.state; s.home != q && q.waited[s.home] < s.made && !s.home.closed.Load() {
			q.mu.Unlock()
			q.follow(s.home, s.made)
			q.mu.Lock()
		}
	}
}

// follow orders later commands of q after command n of another queue. The caller holds neither lock.
func (q *queue) follow(o *queue, n uint64) {
	if o == q || o.closed.Load() {
		return
	}
	e, n := o.reach(n)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waited[o] >= n || q.closed.Load() {
		return
	}
	if e == nil { // closed, and all is done
		return
	}
	q.flush() // the queued nodes need not wait
	if err := q.stream.Wait(e); err != nil {
		q.complain(err)
		return
	}
	q.waited[o] = n
}

// reach returns an event after command n or a later one, and the number of that command. If the queue is closed the event is nil,
// because all commands are done.
func (q *queue) reach(n uint64) (core.Event, uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Load() {
		return nil, n
	}
	if q.sent < n {
		q.flush()
	}
	if q.event == nil || q.marked < n {
		q.event, q.marked = q.stream.Signal(), q.sent
	}
	return q.event, q.marked
}

// complain keeps an error for the next Sync. The caller holds mu.
func (q *queue) complain(err error) {
	if q.refused == nil {
		q.refused = err
	}
}

// Sync waits until all work of this queue is done, and returns the first error since the last Sync. It does not wait for other
// queues of the device.
func (q *queue) Sync(ctx context.Context) error {
	q.dev.sweep()
	q.mu.Lock()
	if q.closed.Load() {
		q.mu.Unlock()
		return q.closedError()
	}
	q.flush()
	e, refused := passing{q.stream.Signal(), q, q.sent}, q.refused
	q.refused = nil
	q.mu.Unlock()
	err := e.Wait(ctx)
	if refused != nil {
		return errors.Join(refused, err)
	}
	return err
}

// Idle reports whether all work of this queue is known to be done, because a caller waited for it: by Sync, or by reading the
// tensor that was computed last. Idle does not wait.
func (q *queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed.Load() || len(q.pending) == 0 && q.reached.Load() >= q.sent
}

// passing is a ticket for command n of a queue.
type passing struct {
	core.Ticket
	q *queue
	n uint64
}

// Wait waits for the ticket, and records that command n is done.
func (p passing) Wait(ctx context.Context) error {
	err := p.Ticket.Wait(ctx)
	for was := p.q.reached.Load(); err == nil && was < p.n && !p.q.reached.CompareAndSwap(was, p.n); {
		was = p.q.reached.Load()
	}
	return p.q.dev.origins.explain(err)
}

// send submits the queued nodes, without waiting.
func (q *queue) send() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush()
}

// forget removes the entry of a closed queue.
func (q *queue) forget(o *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waited, o)
}

// end closes a queue other than the first.
func (q *queue) end() error {
	if q.closed.Load() {
		return nil
	}
	err := q.Sync(context.Background())
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Swap(true) {
		return nil
	}
	delete(d.queues, q)
	err = errors.Join(err, q.stream.Close())
	for o := range d.queues {
		o.forget(q)
	}
	return err
}
