package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// checkWrite returns an error if d and data are not a valid tensor.
func (s *stream) checkWrite(d op.Desc, data []byte) error {
	name := s.d.b.proc.name
	if err := d.Shape.Check(); err != nil {
		return fmt.Errorf("plugin %s: write: %w", name, err)
	}
	if !d.DType.Valid() {
		return fmt.Errorf("plugin %s: write: %v: %w", name, d, core.ErrDType)
	}
	if len(data) != d.Bytes() {
		return fmt.Errorf("plugin %s: write: %d bytes, want %d for %v: %w", name, len(data), d.Bytes(), d, core.ErrShape)
	}
	if d.ID.Generation() != s.d.b.ids {
		return s.stale(d.ID)
	}
	return nil
}

// Write implements core.Stream. A small tensor is sent with the commands, and an error poisons it. For a large tensor Write waits for the
// plugin and returns the error.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if err := s.checkWrite(d, data); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return canceled(s.d.b.proc.name, ctx)
	}
	if len(data) <= wire.MaxInline {
		return s.writeInline(d, data)
	}
	if s.shared != nil {
		if r, err := s.writeShared(d, data, nil); r != nil || err != nil {
			if err = s.written(ctx, d.ID, r, err); !errors.Is(err, core.ErrOutOfMemory) || s.shared.disable() {
				return err // else retry without a segment, for which the plugin may have enough memory
			}
		}
	}
	r, err := s.writeChunks(ctx, d, data, nil)
	return s.written(ctx, d.ID, r, err)
}

// written waits until a tensor is created. On an error, it frees the tensor, which the plugin may have created nevertheless.
func (s *stream) written(ctx context.Context, id op.TensorID, r *request, err error) error {
	if err == nil {
		err = s.await(ctx, r)
	}
	if err != nil && r != nil && !errors.Is(err, core.ErrProtocol) && s.begin() == nil {
		s.enc.Free([]op.TensorID{id})
		s.flush()
		s.mu.Unlock()
	}
	return err
}

func (s *stream) writeInline(d op.Desc, data []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.enc.Write(d, data)
	return s.added()
}

// writeChunks sends a tensor in chunks, which are copies. The answer to the request says whether the tensor was created.
func (s *stream) writeChunks(ctx context.Context, d op.Desc, data []byte, settle func(error, bool)) (*request, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	r := s.requests.put(&request{settle: settle})
	s.enc.BeginWrite(r.id, d)
	s.flush()
	s.mu.Unlock()
	for lo := 0; lo < len(data); lo += wire.ChunkSize {
		if err := s.chunk(ctx, r, data[lo:min(lo+wire.ChunkSize, len(data))]); err != nil {
			return r, err
		}
	}
	return r, nil
}

// chunk queues data of a tensor once there is space. If ctx ends first, it tells the plugin that no more data follows.
func (s *stream) chunk(ctx context.Context, r *request, data []byte) error {
	err := s.waitForSpace(ctx)
	if err != nil {
		s.requests.drop(r)
		data = nil
	}
	f := wire.ChunkFrame(r.id, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.push(f)
	}
	return err
}

// Adopt implements core.HostMemory. It copies the data to the transport and does not wait for the plugin. An error of the plugin
// poisons the tensor, and a later wait for an event returns it.
func (d *device) Adopt(cs core.Stream, desc op.Desc, data []byte, release func()) error {
	s, err := d.stream(cs)
	if err != nil {
		return err
	}
	if err := s.checkWrite(desc, data); err != nil {
		return err
	}
	if err := s.adopt(desc, data); err != nil {
		return err
	}
	release()
	return nil
}

func (s *stream) adopt(d op.Desc, data []byte) error {
	if len(data) <= wire.MaxInline {
		return s.writeInline(d, data)
	}
	failed := func(err error, _ bool) {
		if err != nil {
			s.marks.keep(err)
		}
	}
	if s.shared != nil {
		if r, err := s.writeShared(d, data, failed); r != nil || err != nil {
			return err
		}
	}
	_, err := s.writeChunks(context.Background(), d, data, failed)
	return err
}

// View implements core.HostMemory. It returns ErrUnsupported: tensors of the plugin are not in this process.
func (d *device) View(context.Context, core.Stream, op.TensorID, func([]byte) error) error {
	return fmt.Errorf("plugin %s: view: %w", d.b.proc.name, core.ErrUnsupported)
}

// ticket is a read.
type ticket struct {
	s      *stream
	r      *request
	dst    []byte
	shared *segment // nil: the data comes in frames
	waited atomic.Bool
}

// Read implements core.Stream.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	if id.Generation() != s.d.b.ids {
		return core.Failed(s.stale(id))
	}
	if s.requests.full() {
		return core.Failed(fmt.Errorf("plugin %s: read: too many are not answered yet: %w", s.d.b.proc.name, core.ErrOutOfMemory))
	}
	if s.shared != nil && len(dst) >= wire.SharedAt {
		if t, err := s.readShared(id, dst); err != nil {
			return core.Failed(err)
		} else if t != nil {
			return t
		}
	}
	if err := s.begin(); err != nil {
		return core.Failed(err)
	}
	r := s.ahead.take(id, len(dst))
	if r == nil {
		r = s.requests.put(&request{read: true, size: len(dst)})
		s.enc.Read(r.id, id, len(dst))
		s.readAhead(id, len(dst))
	}
	s.flush()
	s.mu.Unlock()
	return &ticket{s: s, r: r, dst: dst}
}

// Wait implements core.Ticket.
func (t *ticket) Wait(ctx context.Context) error {
	s := t.s
	if t.waited.Swap(true) {
		return fmt.Errorf("plugin %s: read: waited for before: %w", s.d.b.proc.name, core.ErrClosed)
	}
	if ctx.Err() != nil {
		if !s.giveUp(t.r) && t.shared != nil {
			s.shared.give(t.shared)
		}
		return canceled(s.d.b.proc.name, ctx)
	}
	if t.shared != nil {
		return t.copyShared(ctx)
	}
	if t.dst == nil {
		t.dst = []byte{}
	}
	s.requests.attach(t.r, t.dst)
	return s.await(ctx, t.r)
}
