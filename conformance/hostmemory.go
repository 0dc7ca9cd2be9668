package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// hostMemoryCases check host memory that devices use in place.
func hostMemoryCases() []testCase {
	return []testCase{
		ruled("host/adopt", "adopted memory becomes a tensor, is never written to, and is released once after its last use", adopts),
		ruled("host/adopt-drop", "a node that consumes an adopted tensor does not write its result into the adopted memory", adoptedDropped),
		ruled("host/adopt-refused", "if Adopt fails, the memory is not released", adoptRefused),
		ruled("host/adopt-closed", "adopted memory is released at the latest when the device is closed", adoptedClosed),
		ruled("host/view", "View passes the elements in row-major order to use, and returns the error of use", views),
		ruled("host/pin", "Write and Read work with pinned memory like with any other memory", pins),
	}
}

func (q *queue) hostMemory() (core.HostMemory, error) {
	return needs[core.HostMemory](q.dev, "host memory")
}

// adopt creates a tensor with HostMemory.Adopt. If the device refuses the memory, it returns a skip.
func (q *queue) adopt(t ref.Tensor, released *atomic.Int32) (d op.Desc, data []byte, err error) {
	h, err := q.hostMemory()
	if err != nil {
		return d, nil, err
	}
	d, data = t.Desc, t.Bytes()
	d.ID = q.id()
	err = h.Adopt(q.Stream, d, data, func() { released.Add(1) })
	if errors.Is(err, core.ErrUnsupported) {
		err = skip{"the device does not support Adopt"}
	}
	return d, data, err
}

// releasedOnce waits for the release, which may come some time after the last use, and checks that there is only one.
func (q *queue) releasedOnce(ctx context.Context, released *atomic.Int32) error {
	const patience = 20 * time.Second
	for start := time.Now(); released.Load() == 0 && time.Since(start) < patience && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * time.Millisecond) // time for a second call, which would be an error
	if n := released.Load(); n != 1 {
		return fmt.Errorf("adopted memory was released %d times", n)
	}
	return nil
}

func adopts(ctx context.Context, q *queue) error {
	var released atomic.Int32
	t := fill(q.random("adopts"), op.DescOf(dtype.F32, 1000), op.Domain{}, false)
	d, data, err := q.adopt(t, &released)
	if err != nil {
		return err
	}
	n, err := op.New(op.Neg, []op.Desc{d})
	if err != nil {
		return err
	}
	if err := q.expect(ctx, n, []ref.Tensor{t}); err != nil {
		return err
	}
	if err := q.unchanged(ctx, []op.Desc{d}, []ref.Tensor{t}); err != nil {
		return err
	}
	if got, err := ref.FromBytes(t.Desc, data); err != nil || string(got.Bytes()) != string(t.Bytes()) {
		return errors.Join(err, errors.New("adopted memory was written to"))
	}
	if err := q.free([]op.TensorID{d.ID}); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	return q.releasedOnce(ctx, &released)
}

func adoptedDropped(ctx context.Context, q *queue) error {
	var released atomic.Int32
	t := numbers(1, 2, 3, 4)
	d, data, err := q.adopt(t, &released)
	if err != nil {
		return err
	}
	open := q.Read(d.ID, make([]byte, d.Bytes()))
	neg, err := q.consume(op.Neg, d)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, neg, -1, -2, -3, -4); err != nil {
		return err
	}
	if err := sameNumbers(d, data, 1, 2, 3, 4); err != nil {
		return fmt.Errorf("adopted memory was written to: %w", err)
	}
	if err := open.Wait(ctx); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	return q.releasedOnce(ctx, &released)
}

