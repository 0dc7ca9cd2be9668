package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Write creates a tensor of data. If earlier commands are queued, it copies data, and may wait for memory.
func (l *Lane) Write(ctx context.Context, d op.Desc, data []byte) (err error) {
	if l.Do(func() { err = l.Device.Note(l.Stream.Write(ctx, d, data)) }) {
		return err
	}
	if err := check(ctx, d, data); err != nil {
		return err
	}
	size := int64(len(data))
	if err := l.take(ctx, size); err != nil {
		return err
	}
	d.Shape, data = d.Shape.Clone(), slices.Clone(data)
	l.Produce(nil, nil, []op.Desc{d}, func() error { return l.adopt(d, data, func() {}) }, func() { l.leave(size) })
	return nil
}

// Adopt creates a tensor of data by core.HostMemory, which the device must have.
func (l *Lane) Adopt(d op.Desc, data []byte, release func()) (err error) {
	if l.Do(func() { err = l.Device.Note(l.Device.Host.Adopt(l.Stream, d, data, release)) }) {
		return err
	}
	if err := check(context.Background(), d, data); err != nil {
		return err
	}
	d.Shape = d.Shape.Clone()
	l.push(command{do: func(dropped error) {
		err := dropped
		if err == nil {
			err = l.adopt(d, data, release)
		}
		if err != nil {
			l.Device.Poison(d.ID, err)
			l.fail(err)
			release()
		}
	}})
	return nil
}

// check returns an error if d and data do not describe a valid tensor.
func check(ctx context.Context, d op.Desc, data []byte) error {
	switch {
	case ctx.Err() != nil:
		return canceled(ctx)
	case !d.DType.Valid():
		return fmt.Errorf("lane: write %v: %w", d, core.ErrDType)
	case d.Shape.Check() != nil || len(data) != d.Bytes():
		return fmt.Errorf("lane: write %v, got %d bytes: %w", d, len(data), core.ErrShape)
	}
	return nil
}

// adopt creates a tensor of data, which it takes over. The caller executes a command of the lane.
func (l *Lane) adopt(d op.Desc, data []byte, release func()) error {
	if h := l.Device.Host; h != nil {
		if err := h.Adopt(l.Stream, d, data, release); err == nil {
			return nil
		}
	}
	err := l.Device.Note(l.Stream.Write(l.ctx, d, data))
	if err == nil {
		release()
	}
	return err
}

// View calls use with the elements of a tensor, by core.HostMemory. It waits until all earlier commands were given to the device.
func (l *Lane) View(ctx context.Context, id op.TensorID, use func(data []byte) error) error {
	if err := l.Settle(ctx); err != nil {
		return err
	}
	if err := l.Device.Missing(id); err != nil {
		return err
	}
	if l.Device.Host == nil {
		return fmt.Errorf("lane: view on %s: %w", l.Device.Spec, core.ErrUnsupported)
	}
	return l.translate(l.Device.Note(l.Device.Host.View(ctx, l.Stream, id, use)))
}

// Copy creates tensor d from the elements of tensor id on the lane from, and then opens the gate g of this lane. With peer it uses
// core.PeerCopy, which the device must have; otherwise the elements are copied through the host, and Copy may wait for memory there.
func (l *Lane) Copy(from *Lane, id op.TensorID, d op.Desc, peer bool, g *Gate) {
	switch {
	case peer:
		l.copyPeer(from, id, d, g)
	case int64(d.Bytes()) > min(from.Device.Memory, l.Device.Memory):
		l.tooLarge(from.Read(id, nil), d, g)
	default:
		_ = l.take(l.ctx, int64(d.Bytes())) // ends early when the lane is closed, which drops the command
		data := make([]byte, d.Bytes())
		l.receive(from.Read(id, data), data, d, g)
	}
}

// copyPeer creates d with core.PeerCopy, after the commands of the lane that has the source.
func (l *Lane) copyPeer(from *Lane, id op.TensorID, d op.Desc, g *Gate) {
	after := from.Mark()
	c := command{do: func(dropped error) {
		err := dropped
		if err == nil {
			err = from.Device.Missing(id)
		}
		if err == nil {
			_ = l.Device.Note(l.Stream.Wait(after.event)) // it failed: the copy returns the failure
			if err = l.Device.Note(l.Device.Peers.CopyFrom(l.Stream, d, from.Device.Device, id)); err != nil {
				l.fail(err)
			}
		}
		if err != nil {
			l.Device.Poison(d.ID, err)
		}
		g.pass(dropped)
	}}
	if !after.isOpen() {
		c.wait = after.through
	}
	l.push(c)
}

// receive creates d from the elements that a ticket reads. The memory for data was reserved with take.
func (l *Lane) receive(t *Ticket, data []byte, d op.Desc, g *Gate) {
	var err error
	l.push(command{
		wait: func(ctx context.Context) { err = t.Wait(ctx) },
		do: func(dropped error) {
			defer l.leave(int64(len(data)))
			if dropped != nil {
				err = dropped
			} else if err == nil {
				if err = l.adopt(d, data, func() {}); err != nil {
					l.fail(err)
				}
			}
			if err != nil {
				l.Device.Poison(d.ID, err)
			}
			g.pass(dropped)
		},
	})
}

// tooLarge poisons d, which does not fit the memory of a device. t is a read without room for the elements, which must fail. If the source
// tensor failed, d gets its error, otherwise core.ErrOutOfMemory.
func (l *Lane) tooLarge(t *Ticket, d op.Desc, g *Gate) {
	var err error
	l.push(command{
		wait: func(ctx context.Context) { err = t.Wait(ctx) },
		do: func(dropped error) {
			var n *core.NodeError
			if !errors.As(err, &n) {
				err = fmt.Errorf("lane: copy of %v to %s: %w", d, l.Device.Spec, core.ErrOutOfMemory)
			}
			l.Device.Poison(d.ID, err)
			g.pass(dropped)
		},
	})
}
