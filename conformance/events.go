package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// eventCases check the order that events establish between streams, and the errors that they report to the host.
func eventCases() []testCase {
	return []testCase{
		ruled("events/order", "commands after Stream.Wait see the results of commands before the event", eventOrder),
		ruled("events/chain", "if stream C waits for stream B, which waits for stream A, then C sees the results of A", eventChain),
		ruled("events/ring", "streams may wait for each other in a ring, round after round", eventRing),
		ruled("events/reached", "a stream may wait for an event that was already reached or waited for", eventReached),
		ruled("events/fan-out", "any number of streams may wait for one event", eventFanOut),
		ruled("events/twice", "the host may wait for an event any number of times", eventTwice),
		ruled("events/own", "a stream may wait for its own event", eventOwn),
		ruled("events/foreign", "a wait for an event of another backend returns ErrAttr", eventForeign),
		ruled("events/other-device", "a stream may wait for a stream of another device of the backend", eventOtherDevice),
		ruled("events/failure-place", "an event reports the failure of a command before it, and of no other command", failurePlace),
		ruled("events/failure-once", "a failure is reported by the first event that the host waits for, and by no other", failureOnce),
		ruled("events/failure-stays", "a stream that waits for another stream does not report failures of the other stream, but the tensors stay poisoned", failureStays),
		ruled("events/failure-waiters", "if several goroutines wait at once, exactly one receives the failure", failureWaiters),
		ruled("events/closed", "if a stream is closed, streams that wait for its event continue, and the event returns nil or ErrClosed", eventClosed),
		ruled("events/canceled", "after a wait for an event was canceled, the event can be waited for again", eventCanceled),
	}
}

const longChain = 300 // number of nodes whose execution takes longer than a call

func eventOrder(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		d, err := q.busy(ctx, longChain)
		if err != nil {
			return err
		}
		if err := s.behind(q); err != nil {
			return err
		}
		return s.counted(ctx, d, longChain)
	})
}

func eventChain(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		return q.with(ctx, func(t *queue) error {
			d, err := q.busy(ctx, longChain)
			if err != nil {
				return err
			}
			if err := s.behind(q); err != nil {
				return err
			}
			twice, err := s.do(op.Add, []op.Desc{d, d})
			if err != nil {
				return err
			}
			if err := t.behind(s); err != nil {
				return err
			}
			last, err := t.do(op.Add, []op.Desc{twice[0], d})
			if err != nil {
				return err
			}
			return t.counted(ctx, last[0], 3*longChain)
		})
	})
}

func eventRing(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		return q.with(ctx, func(t *queue) error {
			const start, rounds = 50, 60
			x, one, err := q.counter(ctx, start)
			if err != nil {
				return err
			}
			ring := []*queue{s, t, q}
			e := q.Signal()
			for i := range rounds {
				at := ring[i%len(ring)]
				if err := at.Wait(e); err != nil {
					return err
				}
				if x, err = at.consume(op.Add, x, one); err != nil {
					return err
				}
				e = at.Signal()
			}
			if err := e.Wait(ctx); err != nil {
				return err
			}
			return q.counted(ctx, x, start+rounds)
		})
	})
}

func eventReached(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		d, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		e := q.Signal()
		if err := e.Wait(ctx); err != nil {
			return err
		}
		for range 2 { // the second time the stream has waited for it already
			if err := s.Wait(e); err != nil {
				return fmt.Errorf("wait for an event that was reached: %w", err)
			}
			if err := s.holds(ctx, d, 1, 2); err != nil {
				return err
			}
		}
		return s.sync(ctx)
	})
}

func eventFanOut(ctx context.Context, q *queue) error {
	d, err := q.busy(ctx, longChain)
	if err != nil {
		return err
	}
	e := q.Signal()
	return q.atOnce(ctx, 3, func(_ int, s *queue) error {
		if err := s.Wait(e); err != nil {
			return err
		}
		return s.counted(ctx, d, longChain)
	})
}

func eventTwice(ctx context.Context, q *queue) error {
	if _, err := q.busy(ctx, 20); err != nil {
		return err
	}
	e := q.Signal()
	for i := range 3 {
		if err := e.Wait(ctx); err != nil {
			return fmt.Errorf("wait %d for an event: %w", i+1, err)
		}
	}
	return q.stillGood(ctx)
}

func eventOwn(ctx context.Context, q *queue) error {
	d, err := q.busy(ctx, 20)
	if err != nil {
		return err
	}
	if err := q.behind(q); err != nil {
		return err
	}
	return q.counted(ctx, d, 20)
}

