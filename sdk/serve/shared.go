package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// segment is memory that the host shares.
type segment struct {
	number  uint64
	data    []byte
	err     error // reason why the segment could not be mapped
	busy    bool  // a command uses the segment
	kept    bool  // a tensor uses the segment
	retired bool  // the host has retired the segment
}

// segments holds the segments of a stream.
type segments struct {
	mu     sync.Mutex
	m      map[uint64]*segment
	last   uint64
	closed bool
}

func (g *segments) add(x *segment) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.number <= g.last || len(g.m) >= wire.MaxSegments {
		if x.data != nil {
			wire.Unmap(x.data)
		}
		return fmt.Errorf("stream: %w: segment %d after %d, %d are there, at most %d", core.ErrProtocol, x.number, g.last, len(g.m), wire.MaxSegments)
	}
	if g.closed {
		if x.data != nil {
			wire.Unmap(x.data)
		}
		return nil
	}
	g.last = x.number
	if g.m == nil {
		g.m = map[uint64]*segment{}
	}
	g.m[x.number] = x
	return nil
}

// get returns a segment of at least n bytes that the host may use.
func (g *segments) get(number uint64, n int) (*segment, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.m[number]
	switch {
	case x == nil || x.kept || x.retired || x.busy:
		return nil, fmt.Errorf("stream: %w: segment %d is in use, retired or unknown", core.ErrProtocol, number)
	case x.err == nil && len(x.data) < n:
		return nil, fmt.Errorf("stream: %w: segment %d of %d bytes for %d", core.ErrProtocol, number, len(x.data), n)
	}
	x.busy = true
	return x, nil
}

// done ends the use that get began.
func (g *segments) done(x *segment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.busy = false
}

func (g *segments) keep(x *segment, kept bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.kept = kept
}

// release ends the use of x by a tensor. It reports whether the host has to be notified.
func (g *segments) release(x *segment) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.kept = false
	if x.retired || g.closed {
		g.drop(x)
		return false
	}
	return true
}

func (g *segments) retire(number uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.m[number]
	if x == nil || x.retired || x.busy {
		return fmt.Errorf("stream: %w: segment %d cannot be retired: it is unknown, retired or in use", core.ErrProtocol, number)
	}
	x.retired = true
	if !x.kept {
		g.drop(x)
	}
	return nil
}

// drop unmaps x. The caller holds mu.
func (g *segments) drop(x *segment) {
	if x.data != nil {
		wire.Unmap(x.data)
		x.data = nil
	}
	delete(g.m, x.number)
}

// finish ends the notifications of the host about released segments.
func (g *segments) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// close unmaps all segments that no tensor uses. The other segments are unmapped when the backend releases their tensors.
func (g *segments) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, x := range g.m {
		if !x.kept {
			g.drop(x)
		}
	}
}

// segment maps a segment that the host has sent. If there is not enough memory, the commands that use the segment fail.
func (t *session) segment(number uint64, size int) error {
	fd, ok := t.fs.File()
	if !ok {
		return fmt.Errorf("stream: %w: segment %d without a descriptor", core.ErrProtocol, number)
	}
	data, err := wire.MapSegment(fd, size)
	if err != nil && !errors.Is(err, core.ErrOutOfMemory) {
		return fmt.Errorf("stream: %w", err)
	}
	return t.segments.add(&segment{number: number, data: data, err: err})
}

// writeShared creates a tensor from a segment: in place if the backend can, else by a copy.
func (t *session) writeShared(c *wire.Command) error {
	if err := t.requests.begin(c.Request); err != nil {
		return err
	}
	d, n := c.Desc, c.Desc.Bytes()
	x, err := t.segments.get(c.Segment, n)
	if err != nil {
		return err
	}
	if err = t.fresh(d); err == nil {
		err = x.err
	}
	var told func()
	if err == nil {
		told, err = t.adopt(d, x, n)
	}
	kept := told != nil
	if err == nil && !kept {
		fault := wire.Touch(func() {
			err = t.guard("write", func() error { return t.be.Write(t.ctx, d, x.data[:n]) })
		})
		if fault != nil {
			err = fault
		}
	}
	t.segments.done(x) // before the host is notified
	if !kept {
		return t.done(c.Request, d, err)
	}
	_ = t.written(d, nil)
	t.requests.end(c.Request)
	err = t.fs.Send(wire.KeptFrame(c.Request))
	told()
	return err
}

