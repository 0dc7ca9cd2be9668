package serve

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// segment is memory that the host shares.
type segment struct {
	number  uint64
	data    []byte
	err     error // why it could not be mapped
	busy    bool  // a command uses it
	kept    bool  // a tensor lies in it
	retired bool  // the host has given it up
}

// segments are those of a stream.
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

// get finds a segment with room for n bytes that the host may use.
func (g *segments) get(number uint64, n int) (*segment, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.m[number]
	switch {
	case x == nil || x.kept || x.retired || x.busy:
		return nil, fmt.Errorf("stream: %w: segment %d is not the host's to use", core.ErrProtocol, number)
	case x.err == nil && len(x.data) < n:
		return nil, fmt.Errorf("stream: %w: segment %d of %d bytes for %d", core.ErrProtocol, number, len(x.data), n)
	}
	x.busy = true
	return x, nil
}

// done ends what get began.
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

// release ends the time that a tensor lies in x. It reports whether the host is to be told.
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
		return fmt.Errorf("stream: %w: segment %d is retired while it is not there or in use", core.ErrProtocol, number)
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

// finish says that the host need not be told any more of what the backend gives up.
func (g *segments) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// close unmaps all that no tensor lies in; the rest goes as the backend gives it up.
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

// segment maps what the host has sent. A lack of memory is told when the segment is used.
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

// writeShared makes a tensor of what lies in a segment: in place if the backend can, else of a copy.
func (t *session) writeShared(c *wire.Command) (err error) {
	if _, err := t.waits.begin(t.ctx, c.Request); err != nil {
		return err
	}
	t.waits.end()
	d, n := c.Desc, c.Desc.Bytes()
	x, err := t.segments.get(c.Segment, n)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		t.segments.done(x) // before the host hears of it
		answer := wire.DoneFrame(c.Request, err)
		if kept {
			answer = wire.KeptFrame(c.Request)
		}
		err = t.fs.Send(answer)
	}()
	err = t.fresh(d)
	if limit := t.caps.MaxBytes; err == nil && limit > 0 && int64(n) > limit {
		err = fmt.Errorf("write: %v, at most %d bytes a tensor: %w", d, limit, core.ErrUnsupported)
	}
	if err == nil {
		err = x.err
	}
	if err == nil {
		kept, err = t.adopt(d, x, n)
	}
	if err == nil && !kept {
		fault := wire.Touch(func() {
			err = t.guard("write", func() error { return t.be.Write(t.ctx, d, x.data[:n]) })
		})
		if fault != nil {
			err = fault
		}
	}
	if err == nil {
		t.tensors[d.ID] = tensor{Desc: d}
	}
	return err
}

// adopt hands the segment to a backend that takes it.
func (t *session) adopt(d op.Desc, x *segment, n int) (kept bool, err error) {
	if t.direct == nil {
		return false, nil
	}
	t.segments.keep(x, true)
	release := sync.OnceFunc(func() {
		number := x.number
		if t.segments.release(x) {
			_ = t.fs.Send(wire.ReleaseFrame(number))
		}
	})
	err = t.guard("adopt", func() error { return t.direct.Adopt(t.ctx, d, x.data[:n:n], release) })
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, core.ErrKernel):
		return false, err // who knows what it holds: the memory stays where it is, and the host retires the segment
	}
	t.segments.keep(x, false)
	if errors.Is(err, core.ErrUnsupported) {
		err = nil
	}
	return false, err
}

// partSize is how much of a tensor is copied to a segment before the host, which copies it on, is told.
const partSize = 4 << 20

// readShared puts a tensor into a segment.
func (t *session) readShared(c *wire.Command) error {
	ctx, err := t.waits.begin(t.ctx, c.Request)
	if err != nil {
		return err
	}
	defer t.waits.end()
	seg, err := t.segments.get(c.Segment, c.Size)
	if err != nil {
		return err
	}
	answer := func(err error) error {
		t.segments.done(seg)
		if err != nil {
			return t.fs.Send(wire.DoneFrame(c.Request, err))
		}
		return t.fs.Send(wire.PartFrame(c.Request, c.Size))
	}
	x, err := t.lookup(c.Desc.ID)
	switch {
	case err != nil:
		err = fmt.Errorf("read: %w", err)
	case x.err != nil:
		err = x.err
	case x.Bytes() != c.Size:
		err = fmt.Errorf("read: %v is %v of %d bytes, got room for %d: %w", c.Desc.ID, x.Desc, x.Bytes(), c.Size, core.ErrShape)
	default:
		err = seg.err
	}
	if err != nil {
		return answer(err)
	}
	dst := seg.data[:c.Size]
	var lost error // of the transport
	err = core.ErrUnsupported
	if t.direct != nil {
		err = t.guard("view", func() error {
			return t.direct.View(ctx, c.Desc.ID, func(data []byte) error {
				if len(data) != len(dst) {
					return fmt.Errorf("view of %d bytes, want %d: %w", len(data), len(dst), core.ErrKernel)
				}
				for lo := 0; lo < len(dst); lo += partSize {
					hi := min(lo+partSize, len(dst))
					if err := wire.Touch(func() { copy(dst[lo:hi], data[lo:hi]) }); err != nil {
						return err
					}
					if hi == len(dst) {
						return nil // told outside
					}
					if lost = t.fs.Send(wire.PartFrame(c.Request, hi)); lost != nil {
						return lost
					}
				}
				return nil
			})
		})
	}
	if lost != nil {
		return lost
	}
	if errors.Is(err, core.ErrUnsupported) {
		fault := wire.Touch(func() {
			err = t.guard("read", func() error { return t.be.Read(ctx, c.Desc.ID, dst) })
		})
		if fault != nil {
			err = fault
		}
	}
	return answer(err)
}
