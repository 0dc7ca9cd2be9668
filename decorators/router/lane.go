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

// lane is the part of a stream on one member. Commands go straight to the member's stream. If a command has to wait for something
// on the host, it and later ones are queued, and a goroutine passes them to the member in order.
type lane struct {
	m      *member
	inner  core.Stream
	ctx    context.Context // ends when the lane is closed
	cancel context.CancelFunc

	last  *gate // of the last mark; nil for none. This and dirty are the caller's of the stream
	dirty bool  // there were commands since

	failing  sync.Mutex // guards what follows
	failures []failure  // refusals that are not reported yet
	marks    int        // that were passed
	told     bool       // the stream has reported that the member is lost

	mu     sync.Mutex
	queue  []command
	busy   chan struct{} // closed when the goroutine ends; nil while there is none
	closed bool

	holding sync.Mutex    // guards held apart from mu, since commands return their bytes while push executes them
	held    int64         // bytes of elements on the host that commands of the queue have
	room    chan struct{} // has an element when held has become less
}

// failure is a refusal behind so many marks.
type failure struct {
	marks int
	err   error
}

// mostFailures bounds the failures that a lane keeps.
const mostFailures = 16

// command is an entry of the queue.
type command struct {
	wait func(ctx context.Context) // returns when do may be called; nil: at once
	do   func(dropped error)       // is called once, with an error where the lane was closed before
}

// gate opens when a command was given to the member.
type gate struct {
	open  chan struct{}
	event core.Event // of the member, behind the command; set before open is closed, and only waited for
	marks int        // that the lane had passed with this one, where it is one
	lane  *lane
}

func newGate(l *lane) *gate { return &gate{open: make(chan struct{}), lane: l} }

// pass opens the gate at this place of the lane, which executes.
func (g *gate) pass(dropped error) {
	if dropped != nil {
		g.event = core.Failed(dropped)
	} else {
		g.event = g.lane.inner.Signal()
	}
	close(g.open)
}

// through waits until the gate is open or ctx ends.
func (g *gate) through(ctx context.Context) {
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

func (g *gate) isOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

func newLane(m *member, inner core.Stream) *lane {
	l := &lane{m: m, inner: inner, room: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *lane) closedError() error { return fmt.Errorf("router: stream: %w", core.ErrClosed) }

// push executes a command, at once if the queue is empty, else in order. do must not wait for the member. It runs while mu is
// locked, so the only method of the lane that it may call is leave.
func (l *lane) push(c command) {
	l.dirty = true
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		c.do(l.closedError())
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

// idle calls do if nothing is queued, and reports whether it did.
func (l *lane) idle(do func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy != nil || l.closed {
		return false
	}
	l.dirty = true
	do()
	return true
}

// take waits until there is room for n more bytes of elements on the host: less than most with them, or none before. What it
// waits for are commands before this one. leave gives them back.
func (l *lane) take(ctx context.Context, n, most int64) error {
	for {
		l.holding.Lock()
		fits := l.held == 0 || l.held+n <= most
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
			return l.closedError()
		}
	}
}

func (l *lane) leave(n int64) {
	l.holding.Lock()
	l.held -= n
	l.holding.Unlock()
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// work passes the queued commands to the member.
func (l *lane) work() {
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
			dropped = l.closedError()
		}
		c.do(dropped)
	}
}

// settle waits until nothing is queued.
func (l *lane) settle(ctx context.Context) error {
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

// mark returns a gate behind all commands so far.
func (l *lane) mark() *gate {
	if !l.dirty && l.last != nil {
		return l.last
	}
	g := newGate(l)
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

// await orders all later commands after a gate of another lane of the same backend.
func (l *lane) await(g *gate) {
	c := command{do: func(dropped error) {
		if dropped == nil && g.isOpen() {
			_ = l.m.note(l.inner.Wait(g.event)) // an event that failed orders nothing; its own stream reports the failure
		}
	}}
	if !g.isOpen() {
		c.wait = g.through
	}
	l.push(c)
}

// submit passes nodes and frees to the member. A refusal is returned where the command went straight to it; else it poisons the
// results and the next event reports it.
func (l *lane) submit(nodes []op.Node, free []op.TensorID) (refused error) {
	straight := l.idle(func() {
		refused = l.give(nodes, free)
	})
	if straight {
		return refused
	}
	l.push(command{do: func(dropped error) {
		if dropped != nil {
			l.abandon(nodes, free)
			return
		}
		if err := l.give(nodes, free); err != nil {
			l.refuse(err, nodes)
		}
	}})
	return nil
}

// refuse poisons the results of nodes that the member did not accept.
func (l *lane) refuse(err error, nodes []op.Node) {
	for i := range nodes {
		for _, d := range nodes[i].Outputs {
			l.m.spoil(d.ID, err)
		}
	}
	l.fail(err)
}

// fail keeps an error for the next event that the host waits for. The lane executes.
func (l *lane) fail(err error) {
	l.failing.Lock()
	defer l.failing.Unlock()
	if len(l.failures) < mostFailures {
		l.failures = append(l.failures, failure{l.marks, err})
	}
}

// report returns the error that a mark reports to the host, given the member's answer err. It reports a failure once, and, while
// other members are left, the loss of the member once.
func (l *lane) report(g *gate, err error, others bool) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	told := func() bool { return errors.Is(err, core.ErrBackendLost) && l.told && others }
	l.failures = slices.DeleteFunc(l.failures, func(f failure) bool {
		if f.marks >= g.marks {
			return false
		}
		if err == nil || told() {
			err = f.err
		}
		return true
	})
	if told() {
		return nil
	}
	l.told = l.told || errors.Is(err, core.ErrBackendLost)
	return err
}

// abandon frees what commands that were dropped would have freed.
func (l *lane) abandon(nodes []op.Node, free []op.TensorID) {
	for i := range nodes {
		free = append(free, dropped(&nodes[i])...)
	}
	_ = l.m.note(l.inner.Submit(nil, l.m.forget(free))) // the stream closes: no caller could get the error
}

// dropped returns the operands that a node drops.
func dropped(n *op.Node) (ids []op.TensorID) {
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// give passes nodes and frees to the member, except nodes with operands that are missing.
func (l *lane) give(nodes []op.Node, free []op.TensorID) error {
	m := l.m
	if m.rotten.Load() == 0 {
		return m.note(l.inner.Submit(nodes, free))
	}
	var good []op.Node
	flush := func(free []op.TensorID) {
		if len(good)+len(free) == 0 {
			return
		}
		if err := m.note(l.inner.Submit(good, free)); err != nil {
			l.refuse(err, good)
		}
		good = nil
	}
	for i := range nodes {
		n := &nodes[i]
		err := m.bad(n.Inputs...)
		if err == nil {
			good = append(good, *n)
			continue
		}
		gone := m.forget(dropped(n))
		for _, d := range n.Outputs {
			m.spoil(d.ID, err)
		}
		if len(gone) > 0 {
			flush(gone)
		}
	}
	flush(m.forget(free))
	return nil
}

// close drops what is queued and closes the member's stream.
func (l *lane) close() error {
	l.mu.Lock()
	l.closed = true
	busy := l.busy
	l.mu.Unlock()
	l.cancel()
	if busy != nil {
		<-busy
	}
	return ignoreLost(l.inner.Close())
}

// canceled returns the error of a call whose context ended.
func canceled(ctx context.Context) error {
	return fmt.Errorf("router: %w: %w", core.ErrCanceled, context.Cause(ctx))
}
