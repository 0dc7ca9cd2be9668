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
	id   uint64
	done chan error
	// settle is called with the answer before the waiting goroutine gets it; dropped means that no goroutine waits any more. It must not
	// wait or lock the stream.
	settle  func(err error, dropped bool)
	dropped bool

	// For a read: the data is written to dst while a goroutine waits for it, else to held.
	read      bool
	size      int
	there     int // bytes received so far
	dst, held []byte

	// For a tensor in shared memory.
	write bool
	kept  bool          // the plugin keeps the segment
	parts chan struct{} // signaled when the field there has increased

	// For a prefetch that no read has used yet.
	program uint64
	output  int
}

// requests contains the pending requests of a stream.
type requests struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*request
	err  error // set when the stream is over
}

// put numbers and adds a request. On a stream that is over the request is answered at once.
func (q *requests) put(r *request) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	r.id, r.done = q.last, make(chan error, 1)
	if q.open == nil {
		q.open = map[uint64]*request{}
	}
	q.open[r.id] = r
	if q.err != nil {
		q.finish(r, q.err)
	}
	return r
}

// full reports whether so many requests are unanswered that no further read is accepted.
func (q *requests) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.open) >= wire.MaxRequests/2
}

// finish answers a request. The caller holds mu.
func (q *requests) finish(r *request, err error) {
	delete(q.open, r.id)
	if r.settle != nil {
		r.settle(err, r.dropped)
	}
	r.done <- err
}

// remove removes a request that was not sent.
func (q *requests) remove(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, r.id)
}

// drop stops waiting for a request, so that nothing accesses the caller's memory any more. It returns false if the request was
// already answered.
func (q *requests) drop(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waiting := q.open[r.id]
	r.dropped, r.dst, r.held = true, nil, nil
	return waiting
}

// attach redirects the data of a read to dst from now on.
func (q *requests) attach(r *request, dst []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	copy(dst, r.held[:min(r.there, len(r.held))])
	r.dst, r.held = dst, nil
}

func (q *requests) failAll(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	for _, r := range q.open {
		q.finish(r, err)
	}
}

// find returns the request that a reply is for, or nil if it was already answered. The caller holds mu.
func (q *requests) find(p *wire.Reply) (*request, error) {
	if p.Request == 0 || p.Request > q.last {
		return nil, fmt.Errorf("reply 0x%02x to request %d, the last was %d: %w", byte(p.Tag), p.Request, q.last, core.ErrProtocol)
	}
	return q.open[p.Request], nil
}

// answer ends a request.
func (q *requests) answer(p *wire.Reply) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.find(p)
	if r == nil {
		return err
	}
	if p.Tag == wire.TagKept && !r.write {
		return fmt.Errorf("request %d is kept, which writes nothing: %w", r.id, core.ErrProtocol)
	}
	r.kept = p.Tag == wire.TagKept
	if p.Tag == wire.TagDone && p.Err == nil && (r.read || r.parts != nil) {
		return fmt.Errorf("request %d is done without its data: %w", r.id, core.ErrProtocol)
	}
	q.finish(r, p.Err)
	return nil
}

// part records how many bytes of a tensor are in its segment.
func (q *requests) part(p *wire.Reply) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.find(p)
	if r == nil {
		return err
	}
	if r.parts == nil || p.End <= uint64(r.there) || p.End > uint64(r.size) {
		return fmt.Errorf("%d bytes for request %d, which has %d of %d: %w", p.End, r.id, r.there, r.size, core.ErrProtocol)
	}
	if r.there = int(p.End); r.there == r.size {
		q.finish(r, nil)
		return nil
	}
	select {
	case r.parts <- struct{}{}:
	default:
	}
	return nil
}

// sofar returns the number of bytes of a read that are in its segment.
func (q *requests) sofar(r *request) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.there
}

// data copies the data in f to the memory of a read. It copies under the lock, because the caller owns the memory again after a canceled
// read.
func (q *requests) data(p *wire.Reply, f *wire.Frame) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, err := q.find(p)
	if r == nil {
		return err
	}
	if !r.read || p.Size() > r.size-r.there || p.Last != (r.there+p.Size() == r.size) {
		return fmt.Errorf("%d bytes for request %d, which has %d of %d: %w", p.Size(), r.id, r.there, r.size, core.ErrProtocol)
	}
	to := r.dst
	if to == nil && !r.dropped && r.size > 0 {
		if r.held == nil {
			r.held = make([]byte, r.size)
		}
		to = r.held
	}
	if to != nil {
		p.Copy(f, to[r.there:])
	}
	r.there += p.Size()
	if p.Last {
		q.finish(r, nil)
	}
	return nil
}

// receive receives replies until the stream ends.
func (s *stream) receive() {
	defer close(s.finished)
	for {
		if err := s.fs.Next(s.handle); err != nil {
			s.fail(s.receiveError(err))
			return
		}
	}
}

// fault is the error of an invalid reply.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// handle handles a reply. It never waits. Replies are handled one at a time.
func (s *stream) handle(f *wire.Frame) error {
	p := &s.reply
	err := p.Parse(f)
	if err == nil {
		s.d.b.rebased(p.Err)
		switch p.Tag {
		case wire.TagData:
			err = s.requests.data(p, f)
		case wire.TagDone, wire.TagKept:
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
		return fault{fmt.Errorf("plugin %s: stream: %w", s.d.b.proc.name, err)}
	}
	return nil
}

// receiveError returns the reason why the stream has ended.
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
	case s.d.b.gone() != nil:
		return s.d.b.gone()
	case errors.Is(err, io.EOF):
		return fmt.Errorf("plugin %s: stream: %w: %w", s.d.b.proc.name, core.ErrProtocol, errEnded)
	}
	return s.d.b.lose(err)
}
