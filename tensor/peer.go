package tensor

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// To copies t to another device. If t is on that device already, on any queue, To returns t. If both devices belong to one
// backend that can copy between them, the copy is queued on d, and its errors are returned when its content is read; otherwise To
// waits for t.
func (t *Tensor) To(ctx context.Context, d *Device) (*Tensor, error) {
	if t.queue.dev == d.dev {
		return t, nil
	}
	if c, ok := core.Extension[core.PeerCopy](d.Core()); ok {
		x, err := d.copyFrom(c, t)
		if !unsupported(err) {
			return x, err
		}
	}
	b, err := t.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	return d.FromBytes(ctx, t.desc.DType, t.desc.Shape, b)
}

// copyFrom queues a copy after the computation of t, and orders later commands on t's queue, such as its release, after the copy.
// An error that wraps core.ErrUnsupported means that the devices cannot copy directly.
func (d *Device) copyFrom(c core.PeerCopy, t *Tensor) (*Tensor, error) {
	src := t.queue.live()
	made, err := t.mark(src)
	if err != nil {
		return nil, err
	}
	var copied core.Event
	desc := t.desc
	desc.Shape = desc.Shape.Clone()
	x, err := d.define(desc, func(desc op.Desc) error {
		if err := d.stream.Wait(made); errors.Is(err, core.ErrAttr) {
			return fmt.Errorf("tensor: %s is of another backend: %w", src, core.ErrUnsupported)
		} else if err != nil {
			return err
		}
		if err := c.CopyFrom(d.stream, desc, src.dev.core, t.desc.ID); err != nil {
			return err
		}
		copied = d.stream.Signal()
		return nil
	})
	if err != nil {
		return nil, err
	}
	src.mu.Lock()
	defer src.mu.Unlock()
	if !src.closed.Load() {
		if err := src.stream.Wait(copied); err != nil {
			src.complain(err)
		}
		t.state.use(src, src.sent+1)
		src.sent++
	}
	runtime.KeepAlive(t)
	return x, nil
}

// mark returns an event of q after the computation of t.
func (t *Tensor) mark(q *queue) (core.Event, error) {
	q.lockFor([]*Tensor{t})
	defer q.mu.Unlock()
	if err := t.next(q, "copy"); err != nil {
		return nil, err
	}
	q.sent++
	return q.stream.Signal(), nil
}