func eventForeign(ctx context.Context, q *queue) error {
	err := q.withInstance(ctx, func(s *queue) error {
		for name, e := range map[string]core.Event{"another backend": s.Signal(), "no backend": core.Failed(nil)} {
			if err := wantError(q.Wait(e), core.ErrAttr); err != nil {
				return fmt.Errorf("wait for an event of %s: %w", name, err)
			}
		}
		return nil
	})
	return errors.Join(err, q.stillGood(ctx))
}

func eventOtherDevice(ctx context.Context, q *queue) error {
	return q.withApart(ctx, func(s *queue) error {
		d, err := s.busy(ctx, longChain)
		if err != nil {
			return err
		}
		e := s.Signal()
		if err := q.Wait(e); err != nil {
			return fmt.Errorf("wait for an event of another device: %w", err)
		}
		if err := q.sync(ctx); err != nil {
			return err
		}
		if err := s.counted(ctx, d, longChain); err != nil {
			return err
		}
		return q.stillGood(ctx)
	})
}

func failurePlace(ctx context.Context, q *queue) error {
	in, err := q.putAll(ctx, badGather())
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	before := q.Signal()
	if _, err := q.do(op.Gather, in, op.Int("axis", 0)); err != nil { // the command that directly follows the event
		return err
	}
	behind := q.Signal()
	if _, err := q.get(ctx, in[0]); err != nil { // the node has failed once this read is done
		return err
	}
	if err := before.Wait(ctx); err != nil {
		return fmt.Errorf("the event before the failure reports it: %w", err)
	}
	if err := wantNodeError(behind.Wait(ctx), op.Gather, core.ErrIndex); err != nil {
		return fmt.Errorf("the event after the failure: %w", err)
	}
	if err := before.Wait(ctx); err != nil {
		return fmt.Errorf("the event before the failure reports it: %w", err)
	}
	return q.stillGood(ctx)
}

func failureOnce(ctx context.Context, q *queue) error {
	if _, err := q.failing(ctx); err != nil {
		return err
	}
	first, second := q.Signal(), q.Signal()
	if err := wantNodeError(second.Wait(ctx), op.Gather, core.ErrIndex); err != nil {
		return err
	}
	for name, e := range map[string]core.Event{"an earlier event": first, "the same event": second, "a later event": q.Signal()} {
		if err := e.Wait(ctx); err != nil {
			return fmt.Errorf("%s reports the failure again: %w", name, err)
		}
	}
	return q.stillGood(ctx)
}

func failureStays(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		bad, err := q.failing(ctx)
		if err != nil {
			return err
		}
		if err := s.behind(q); err != nil {
			return err
		}
		if err := s.sync(ctx); err != nil {
			return fmt.Errorf("stream A, which waits for stream B, reports the failure of B: %w", err)
		}
		outs, err := s.do(op.Neg, []op.Desc{bad})
		if err != nil {
			return err
		}
		_, err = s.get(ctx, outs[0])
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return fmt.Errorf("a node on stream A whose operand was poisoned on stream B: %w", err)
		}
		if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
			return fmt.Errorf("stream B, whose node failed: %w", err)
		}
		if err := q.sync(ctx); err != nil {
			return err
		}
		return s.stillGood(ctx)
	})
}

func failureWaiters(ctx context.Context, q *queue) error {
	if _, err := q.busy(ctx, 50); err != nil {
		return err
	}
	if _, err := q.failing(ctx); err != nil {
		return err
	}
	e := q.Signal()
	var told atomic.Int32
	err := inParallel(4, func(int) error {
		err := e.Wait(ctx)
		if err == nil {
			return nil
		}
		told.Add(1)
		return wantNodeError(err, op.Gather, core.ErrIndex)
	})
	if err != nil {
		return err
	}
	if n := told.Load(); n != 1 {
		return fmt.Errorf("%d of 4 goroutines received the failure, want 1", n)
	}
	return q.stillGood(ctx)
}

func eventClosed(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		if _, err := s.busy(ctx, longChain); err != nil {
			return err
		}
		e := s.Signal()
		if err := q.Wait(e); err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		if err := e.Wait(ctx); ignoreClosed(err) != nil {
			return fmt.Errorf("event of a closed stream: error is %v, want none or %v", err, core.ErrClosed)
		}
		if err := q.stillGood(ctx); err != nil {
			return fmt.Errorf("behind a stream that was closed: %w", err)
		}
		return nil
	})
}

func eventCanceled(ctx context.Context, q *queue) error {
	d, err := q.busy(ctx, longChain)
	if err != nil {
		return err
	}
	e := q.Signal()
	if err := e.Wait(enough(ctx)); err != nil {
		if err := wantEnough(err); err != nil {
			return err
		}
	}
	if err := e.Wait(ctx); err != nil {
		return fmt.Errorf("wait for an event after a canceled wait: %w", err)
	}
	return q.counted(ctx, d, longChain)
}
