package lane

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Lane is a queue in front of a stream. As with a stream, only one goroutine at a time may call its methods. Gates and tickets are safe
// for concurrent use.
type Lane struct {
	Device *Device
	Stream core.Stream // for calls within Do; not to be used elsewhere

	most      int64                 // greatest number of bytes of elements on the host
	translate func(err error) error // applied to errors of the device
	ctx       context.Context       // ends when the lane is closed
	cancel    context.CancelFunc

	last  *Gate // gate of the last Mark, or nil; only the goroutine that calls the lane uses last and dirty
	dirty bool  // there were commands since last

	failing  sync.Mutex // guards the fields below
	failures []failure  // refusals that are not reported yet
	marks    int        // number of marks that were passed
	told     bool       // the lane has reported that the device is lost

	mu     sync.Mutex
	queue  []command
	busy   chan struct{} // closed when the goroutine ends; nil if none runs
	closed bool

	holding sync.Mutex    // guards held; separate from mu, because commands release their bytes while push executes them
	held    int64         // bytes of elements on the host that queued commands hold
	room    chan struct{} // receives an element when held has decreased
}

// command is an entry of the queue.
type command struct {
	wait func(ctx context.Context) // returns when do may be called; nil: at once
	do   func(dropped error)       // called once; the error is not nil if the lane was closed before
}

// New returns a lane for stream s of d, which the lane then owns. most is the greatest number of bytes of elements that queued commands
// hold on the host; a single tensor may be larger. translate, if not nil, is applied to errors of the device before waits return them.
func New(d *Device, s core.Stream, most int64, translate func(error) error) *Lane {
	if translate == nil {
		translate = func(err error) error { return err }
	}
	l := &Lane{Device: d, Stream: s, most: most, translate: translate, room: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Context returns a context that ends when the lane is closed.
func (l *Lane) Context() context.Context { return l.ctx }

func closedError() error { return fmt.Errorf("lane: stream: %w", core.ErrClosed) }

// canceled returns the error of a call whose context has ended.
func canceled(ctx context.Context) error {
	return fmt.Errorf("lane: %w: %w", core.ErrCanceled, context.Cause(ctx))
}

// push executes a command, at once if the queue is empty, else in order. do must not wait for the device. It may run while mu is locked, so
// it must not call methods that lock mu.
func (l *Lane) push(c command) {
	l.dirty = true
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		c.do(closedError())
		return
	case l.busy == nil && c.wait == nil:
		c.do(nil)
	default:
		l.queue = append(l.queue, c)
		if l.busy == nil {
			l.busy = make(chan struct{})
			go l.work()
		}
	}
	l.mu.Unlock()
}

// Do calls do if nothing is queued and the lane is open, and reports whether it did. do may call the stream.
func (l *Lane) Do(do func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy != nil || l.closed {
		return false
	}
	l.dirty = true
	do()
	return true
}

// take reserves n bytes for elements on the host. It waits until they fit the limit, or until earlier commands hold no bytes. leave
// releases them.
func (l *Lane) take(ctx context.Context, n int64) error {
	for {
		l.holding.Lock()
		fits := l.held == 0 || l.held+n <= l.most
		if fits {
			l.held += n
		}
		l.holding.Unlock()
		if fits {
			return nil
		}
		select {
		case <-l.room:
		case <-ctx.Done():
			return canceled(ctx)
		case <-l.ctx.Done():
			return closedError()
		}
	}
}

func (l *Lane) leave(n int64) {
	l.holding.Lock()
	l.held -= n
	l.holding.Unlock()
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// work passes the queued commands to the device.
func (l *Lane) work() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			close(l.busy)
			l.busy, l.queue = nil, nil
			l.mu.Unlock()
			return
		}
		c := l.queue[0]
		l.queue[0] = command{}
		l.queue = l.queue[1:]
		l.mu.Unlock()
		if c.wait != nil {
			c.wait(l.ctx)
		}
		var dropped error
		if l.ctx.Err() != nil {
			dropped = closedError()
		}
		c.do(dropped)
	}
}

// Settle waits until nothing is queued.
func (l *Lane) Settle(ctx context.Context) error {
	for {
		l.mu.Lock()
		busy := l.busy
		l.mu.Unlock()
		if busy == nil {
			return nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return canceled(ctx)
		}
	}
}

// Close drops what is queued and closes the stream. The loss of the device is no error.
func (l *Lane) Close() error {
	l.mu.Lock()
	l.closed = true
	busy := l.busy
	l.mu.Unlock()
	l.cancel()
	if busy != nil {
		<-busy
	}
	return IgnoreLost(l.Stream.Close())
}

// Gate is a position in a lane. It opens when the commands before it have been passed to the device.
type Gate struct {
	Lane  *Lane
	open  chan struct{}
	event core.Event // of the device, after the commands; set before open is closed, then only waited for
	marks int        // number of marks that the lane had passed, including this one, if it is a mark
}

// Gate returns a gate that a later command of the lane opens: see Copy.
func (l *Lane) Gate() *Gate { return &Gate{open: make(chan struct{}), Lane: l} }

// pass opens the gate at this position of the lane. The caller executes a command of the lane.
func (g *Gate) pass(dropped error) {
	if dropped != nil {
		g.event = core.Failed(dropped)
	} else {
		g.event = g.Lane.Stream.Signal()
	}
	close(g.open)
}

// through waits until the gate is open or ctx has ended.
func (g *Gate) through(ctx context.Context) {
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

func (g *Gate) isOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// Used reports whether there were commands.
func (l *Lane) Used() bool { return l.dirty || l.last != nil }

// Mark returns a gate after all commands so far.
func (l *Lane) Mark() *Gate {
	if !l.dirty && l.last != nil {
		return l.last
	}
	g := l.Gate()
	l.push(command{do: func(dropped error) {
		l.failing.Lock()
		l.marks++
		g.marks = l.marks
		l.failing.Unlock()
		g.pass(dropped)
	}})
	l.last, l.dirty = g, false
	return g
}

// Await orders all later commands after a gate of another lane of the same backend.
func (l *Lane) Await(g *Gate) {
	c := command{do: func(dropped error) {
		if dropped == nil && g.isOpen() {
			_ = l.Device.Note(l.Stream.Wait(g.event)) // an event that failed imposes no order; its own stream reports the failure
		}
	}}
	if !g.isOpen() {
		c.wait = g.through
	}
	l.push(c)
}

// dropped returns the ids of the operands that a node frees.
func dropped(n *op.Node) (ids []op.TensorID) {
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
