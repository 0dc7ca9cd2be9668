package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// ticketCases check asynchronous reads, which return a ticket to wait for.
func ticketCases() []testCase {
	return []testCase{
		ruled("tickets/place", "a ticket returns the value at its position in the queue, regardless of the order in which tickets are waited for", ticketPlace),
		ruled("tickets/freed", "a tensor may be freed while a ticket on it is open", ticketFreed),
		ruled("tickets/other-stream", "while a ticket on a tensor is open, another stream may free the tensor behind the position of the ticket", ticketFreedElsewhere),
		ruled("tickets/destination", "only Ticket.Wait writes to the destination", ticketDestination),
		ruled("tickets/canceled", "if the wait for a ticket is canceled, the destination is not written to", ticketCanceled),
		ruled("tickets/one-of-many", "canceling the wait for a ticket does not affect other tickets", ticketOneOfMany),
		ruled("tickets/goroutine", "a ticket may be waited for by another goroutine while the stream goes on", ticketGoroutine),
		ruled("tickets/errors", "Ticket.Wait returns the error of a read", ticketErrors),
		ruled("tickets/poisoned", "every ticket on a poisoned tensor returns the error of the tensor", ticketPoisoned),
		ruled("tickets/closed", "if the stream is closed before it reaches a ticket, the ticket returns ErrClosed", ticketClosed),
		ruled("tickets/reached", "a ticket that the stream has reached outlives the stream", ticketReached),
		ruled("tickets/never-waited", "a ticket that nobody waits for does not delay or block other commands", ticketNeverWaited),
	}
}

// numbersOf returns a rank 0 tensor of the type of d.
func numbersOf(d op.Desc, i int64) ref.Tensor {
	t := ref.Zeros(op.Desc{DType: d.DType})
	if t.F != nil {
		t.F[0] = float64(i)
	} else {
		t.I[0] = i
	}
	return t
}

// asked is a pending read.
type asked struct {
	core.Ticket
	d   op.Desc
	dst []byte
}

func (q *queue) ask(d op.Desc) asked {
	dst := bytes.Repeat([]byte{0xa5}, d.Bytes())
	return asked{q.Read(d.ID, dst), d, dst}
}

// all waits for the ticket and checks that every element equals want.
func (a asked) all(ctx context.Context, want int64) error {
	if err := a.Wait(ctx); err != nil {
		return fmt.Errorf("ticket of %v: %w", a.d.ID, err)
	}
	got, err := ref.FromBytes(a.d, a.dst)
	if err != nil {
		return err
	}
	for i, v := range got.I {
		if v != want {
			return fmt.Errorf("ticket of %v: element %d is %d, want %d", a.d.ID, i, v, want)
		}
	}
	return nil
}

func (a asked) untouched() error {
	if slices.ContainsFunc(a.dst, func(b byte) bool { return b != 0xa5 }) {
		return errors.New("the destination was written to")
	}
	return nil
}

// late requests the result of a chain of n nodes.
func (q *queue) late(ctx context.Context, n int) (x op.Desc, open asked, err error) {
	if x, err = q.busy(ctx, n); err != nil {
		return x, open, err
	}
	return x, q.ask(x), nil
}

// counter returns the result of a chain of n nodes, and a 1 to add to it.
func (q *queue) counter(ctx context.Context, n int) (x, one op.Desc, err error) {
	if x, err = q.busy(ctx, n); err != nil {
		return x, one, err
	}
	one, err = q.put(ctx, numbersOf(x, 1))
	return x, one, err
}

// overwrites frees x and writes tensors of its size, which may take its memory.
func (q *queue) overwrites(ctx context.Context, x op.Desc) error {
	if err := q.free([]op.TensorID{x.ID}); err != nil {
		return err
	}
	for range 4 {
		if _, err := q.put(ctx, ref.Zeros(x)); err != nil {
			return err
		}
	}
	return nil
}

func ticketPlace(ctx context.Context, q *queue) error {
	const n = 12
	x, one, err := q.counter(ctx, 50)
	if err != nil {
		return err
	}
	open := make([]asked, n)
	for i := range open {
		open[i] = q.ask(x)
		if x, err = q.consume(op.Add, x, one); err != nil { // may overwrite x in place
			return err
		}
	}
	if err := q.counted(ctx, x, 50+n); err != nil {
		return err
	}
	for _, i := range q.random("tickets").Perm(n) {
		if err := open[i].all(ctx, int64(50+i)); err != nil {
			return err
		}
	}
	return q.sync(ctx)
}

func ticketFreed(ctx context.Context, q *queue) error {
	x, open, err := q.late(ctx, longChain)
	if err != nil {
		return err
	}
	if err := q.overwrites(ctx, x); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	if err := q.unknown(ctx, x); err != nil {
		return err
	}
	return open.all(ctx, longChain)
}