func adoptRefused(ctx context.Context, q *queue) error {
	h, err := q.hostMemory()
	if err != nil {
		return err
	}
	var released atomic.Int32
	for _, c := range []struct {
		name string
		d    op.Desc
		n    int
		want error
	}{{"too few bytes", op.DescOf(dtype.F32, 2), 7, core.ErrShape}, {"too many bytes", op.DescOf(dtype.F32, 2), 9, core.ErrShape},
		{"no type", op.Desc{Shape: dims(0)}, 0, core.ErrDType}} {
		c.d.ID = q.id()
		err := h.Adopt(q.Stream, c.d, make([]byte, c.n), func() { released.Add(1) })
		if !errors.Is(err, c.want) && !errors.Is(err, core.ErrUnsupported) {
			return fmt.Errorf("adopt of %s: error is %v, want %v", c.name, err, c.want)
		}
		if err := q.unknown(ctx, op.Desc{ID: c.d.ID, DType: dtype.U8, Shape: dims(1)}); err != nil {
			return fmt.Errorf("after adopt of %s: %w", c.name, err)
		}
	}
	if err := q.stillGood(ctx); err != nil {
		return err
	}
	if n := released.Load(); n != 0 {
		return fmt.Errorf("memory that was not adopted was released %d times", n)
	}
	return nil
}

func adoptedClosed(ctx context.Context, q *queue) error {
	return q.withApart(ctx, func(s *queue) error {
		var first, second, third atomic.Int32
		if _, _, err := s.adopt(numbers(1, 2), &first); err != nil {
			return err
		}
		if err := s.sync(ctx); err != nil {
			return err
		}
		if _, _, err := s.adopt(numbers(3, 4), &second); err != nil {
			return err
		}
		if _, err := s.busy(ctx, 50); err != nil {
			return err
		}
		if _, _, err := s.adopt(numbers(5, 6), &third); err != nil { // its position in the queue is not reached yet
			return err
		}
		if err := s.dev.Close(); err != nil {
			return err
		}
		return errors.Join(q.releasedOnce(ctx, &first), q.releasedOnce(ctx, &second), q.releasedOnce(ctx, &third), q.stillGood(ctx))
	})
}

var errOfUse = errors.New("of use")

func views(ctx context.Context, q *queue) error {
	h, err := q.hostMemory()
	if err != nil {
		return err
	}
	x, err := q.busy(ctx, 20)
	if err != nil {
		return err
	}
	calls := 0
	err = h.View(ctx, q.Stream, x.ID, func(data []byte) error {
		calls++
		got, err := ref.FromBytes(x, data)
		if err != nil {
			return err
		}
		for i, v := range got.I {
			if v != 20 {
				return fmt.Errorf("element %d is %d, want 20", i, v)
			}
		}
		return errOfUse
	})
	if errors.Is(err, core.ErrUnsupported) && calls == 0 {
		return skip{"the device shows no elements"}
	}
	if err := wantError(err, errOfUse); err != nil || calls != 1 {
		return errors.Join(err, fmt.Errorf("use was called %d times", calls))
	}
	err = h.View(ctx, q.Stream, q.id(), func([]byte) error { return errors.New("use was called") })
	if err := wantError(err, core.ErrUnknownTensor); err != nil {
		return fmt.Errorf("view of an unknown id: %w", err)
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	err = h.View(ctx, q.Stream, bad.ID, func([]byte) error { return errors.New("use was called") })
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return fmt.Errorf("view of a poisoned tensor: %w", err)
	}
	if err := wantError(q.sync(ctx), core.ErrIndex); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

func pins(ctx context.Context, q *queue) error {
	p, err := needs[core.Pinning](q.dev, "pinning")
	if err != nil {
		return err
	}
	t := fill(q.random("pins"), op.DescOf(dtype.F32, 5000), op.Domain{}, false)
	data, dst := t.Bytes(), make([]byte, t.Desc.Bytes())
	for _, m := range [][]byte{data, dst} {
		unpin, err := p.Pin(m)
		if errors.Is(err, core.ErrUnsupported) {
			return skip{"the device does not support Pin"}
		}
		if err != nil {
			return err
		}
		defer unpin()
	}
	d := t.Desc
	d.ID = q.id()
	if err := q.Write(ctx, d, data); err != nil {
		return err
	}
	clear(data) // Write no longer needs it
	if err := q.read(ctx, d.ID, dst); err != nil {
		return err
	}
	if string(dst) != string(t.Bytes()) {
		return errors.New("the bytes read to pinned memory differ from the bytes written from it")
	}
	return q.sync(ctx)
}
