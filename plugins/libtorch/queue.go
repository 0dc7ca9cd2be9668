package libtorch

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// queue executes the commands of one stream in a goroutine that is locked to an operating system thread, because torch keeps modes,
// error messages and thread pools per thread. Commands are passed in order, and Execute does not wait for them.
type queue struct {
	dev *device

	// Fields of the engine's goroutine, which calls one method at a time.
	since   []*command // commands since the last Check
	fetches []*command // commands since the last mark
	ahead   ahead
	stopped atomic.Bool

	mu     sync.Mutex // guards the fields below
	wake   sync.Cond  // signaled for a new command, and at the end
	pend   []*command
	trash  []torch.Handle
	pushed uint64
	asleep bool
	closed bool

	done    atomic.Uint64
	reach   sync.Cond // signaled when done has increased; uses mu
	waiting int       // number of goroutines that wait for reach
	ended   chan struct{}
}

var (
	_ engine.Asynchronous[*tensor] = (*queue)(nil)
	_ engine.Checked               = (*queue)(nil)
	_ engine.Interrupter           = (*queue)(nil)
)

// kind is the kind of a command.
type kind uint8

const (
	doNode kind = iota
	doUpload
	doFetch
	doAwait
	doPlan
	doGroup
)

// command is an entry of the queue.
type command struct {
	kind  kind
	node  op.Node
	in    []*tensor
	out   []*tensor
	data  []byte     // source of doUpload, destination of doFetch
	done  func()     // for doUpload: called when data has been read
	on    *mark      // for doAwait: the position to wait for
	plan  *plan      // for doPlan: the plan to run
	spans *[]span    // for doPlan: receives the times of steps; may be nil
	run   kernel     // for doGroup: the kernel of the sequence
	parts []*command // for doGroup: the commands that this command replaces, which hold the tensors
	err   error      // valid when the command is done
}

func newQueue(d *device) (*queue, error) {
	q := &queue{dev: d, ended: make(chan struct{})}
	q.wake.L, q.reach.L = &q.mu, &q.mu
	go q.work()
	return q, nil
}

// push appends a command to the queue, after the commands that are held back. The tensors of the command stay alive until the command is
// done.
func (q *queue) push(c *command) {
	q.unhold()
	c.retain()
	q.enqueue(c)
}

// retain keeps the tensors of a command alive until it is done.
func (c *command) retain() {
	for _, t := range c.in {
		t.retain()
	}
	for _, t := range c.out {
		t.retain()
	}
}

// enqueue appends a command, whose tensors are retained, to the queue.
func (q *queue) enqueue(c *command) {
	q.mu.Lock()
	q.pend = append(q.pend, c)
	q.pushed++
	wake := q.asleep
	q.mu.Unlock()
	if wake {
		q.wake.Signal()
	}
}

// Execute implements engine.Queue.
func (q *queue) Execute(c *engine.Call[*tensor]) error {
	var bytes int64
	for i := range c.Node.Outputs {
		bytes += int64(c.Node.Outputs[i].Bytes())
	}
	if bytes > q.dev.limit {
		return fmt.Errorf("results of %d bytes, at most %d: %w", bytes, q.dev.limit, core.ErrOutOfMemory)
	}
	cmd := &command{kind: doNode, node: *c.Node, in: slices.Clone(c.In)}
	cmd.out = make([]*tensor, len(c.Out))
	for i := range c.Out {
		t := newTensor(c.Node.Outputs[i], q)
		cmd.out[i], c.Out[i] = t, t
	}
	q.since = append(q.since, cmd)
	if !q.dev.fuses {
		q.push(cmd)
		return nil
	}
	q.ahead.learn(c.Node, c.Descs)
	cmd.retain()
	q.offer(waiting{cmd, c.Owned})
	return nil
}

// Check implements engine.Checked.
func (q *queue) Check() func() error {
	if len(q.since) == 1 {
		c := q.since[0]
		q.since = q.since[:0]
		return c.failure
	}
	all := slices.Clone(q.since)
	q.since = q.since[:0]
	return func() error {
		for _, c := range all {
			if err := c.failure(); err != nil {
				return fmt.Errorf("%v: %w", c.node.Op, err)
			}
		}
		return nil
	}
}

// errPoisoned is the error of a command with an operand that could not be computed.
var errPoisoned = errors.New("an operand was not computed")

// failure returns the error of the command. It returns nil if only an operand was missing: the engine already knows the cause.
func (c *command) failure() error {
	if c.err == errPoisoned {
		return nil
	}
	return c.err
}

// mark is a position in the queue. fetches are the fetches before it whose errors Wait returns.
type mark struct {
	q       *queue
	at      uint64
	fetches []*command
}

// Record implements engine.Asynchronous.
func (q *queue) Record() (engine.Mark, error) {
	q.unhold()
	q.mu.Lock()
	m := &mark{q: q, at: q.pushed, fetches: q.fetches}
	q.mu.Unlock()
	q.fetches = nil
	return m, nil
}