func ticketFreedElsewhere(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		x, open, err := q.late(ctx, 100)
		if err != nil {
			return err
		}
		if err := s.behind(q); err != nil {
			return err
		}
		if err := s.overwrites(ctx, x); err != nil {
			return err
		}
		if err := s.sync(ctx); err != nil {
			return err
		}
		return open.all(ctx, 100)
	})
}

func ticketDestination(ctx context.Context, q *queue) error {
	_, open, err := q.late(ctx, 20)
	if err != nil {
		return err
	}
	if err := q.stillGood(ctx); err != nil {
		return err
	}
	if err := open.untouched(); err != nil {
		return fmt.Errorf("before the wait: %w", err)
	}
	return open.all(ctx, 20)
}

func ticketCanceled(ctx context.Context, q *queue) error {
	x, open, err := q.late(ctx, longChain)
	if err != nil {
		return err
	}
	err = open.Wait(enough(ctx))
	if err == nil {
		return q.counted(ctx, x, longChain) // it had already arrived
	}
	if err := wantEnough(err); err != nil {
		return err
	}
	if err := q.counted(ctx, x, longChain); err != nil {
		return err
	}
	if err := open.untouched(); err != nil {
		return fmt.Errorf("after the wait was canceled: %w", err)
	}
	return q.stillGood(ctx)
}

func ticketOneOfMany(ctx context.Context, q *queue) error {
	x, err := q.busy(ctx, longChain)
	if err != nil {
		return err
	}
	open := []asked{q.ask(x), q.ask(x), q.ask(x)}
	if err := q.free([]op.TensorID{x.ID}); err != nil {
		return err
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := open[1].Wait(short); err != nil {
		if err := wantError(err, core.ErrCanceled); err != nil {
			return err
		}
	}
	return errors.Join(open[2].all(ctx, longChain), open[0].all(ctx, longChain), q.stillGood(ctx))
}

func ticketGoroutine(ctx context.Context, q *queue) error {
	x, one, err := q.counter(ctx, 50)
	if err != nil {
		return err
	}
	const n = 8
	told := make(chan error, n)
	for i := range n {
		open := q.ask(x)
		go func() { told <- open.all(ctx, int64(50+i)) }()
		if x, err = q.consume(op.Add, x, one); err != nil {
			return err
		}
	}
	for range n {
		err = errors.Join(err, <-told)
	}
	return errors.Join(err, q.counted(ctx, x, 50+n), q.sync(ctx))
}

func ticketErrors(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	short, long, unknown := q.Read(d.ID, make([]byte, 7)), q.Read(d.ID, make([]byte, 9)), q.Read(q.id(), make([]byte, 8))
	good := make([]byte, 8)
	open := q.Read(d.ID, good)
	for _, c := range []struct {
		name string
		t    core.Ticket
		want error
	}{{"an id of no tensor", unknown, core.ErrUnknownTensor}, {"too much room", long, core.ErrShape}, {"too little room", short, core.ErrShape}} {
		if err := wantError(c.t.Wait(ctx), c.want); err != nil {
			return fmt.Errorf("ticket on %s: %w", c.name, err)
		}
	}
	if err := open.Wait(ctx); err != nil {
		return err
	}
	if err := sameNumbers(d, good, 1, 2); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

func ticketPoisoned(ctx context.Context, q *queue) error {
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	open := []asked{q.ask(bad), q.ask(bad)}
	if err := q.free([]op.TensorID{bad.ID}); err != nil {
		return err
	}
	for _, a := range open {
		if err := wantNodeError(a.Wait(ctx), op.Gather, core.ErrIndex); err != nil {
			return err
		}
		if err := a.untouched(); err != nil {
			return err
		}
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

func ticketClosed(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	x, open, err := s.late(ctx, 2*longChain)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := open.all(ctx, 2*longChain); ignoreClosed(err) != nil { // a fast device may have reached it
		return fmt.Errorf("a ticket with %d nodes before it when the stream closed: %w", 2*longChain, err)
	}
	if err := wantError(s.ask(x).Wait(ctx), core.ErrClosed); err != nil {
		return fmt.Errorf("a read of a closed stream: %w", err)
	}
	return q.stillGood(ctx)
}

func ticketReached(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	_, open, err := s.late(ctx, 20)
	if err != nil {
		return err
	}
	if err := s.sync(ctx); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return errors.Join(open.all(ctx, 20), q.stillGood(ctx))
}

func ticketNeverWaited(ctx context.Context, q *queue) error {
	s, err := q.another(ctx)
	if err != nil {
		return err
	}
	d, err := s.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 1000)))
	if err != nil {
		return err
	}
	for range 40 {
		_ = s.ask(d) // on purpose
	}
	if err := s.stillGood(ctx); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := q.free([]op.TensorID{d.ID}); err != nil {
		return err
	}
	return q.stillGood(ctx)
}
