package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/order"
)

// stream checks the commands for the stream below it, and counts them on a vector clock.
type stream struct {
	*world
	dev   *device
	inner core.Stream
	busy  atomic.Bool // a method runs

	order  *order.Stream
	values []late // faults that the next event reports
}

var _ core.Stream = (*stream)(nil)

// late is a fault that is found after the command was accepted.
type late struct {
	tick  uint64
	fault *Fault
}

// acquire records that a method runs. If another method is running, acquire reports a fault, and release does nothing.
func (s *stream) acquire(what string) (release func(), err error) {
	if s.busy.CompareAndSwap(false, true) {
		return func() { s.busy.Store(false) }, nil
	}
	err = s.refuse(&Fault{Kind: Usage, Command: what, Err: fmt.Errorf("stream %d is called, got two calls at once, want one at a time: %w", s.order.Number, core.ErrProtocol)})
	return func() {}, err
}

// perform checks a command, passes it on, and keeps or undoes its change.
func (s *stream) perform(what string, check func(x *change), pass func(x *change) error) error {
	release, err := s.acquire(what)
	if err != nil {
		return err
	}
	defer release()
	x, err := s.check(what, check)
	if err != nil {
		return err
	}
	err = s.answer(x.cmd.String(), pass(x))
	s.settle(x, err)
	return err
}

// check returns the change that a command makes, or the error that refuses it.
func (s *stream) check(what string, check func(x *change)) (*change, error) {
	s.mu.Lock()
	if s.order.Closed || s.dev.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("verify: %s: stream: %w", what, core.ErrClosed)
	}
	x := &change{s: s, cmd: s.streams.Next(s.order, what)}
	check(x)
	if x.err != nil {
		x.back()
	}
	s.mu.Unlock()
	s.report(x.faults...)
	return x, x.err
}

// settle ends a command that the backend answered with err.
func (s *stream) settle(x *change, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		x.back()
	} else {
		x.keep()
	}
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	what := "free"
	if len(nodes) > 0 {
		what = nodes[0].Op.String()
	}
	return s.perform(what, func(x *change) {
		for i := range nodes {
			x.cmd.What = nodes[i].Op.String()
			x.node(&nodes[i])
		}
		x.cmd.What = "free"
		for _, id := range free {
			x.free(id, "freed")
		}
		x.cmd.What = what
	}, func(x *change) error {
		if s.each() && len(nodes) > 0 {
			return s.submitEach(x, nodes, free)
		}
		if s.audit != nil && len(nodes) > 0 {
			return s.submitAudited(x, nodes, free)
		}
		return s.inner.Submit(nodes, free)
	})
}

// node checks a node, and the ids that it uses, drops and creates.
func (x *change) node(n *op.Node) {
	in := make([]op.Desc, 0, len(n.Inputs))
	for i, id := range n.Inputs {
		if t := x.use(id, fmt.Sprintf("operand %d", i)); t != nil {
			in = append(in, t.desc)
		}
	}
	if x.err != nil {
		return
	}
	if len(in) == len(n.Inputs) {
		if err := x.s.dev.allows(n, in); err != nil {
			x.fault(Invalid, 0, nil, err)
		}
	}
	if n.Drop>>len(n.Inputs) != 0 {
		x.fault(Invalid, 0, nil, fmt.Errorf("the drop mask is %#x, want bits of %d inputs: %w", n.Drop, len(n.Inputs), core.ErrAttr))
	}
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			x.free(id, "dropped")
		}
	}
	for _, o := range n.Outputs {
		x.define(o, x.s.notFinite)
	}
}

// Write implements core.Stream.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	return s.perform("write", func(x *change) { x.data(d, data) }, func(*change) error { return s.inner.Write(ctx, d, data) })
}

// data checks a tensor that is created from host memory.
func (x *change) data(d op.Desc, data []byte) {
	types := x.s.dev.Capabilities().Types
	switch {
	case !d.DType.Valid():
		x.fault(Invalid, d.ID, nil, fmt.Errorf("%v is made, got %v, want one of %v: %w", d.ID, d.DType, types, core.ErrDType))
	case !types.Has(d.DType):
		x.fault(Invalid, d.ID, nil, fmt.Errorf("%v is made, got %v, want one of %v: %w", d.ID, d.DType, types, core.ErrUnsupported))
	case d.Shape.Check() != nil:
		x.fault(Invalid, d.ID, nil, d.Shape.Check())
	case len(data) != d.Bytes():
		x.fault(Invalid, d.ID, nil, fmt.Errorf("%v %v is made, got %d bytes, want %d: %w", d.ID, d, len(data), d.Bytes(), core.ErrShape))
	default:
		at := -1
		if x.s.notFinite {
			at, _ = findNonFinite(d.DType, data)
		}
		x.define(d, at >= 0)
	}
}

