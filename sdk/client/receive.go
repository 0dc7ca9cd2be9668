package client

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// request is a call that waits for the plugin.
type request struct {
	id    uint64
	dst   []byte // of a read
	n     int    // bytes of it that have come
	usage core.Memory
	done  chan error

	// Of a tensor that goes through shared memory.
	write bool
	kept  bool          // the segment stays with the plugin
	size  int           // of a read
	there int           // bytes of it that are there
	parts chan struct{} // there has grown

	// Of a read that nobody has asked for yet.
	ahead   []byte // dst
	program uint64
	output  int

	// late is called with the answer to a request that was dropped before it came: what the plugin holds for it is to be
	// given back then.
	late    func(err error)
	dropped bool
	settle  func(err error) // called with the answer before anyone is told of it
}

// requests are those that wait.
type requests struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*request
	err  error // of a stream that is over
}

// add makes a request. On a stream that is over it is answered at once.
func (q *requests) add(dst []byte) *request { return q.put(&request{dst: dst}) }

func (q *requests) put(r *request) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	r.id, r.done = q.last, make(chan error, 1)
	if q.err != nil {
		if r.settle != nil {
			r.settle(q.err)
		}
		r.done <- q.err
		return r
	}
	if q.open == nil {
		q.open = map[uint64]*request{}
	}
	q.open[r.id] = r
	return r
}

// onLate sets what is done with an answer that comes after the request was dropped.
func (q *requests) onLate(r *request, late func(err error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.late = late
}

// drop forgets a request, so that nothing touches the caller's memory any more. It is false for one that has been answered.
func (q *requests) drop(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waiting := q.open[r.id]
	if r.late != nil {
		r.dropped, r.dst = true, nil
	} else {
		delete(q.open, r.id)
	}
	return waiting
}

func (q *requests) failAll(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	for id, r := range q.open {
		delete(q.open, id)
		if r.settle != nil {
			r.settle(err)
		}
		if r.dropped { // what the plugin holds has gone with the stream
			r.late(err)
		} else {
			r.done <- err
		}
	}
}

// answer ends a request. One that nobody waits for any more is ignored.
func (q *requests) answer(p *wire.Reply) error {
	q.mu.Lock()
	var late func(error)
	defer func() {
		q.mu.Unlock()
		if late != nil {
			late(p.Err)
		}
	}()
	if p.Request == 0 || p.Request > q.last {
		return fmt.Errorf("reply 0x%02x to request %d, the last was %d: %w", byte(p.Tag), p.Request, q.last, core.ErrProtocol)
	}
	r := q.open[p.Request]
	if r == nil {
		return nil
	}
	if p.Tag == wire.TagKept && !r.write {
		return fmt.Errorf("request %d is kept, which writes nothing: %w", r.id, core.ErrProtocol)
	}
	r.kept = p.Tag == wire.TagKept
	if p.Tag == wire.TagDone && p.Err == nil && (r.dst != nil || r.parts != nil) {
		return fmt.Errorf("request %d is done without its data: %w", r.id, core.ErrProtocol)
	}
	r.usage = p.Usage
	delete(q.open, r.id)
	if r.settle != nil {
		r.settle(p.Err)
	}
	if r.dropped {
		late = r.late
		return nil
	}
	r.done <- p.Err
	return nil
}

// part notes how much of a tensor is in its segment.
func (q *requests) part(p *wire.Reply) error {
	q.mu.Lock()
	var late func(error)
	defer func() {
		q.mu.Unlock()
		if late != nil {
			late(nil)
		}
	}()
	if p.Request == 0 || p.Request > q.last {
		return fmt.Errorf("part of request %d, the last was %d: %w", p.Request, q.last, core.ErrProtocol)
	}
	r := q.open[p.Request]
	if r == nil {
		return nil
	}
	if r.parts == nil || p.End <= uint64(r.there) || p.End > uint64(r.size) {
		return fmt.Errorf("%d bytes for request %d, which has %d of %d: %w", p.End, r.id, r.there, r.size, core.ErrProtocol)
	}
	r.there = int(p.End)
	if r.there < r.size {
		select {
		case r.parts <- struct{}{}:
		default:
		}
		return nil
	}
	delete(q.open, r.id)
	if r.dropped {
		late = r.late
		return nil
	}
	r.done <- nil
	return nil
}

// sofar is how many bytes of a read are in its segment.
func (q *requests) sofar(r *request) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.there
}

// data puts the data in f where a read wants it. It is copied under the lock, as a canceled read takes its memory back.
func (q *requests) data(p *wire.Reply, f *wire.Frame) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.Request == 0 || p.Request > q.last {
		return fmt.Errorf("data for request %d, the last was %d: %w", p.Request, q.last, core.ErrProtocol)
	}
	r := q.open[p.Request]
	if r == nil {
		return nil
	}
	if r.dst == nil || p.Size() > len(r.dst)-r.n || p.Last != (r.n+p.Size() == len(r.dst)) {
		return fmt.Errorf("%d bytes for request %d, which has %d of %d: %w", p.Size(), r.id, r.n, len(r.dst), core.ErrProtocol)
	}
	p.Copy(f, r.dst[r.n:])
	r.n += p.Size()
	if p.Last {
		delete(q.open, r.id)
		r.done <- nil
	}
	return nil
}

// receive takes replies until the stream ends.
func (s *stream) receive() {
	defer close(s.finished)
	for {
		if err := s.fs.Next(s.handle); err != nil {
			s.fail(s.receiveError(err))
			return
		}
	}
}

// fault is what is wrong with a reply.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// handle takes a reply. It never waits. Replies are handled one at a time.
func (s *stream) handle(f *wire.Frame) error {
	p := &s.reply
	err := p.Parse(f)
	if err == nil {
		switch p.Tag {
		case wire.TagData:
			err = s.requests.data(p, f)
		case wire.TagDone, wire.TagUsage, wire.TagKept:
			err = s.requests.answer(p)
		case wire.TagPart:
			err = s.requests.part(p)
		case wire.TagRelease:
			err = s.released(p.Segment)
		case wire.TagFail:
			err = p.Err
		default:
			err = fmt.Errorf("reply 0x%02x: %w", byte(p.Tag), core.ErrProtocol)
		}
	}
	f.Free()
	if err != nil {
		return fault{fmt.Errorf("plugin %s: stream: %w", s.b.proc.name, err)}
	}
	return nil
}

// receiveError says why no more replies come.
func (s *stream) receiveError(err error) error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	var f fault
	switch {
	case errors.As(err, &f):
		return f.error
	case errors.Is(err, core.ErrProtocol):
		return err
	case ended:
		return fmt.Errorf("stream: %w", core.ErrClosed)
	case s.b.gone() != nil:
		return s.b.gone()
	case errors.Is(err, io.EOF):
		return fmt.Errorf("plugin %s: stream: %w: %w", s.b.proc.name, core.ErrProtocol, errEnded)
	}
	return s.b.lose(err)
}
