package client

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// writeShared sends a tensor through shared memory. The answer to the request says whether the tensor was created. The request is nil if no
// segment is available.
func (s *stream) writeShared(d op.Desc, data []byte, settle func(error, bool)) (*request, error) {
	x := s.shared.take(len(data))
	if x == nil {
		return nil, nil
	}
	defer s.shared.limitIdle()
	if err := wire.Touch(func() { copy(x.data, data) }); err != nil {
		s.shared.retire(x)
		return nil, err
	}
	if err := s.begin(); err != nil {
		s.shared.give(x)
		return nil, err
	}
	s.shared.lend(x, d.ID)
	r := &request{write: true}
	// The receiver handles the segment before the waiting goroutine gets the answer.
	r.settle = func(err error, dropped bool) {
		switch {
		case r.kept:
			s.shared.keep(x)
		case err != nil:
			go s.shared.retire(x) // the plugin may still use the segment; in a goroutine, because the receiver must not wait
		default:
			s.shared.give(x)
		}
		if settle != nil {
			settle(err, dropped)
		}
	}
	s.requests.put(r)
	s.enc.WriteShared(r.id, d, x.number)
	s.flush()
	s.mu.Unlock()
	return r, nil
}

// disable stops the creation of segments. It returns false the first time.
func (g *segments) disable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.broken
	g.broken = true
	return before
}

// readShared reads a tensor through shared memory. The ticket is nil if no segment is available.
func (s *stream) readShared(id op.TensorID, dst []byte) (*ticket, error) {
	x := s.shared.take(len(dst))
	if x == nil {
		return nil, nil
	}
	if err := s.begin(); err != nil {
		s.shared.give(x)
		return nil, err
	}
	r := s.requests.put(&request{size: len(dst), parts: make(chan struct{}, 1), settle: func(_ error, dropped bool) {
		if dropped {
			s.shared.give(x)
		}
	}})
	s.enc.ReadShared(r.id, id, len(dst), x.number)
	s.flush()
	s.mu.Unlock()
	return &ticket{s: s, r: r, dst: dst, shared: x}, nil
}

// copyShared copies the bytes in the segment while the plugin adds more.
func (t *ticket) copyShared(ctx context.Context) error {
	s, r, x := t.s, t.r, t.shared
	defer s.shared.limitIdle()
	s.fs.Sleep()
	defer s.fs.Wake()
	at := 0
	take := func(end int) error {
		lo := at
		at = end
		return wire.Touch(func() { copy(t.dst[lo:end], x.data[lo:end]) })
	}
	for {
		var err error
		select {
		case <-r.parts:
			if err = take(s.requests.sofar(r)); err == nil {
				continue
			}
			if s.giveUp(r) {
				return err // the answer returns the segment
			}
		case err = <-r.done:
			if err == nil {
				err = take(len(t.dst))
			}
		case <-ctx.Done():
			if s.giveUp(r) {
				return canceled(s.d.b.proc.name, ctx)
			}
			if err = <-r.done; err == nil {
				err = take(len(t.dst))
			}
		}
		s.shared.give(x)
		return err
	}
}