// Wait implements engine.Mark.
func (m *mark) Wait() error {
	q := m.q
	if q.done.Load() < m.at {
		q.mu.Lock()
		q.waiting++
		for q.done.Load() < m.at {
			q.reach.Wait()
		}
		q.waiting--
		q.mu.Unlock()
	}
	for _, c := range m.fetches {
		if err := c.failure(); err != nil {
			return err
		}
	}
	return nil
}

// Await implements engine.Asynchronous.
func (q *queue) Await(em engine.Mark) error {
	m, ok := em.(*mark)
	if !ok {
		return fmt.Errorf("mark of another backend: %w", core.ErrAttr)
	}
	if m.q != q && m.q.done.Load() < m.at {
		q.push(&command{kind: doAwait, on: m})
	}
	return nil
}

// Enqueue implements engine.Asynchronous.
func (q *queue) Enqueue(d op.Desc, data []byte, done func()) (*tensor, error) {
	if int64(d.Bytes()) > q.dev.limit {
		return nil, fmt.Errorf("%v, at most %d bytes: %w", d, q.dev.limit, core.ErrOutOfMemory)
	}
	t := newTensor(d, q)
	c := &command{kind: doUpload, out: []*tensor{t}, data: data, done: done}
	q.since = append(q.since, c)
	q.push(c)
	return t, nil
}

// Fetch implements engine.Asynchronous.
func (q *queue) Fetch(dst []byte, _ op.Desc, v *tensor) error {
	c := &command{kind: doFetch, in: []*tensor{v}, data: dst}
	q.fetches = append(q.fetches, c)
	q.push(c)
	return nil
}

// Interrupt implements engine.Interrupter: commands that have not begun are not executed.
func (q *queue) Interrupt() { q.stopped.Store(true) }

// Close implements engine.Queue.
func (q *queue) Close() {
	q.unhold()
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Signal()
	<-q.ended
}

// discard deletes handles on the thread of the queue or, after Close, by the device.
func (q *queue) discard(hs ...torch.Handle) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		q.dev.remove(hs...)
		return
	}
	q.trash = append(q.trash, hs...)
	wake := q.asleep
	q.mu.Unlock()
	if wake {
		q.wake.Signal()
	}
}

// work executes commands until the queue is closed. The goroutine of work stays locked to its thread, which ends with the goroutine.
func (q *queue) work() {
	runtime.LockOSThread()
	defer close(q.ended)
	w := newWorker(q.dev, q.dev.lib.Thread())
	var pend []*command
	var trash []torch.Handle
	for {
		q.mu.Lock()
		for len(q.pend) == 0 && len(q.trash) == 0 && !q.closed {
			q.asleep = true
			q.wake.Wait()
			q.asleep = false
		}
		if len(q.pend) == 0 && len(q.trash) == 0 {
			q.mu.Unlock()
			return
		}
		pend, q.pend = q.pend, pend[:0]
		trash, q.trash = q.trash, trash[:0]
		q.mu.Unlock()
		w.thread.Delete(trash...)
		for i, c := range pend {
			q.run(w, c)
			pend[i] = nil
			q.mu.Lock()
			q.done.Add(1)
			if q.waiting > 0 {
				q.reach.Broadcast()
			}
			q.mu.Unlock()
		}
	}
}

// run executes a command.
func (q *queue) run(w *worker, c *command) {
	stopped := q.stopped.Load()
	switch c.kind {
	case doNode:
		c.err = core.ErrCanceled
		if !stopped {
			c.err = w.node(c)
		}
	case doUpload:
		c.err = core.ErrCanceled
		if !stopped {
			c.out[0].h, c.err = w.upload(c.out[0].desc, c.data)
		}
		c.data = nil
		c.done()
	case doFetch:
		if c.err = w.fetch(c.data, c.in[0]); stopped && c.err == errPoisoned {
			c.err = core.ErrClosed // the command that creates an operand may have been canceled, which nobody reports
		}
		c.data = nil
	case doPlan:
		c.err = w.program(c, q.stopped.Load)
	case doAwait:
		_ = c.on.Wait() // the stream of the mark reports its failures
	case doGroup:
		q.group(w, c)
		return
	}
	lost := errors.Is(c.err, core.ErrCanceled)
	for _, t := range c.in {
		lost = lost || t.lost
	}
	if lost && c.err == errPoisoned {
		c.err = core.ErrClosed
	}
	for _, t := range c.out {
		t.failed = c.err != nil
		t.lost = lost && t.failed
	}
	w.drop(c)
}

// drop ends the uses of tensors by a command that is done.
func (w *worker) drop(c *command) {
	for _, list := range [...][]*tensor{c.in, c.out} {
		for _, t := range list {
			if t.drop() && t.h != 0 {
				w.thread.Delete(t.handles()...)
			}
		}
	}
	c.in, c.out, c.node = nil, nil, op.Node{Op: c.node.Op}
}