// adopt passes the segment to the backend, if the backend can adopt it; otherwise told is nil. The caller must call told after it has
// answered the host: a backend that copies may release the segment earlier, but the host must not be notified of the release before the
// answer.
func (t *session) adopt(d op.Desc, x *segment, n int) (told func(), err error) {
	host := t.dev.host
	if host == nil {
		return nil, nil
	}
	t.segments.keep(x, true)
	var users atomic.Int32 // holders of the segment: the backend and the answer
	users.Store(2)
	number := x.number
	part := func() {
		if users.Add(-1) == 0 && t.segments.release(x) {
			_ = t.fs.Send(wire.ReleaseFrame(number))
		}
	}
	err = t.guard("adopt", func() error { return host.Adopt(t.be, d, x.data[:n:n], sync.OnceFunc(part)) })
	switch {
	case err == nil:
		return part, nil
	case errors.Is(err, core.ErrKernel):
		return nil, err // the backend may still use the segment: the memory stays mapped, and the host retires the segment
	}
	t.segments.keep(x, false)
	if errors.Is(err, core.ErrUnsupported) {
		err = nil
	}
	return nil, err
}

// partSize is the number of bytes that are copied to a segment between two notifications of the host. The host copies bytes from the
// segment at the same time.
const partSize = 4 << 20

// readShared requests a copy of a tensor into a segment. If the backend exposes its memory, a large tensor is copied directly from there.
// This blocks the stream, but the host can copy at the same time.
func (t *session) readShared(c *wire.Command) error {
	x, err := t.segments.get(c.Segment, c.Size)
	if err != nil {
		return err
	}
	a := answer{request: c.Request, segment: x, size: c.Size}
	if err = t.dev.wanted(c.Desc.ID, c.Size); err == nil {
		err = x.err
	}
	switch {
	case err != nil:
		a.ticket = core.Failed(err)
	case c.Size >= 2*partSize && t.dev.host != nil:
		lost, err := t.view(c, x)
		if lost != nil {
			return lost
		}
		if !errors.Is(err, core.ErrUnsupported) {
			a.ticket = core.Failed(err)
			break
		}
		fallthrough
	default:
		a.ticket = t.ticket(c.Desc.ID, x.data[:c.Size])
	}
	return t.answerLater(a)
}

// view copies a tensor to a segment and notifies the host of the progress. lost is an error of the transport.
func (t *session) view(c *wire.Command, x *segment) (lost, err error) {
	dst := x.data[:c.Size]
	err = t.guard("view", func() error {
		return t.dev.host.View(t.ctx, t.be, c.Desc.ID, func(data []byte) error {
			if len(data) != len(dst) {
				return fmt.Errorf("view of %d bytes, want %d: %w", len(data), len(dst), core.ErrKernel)
			}
			for lo := 0; lo < len(dst); lo += partSize {
				hi := min(lo+partSize, len(dst))
				if err := wire.Touch(func() { copy(dst[lo:hi], data[lo:hi]) }); err != nil {
					return err
				}
				if hi == len(dst) {
					return nil // the answer reports the error
				}
				if lost = t.fs.Send(wire.PartFrame(c.Request, hi)); lost != nil {
					return lost
				}
			}
			return nil
		})
	})
	return lost, err
}

// filled waits until a tensor is in its segment, and answers the request.
func (t *session) filled(ctx context.Context, a *answer) (err error) {
	fault := wire.Touch(func() {
		err = t.guard("read", func() error { return a.ticket.Wait(ctx) })
	})
	if fault != nil {
		err = fault
	}
	t.segments.done(a.segment)
	if err != nil {
		return t.fs.Send(wire.DoneFrame(a.request, err))
	}
	return t.fs.Send(wire.PartFrame(a.request, a.size))
}
