package client

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// Write makes a tensor. A small one travels with the commands, and what is wrong with it poisons it; for a large one the
// plugin is waited for.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if err := d.Shape.Check(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if !d.DType.Valid() {
		return fmt.Errorf("write: %v: %w", d, core.ErrDType)
	}
	if len(data) != d.Bytes() {
		return fmt.Errorf("write: %d bytes, want %d for %v: %w", len(data), d.Bytes(), d, core.ErrShape)
	}
	if d.ID.Generation() != s.b.ids {
		return s.stale(d.ID)
	}
	if ctx.Err() != nil {
		return canceled(s.b.proc.name, ctx)
	}
	if err := s.begin(); err != nil {
		return err
	}
	if len(data) <= wire.MaxInline {
		s.enc.Write(d, data)
		return s.added()
	}
	if s.shared != nil && len(data) >= wire.SharedAt {
		s.mu.Unlock()
		if done, err := s.writeShared(ctx, d, data); done {
			return err
		}
		if err := s.begin(); err != nil {
			return err
		}
	}
	r := s.requests.add(nil)
	s.enc.BeginWrite(r.id, d)
	s.flush()
	s.mu.Unlock()
	for lo := 0; lo < len(data); lo += wire.ChunkSize {
		if err := s.chunk(ctx, r, data[lo:min(lo+wire.ChunkSize, len(data))]); err != nil {
			return err
		}
	}
	s.requests.onLate(r, func(err error) {
		if err == nil {
			s.forget(d.ID)
		}
	})
	return s.wait(ctx, r)
}

// forget frees a tensor that the plugin made and the caller was told is not there. It does not wait.
func (s *stream) forget(id op.TensorID) {
	if s.begin() != nil {
		return
	}
	defer s.mu.Unlock()
	s.enc.Free([]op.TensorID{id})
	s.flush()
}

// chunk queues data of a tensor once there is room. When ctx ends first, it tells the plugin that no more comes.
func (s *stream) chunk(ctx context.Context, r *request, data []byte) error {
	err := s.waitForSpace(ctx)
	if err == nil {
		f := wire.ChunkFrame(r.id, data)
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			s.push(f)
		}
		return nil
	}
	s.requests.drop(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.push(wire.ChunkFrame(r.id, nil))
	}
	return err
}

// Read waits for a tensor and fills dst as its data arrives. When it fails, the content of dst is undefined.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if id.Generation() != s.b.ids {
		return s.stale(id)
	}
	if ctx.Err() != nil {
		return canceled(s.b.proc.name, ctx)
	}
	if dst == nil {
		dst = []byte{}
	}
	if s.shared != nil && len(dst) >= wire.SharedAt {
		if done, err := s.readShared(ctx, id, dst); done {
			return err
		}
	}
	if err := s.begin(); err != nil {
		return err
	}
	if r := s.ahead.take(id, len(dst)); r != nil {
		s.mu.Unlock()
		return s.collect(ctx, r, dst)
	}
	r := s.requests.add(dst)
	s.enc.Read(r.id, id, len(dst))
	s.readAhead(id, len(dst))
	s.flush()
	s.mu.Unlock()
	return s.wait(ctx, r)
}
