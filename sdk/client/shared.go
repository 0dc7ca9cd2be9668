package client

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// writeShared writes a tensor through shared memory. It is not done when there is no segment for it.
func (s *stream) writeShared(ctx context.Context, d op.Desc, data []byte) (done bool, err error) {
	x := s.shared.take(len(data))
	if x == nil {
		return false, nil
	}
	defer s.shared.crowded()
	if err := wire.Touch(func() { copy(x.data, data) }); err != nil {
		s.shared.retire(x)
		return true, err
	}
	if err := s.begin(); err != nil {
		s.shared.give(x)
		return true, err
	}
	r := &request{write: true}
	// The receiver deals with the segment before anyone else hears of the answer.
	r.settle = func(err error) {
		switch {
		case r.kept:
			s.shared.keep(x)
		case err != nil:
			go s.shared.retire(x) // the plugin may not know what it has; not on the receiver, which never waits
		default:
			s.shared.give(x)
		}
	}
	r.late = func(err error) {
		if err == nil {
			s.forget(d.ID)
		}
	}
	s.requests.put(r)
	s.enc.WriteShared(r.id, d, x.number)
	s.flush()
	s.mu.Unlock()
	if err := s.wait(ctx, r); err != nil {
		if errors.Is(err, core.ErrOutOfMemory) { // perhaps there is no room for the segment, but for the tensor
			return s.shared.poor(), err
		}
		return true, err
	}
	return true, nil
}

// poor makes no more segments. It is false the first time.
func (g *segments) poor() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.broken
	g.broken = true
	return before
}

// readShared reads a tensor through shared memory and copies what is there while the plugin puts more. It is not done when
// there is no segment for it.
func (s *stream) readShared(ctx context.Context, id op.TensorID, dst []byte) (done bool, err error) {
	x := s.shared.take(len(dst))
	if x == nil {
		return false, nil
	}
	defer s.shared.crowded()
	if err := s.begin(); err != nil {
		s.shared.give(x)
		return true, err
	}
	r := &request{size: len(dst), parts: make(chan struct{}, 1)}
	r.late = func(error) { s.shared.give(x) }
	s.requests.put(r)
	s.enc.ReadShared(r.id, id, len(dst), x.number)
	s.flush()
	s.mu.Unlock()
	at := 0
	take := func(end int) error {
		lo := at
		at = end
		return wire.Touch(func() { copy(dst[lo:end], x.data[lo:end]) })
	}
	for {
		select {
		case <-r.parts:
			if err := take(s.requests.sofar(r)); err != nil {
				if !s.giveUp(r) {
					s.shared.give(x)
				}
				return true, err
			}
			continue
		case err = <-r.done:
		case <-ctx.Done():
			if s.giveUp(r) {
				return true, canceled(s.b.proc.name, ctx) // late gives the segment back
			}
			err = <-r.done
		}
		break
	}
	if err == nil {
		err = take(len(dst))
	}
	s.shared.give(x)
	return true, err
}
