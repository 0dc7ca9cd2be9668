package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Ticket is a read that may still be queued.
type Ticket struct {
	lane  *Lane
	asked chan struct{} // closed when inner is set; nil: from the beginning

	mu      sync.Mutex
	inner   core.Ticket
	given   bool // the ticket was abandoned: no caller waits
	foreign bool // inner returns errors of the device, which must be translated
}

var _ core.Ticket = (*Ticket)(nil)

// Read reads the elements of a tensor of the device into dst.
func (l *Lane) Read(id op.TensorID, dst []byte) *Ticket {
	t := &Ticket{lane: l}
	if l.Do(func() { t.ask(id, dst) }) {
		return t
	}
	t.asked = make(chan struct{})
	l.push(command{do: func(dropped error) {
		t.mu.Lock()
		switch {
		case t.given:
		case dropped != nil:
			t.inner = core.Failed(dropped)
		default:
			t.ask(id, dst)
		}
		t.mu.Unlock()
		close(t.asked)
	}})
	return t
}

// ask passes the read to the device. The caller executes a command of the lane.
func (t *Ticket) ask(id op.TensorID, dst []byte) {
	if err := t.lane.Device.Missing(id); err != nil {
		t.inner = core.Failed(err)
		return
	}
	t.inner, t.foreign = t.lane.Stream.Read(id, dst), true
}

// Wait implements core.Ticket.
func (t *Ticket) Wait(ctx context.Context) error {
	if t.asked != nil {
		select {
		case <-t.asked:
		default:
			select {
			case <-t.asked:
			case <-ctx.Done():
				t.mu.Lock()
				t.given = t.inner == nil
				t.mu.Unlock()
				if t.given {
					return canceled(ctx)
				}
			}
		}
	}
	if t.inner == nil {
		return fmt.Errorf("lane: the ticket was given up: %w", core.ErrClosed)
	}
	err := t.inner.Wait(ctx)
	if !t.foreign {
		return err
	}
	return t.lane.translate(t.lane.Device.Note(err))
}

// Wait waits until the device has completed the commands before g, a gate from Mark, and returns failures that were not returned yet. While
// others reports that other devices are left, it returns the loss of the device only once. If ctx ends, it returns core.ErrCanceled.
func (g *Gate) Wait(ctx context.Context, others func() bool) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	if g.through(ctx); !g.isOpen() {
		return canceled(ctx)
	}
	err := g.event.Wait(ctx)
	if errors.Is(err, core.ErrCanceled) && ctx.Err() != nil {
		return err
	}
	_ = g.Lane.Device.Note(err)
	return g.Lane.translate(g.Lane.report(g, err, others()))
}