// Read implements core.Stream.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	var after order.Clock
	var inner core.Ticket
	var cmd order.Command
	err := s.perform("read", func(x *change) {
		cmd = x.cmd
		if t := x.use(id, "read"); t != nil && len(dst) != t.desc.Bytes() {
			x.fault(Invalid, id, &t.made, fmt.Errorf("%v %v is read, got room for %d bytes, want %d: %w", id, t.desc, len(dst), t.desc.Bytes(), core.ErrShape))
		}
		after = slices.Clone(s.order.Clock)
	}, func(*change) error {
		inner = s.inner.Read(id, dst[:len(dst):len(dst)])
		return nil
	})
	if err != nil {
		return core.Failed(err)
	}
	s.dev.tickets.Add(1)
	return &ticket{s: s, inner: inner, id: id, cmd: cmd, after: after}
}

// Signal implements core.Stream.
func (s *stream) Signal() core.Event {
	e := &event{s: s}
	err := s.perform("signal", func(x *change) { e.cmd, e.after = x.cmd, slices.Clone(s.order.Clock) }, func(*change) error {
		e.inner = s.inner.Signal()
		return nil
	})
	if err != nil {
		return core.Failed(err)
	}
	return e
}

// Wait implements core.Stream.
func (s *stream) Wait(ce core.Event) error {
	e, ok := ce.(*event)
	return s.perform("wait", func(x *change) {
		if !ok || e.s.world != s.world {
			x.fault(Usage, 0, nil, fmt.Errorf("got an event of another backend, or of a Signal that failed, want one of this backend: %w", core.ErrAttr))
		}
	}, func(*change) error {
		if !ok || e.s.world != s.world {
			return s.inner.Wait(ce)
		}
		err := s.inner.Wait(e.inner)
		if err == nil {
			s.mu.Lock()
			s.order.Clock.Join(e.after)
			s.mu.Unlock()
		}
		return err
	})
}

// Close implements core.Stream. It may be called while another method waits.
func (s *stream) Close() error {
	err := s.answer("close", s.inner.Close())
	if err == nil {
		s.mu.Lock()
		s.dev.leave(s)
		s.mu.Unlock()
	}
	return err
}

// reached reports whether an event has occurred, given the error of waiting for it.
func reached(err error) bool {
	var n *core.NodeError
	return err == nil || errors.As(err, &n) || !errors.Is(err, core.ErrCanceled) && !errors.Is(err, core.ErrClosed) && !errors.Is(err, core.ErrBackendLost)
}

// event is an event below, with the clock of the stream.
type event struct {
	s     *stream
	inner core.Event
	cmd   order.Command
	after order.Clock
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	err := e.s.answer(e.cmd.String(), e.inner.Wait(ctx))
	if !reached(err) {
		return err
	}
	e.s.saw(e.after)
	if f := e.s.value(e.cmd.Tick); f != nil && err == nil {
		return f
	}
	return err
}

// value returns the first unreported fault of the commands up to a tick, and discards the other faults up to there.
func (s *stream) value(tick uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	s.values = slices.DeleteFunc(s.values, func(l late) bool {
		if l.tick > tick {
			return false
		}
		if first == nil {
			first = l.fault
		}
		return true
	})
	return first
}

// ticket is a read.
type ticket struct {
	s      *stream
	inner  core.Ticket
	id     op.TensorID
	cmd    order.Command
	after  order.Clock
	waited atomic.Bool
}

// Wait implements core.Ticket.
func (t *ticket) Wait(ctx context.Context) error {
	if t.waited.Swap(true) {
		err := t.s.refuse(&Fault{Kind: Usage, Tensor: t.id, Command: t.cmd.String(), Err: fmt.Errorf("the ticket of %v is waited for, got a second time, want once: %w", t.id, core.ErrClosed)})
		if err != nil {
			return err
		}
		return t.inner.Wait(ctx)
	}
	err := t.s.answer(t.cmd.String(), t.inner.Wait(ctx))
	t.s.dev.tickets.Add(-1)
	if reached(err) {
		t.s.saw(t.after)
	}
	return t.s.checkRead(t.cmd.String(), t.id, err)
}

// checkRead checks the backend's answer to a read that was valid when it was requested.
func (s *stream) checkRead(command string, id op.TensorID, err error) error {
	var n *core.NodeError
	if err == nil || s.passOn || errors.As(err, &n) {
		return err
	}
	s.mu.Lock()
	t := s.dev.tensors[id]
	sure := t == nil || !t.uncertain
	s.mu.Unlock()
	switch {
	case errors.Is(err, core.ErrShape):
		return s.blame(command, id, err, "the backend disputes the size of %v", id)
	case errors.Is(err, core.ErrUnknownTensor) && sure:
		return s.blame(command, id, err, "the backend does not know %v, which is made before", id)
	}
	return err
}
