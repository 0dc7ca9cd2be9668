package protocol

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// transport carries the frames of a stream.
type transport interface {
	send(b []byte) error
	receive() ([]byte, error) // io.EOF: the plugin ended the stream properly
	finish() error            // the host ends its side
	abort()
}

// reply is one frame of the plugin.
type reply struct {
	tag     byte
	request uint64
	last    bool
	data    []byte
	err     *wireError
	number  uint64 // PART: bytes; RELEASE: segment
}

func (r reply) String() string {
	names := map[byte]string{replyOpened: "OPENED", replyData: "DATA", replyDone: "DONE", replyFail: "FAIL", replyKept: "KEPT", replyPart: "PART", replyRelease: "RELEASE"}
	switch r.tag {
	case replyDone:
		return fmt.Sprintf("DONE of request %d with %v", r.request, r.err)
	case replyFail:
		return fmt.Sprintf("FAIL with %v", r.err)
	}
	return fmt.Sprintf("%s of request %d", names[r.tag], r.request)
}

func parseReply(b []byte) (reply, error) {
	r := &reader{b: b}
	p := reply{tag: r.byte()}
	var err error
	switch p.tag {
	case replyOpened:
	case replyData:
		p.request = r.uint()
		flag := r.byte()
		if flag > 1 {
			r.fault("DATA with flag %d", flag)
		}
		p.last, p.data = flag == 1, r.b
		r.b = nil
	case replyDone:
		p.request = r.uint()
		p.err, err = parseError(r.b)
		r.b = nil
	case replyFail:
		if p.err, err = parseError(r.b); err == nil && p.err == nil {
			r.fault("FAIL without an error")
		}
		r.b = nil
	case replyKept:
		p.request = r.uint()
	case replyPart:
		p.request, p.number = r.uint(), r.uint()
	case replyRelease:
		p.number = r.uint()
	default:
		r.fault("a reply with tag 0x%02x", p.tag)
	}
	if r.err == nil && len(r.b) > 0 {
		r.fault("%d bytes behind a reply with tag 0x%02x", len(r.b), p.tag)
	}
	return p, errors.Join(r.err, err)
}

// stream is one stream of a device. A separate goroutine receives replies, so that the plugin never waits for the host.
type stream struct {
	t       *test
	dev     *device
	number  uint64
	tr      transport
	replies chan reply
	done    chan struct{} // closed once err and broken are final
	err     error         // error of the call; nil: it ended properly
	broken  error         // set when a reply cannot be parsed
	request uint64
}

// call returns a new stream over gRPC, before its first frame.
func (d *device) call() *stream {
	return d.over(grpcTransport(d.t, d.conn))
}

func (d *device) over(tr transport) *stream {
	s := &stream{t: d.t, dev: d, tr: tr, replies: make(chan reply, 1<<16), done: make(chan struct{})}
	d.t.streams++
	s.number = d.t.streams
	go func() {
		defer close(s.done)
		defer close(s.replies)
		for {
			b, err := tr.receive()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					s.err = err
				}
				return
			}
			r, err := parseReply(b)
			if err != nil {
				s.broken = err
				return
			}
			s.replies <- r
		}
	}()
	d.t.later(tr.abort)
	return s
}

// stream opens a stream.
func (d *device) stream() *stream {
	s := d.call()
	s.open()
	return s
}

func (s *stream) open() {
	s.send((&frame{}).byte(cmdOpen).uint(s.dev.handle, s.number))
	if r := s.next("OPEN"); r.tag != replyOpened {
		s.t.fail("OPEN is answered by %v", r)
	}
}

// send sends a frame. If the stream has ended, the next receive shows it.
func (s *stream) send(f *frame) {
	sent := make(chan struct{})
	go func() { _ = s.tr.send(f.b); close(sent) }()
	select {
	case <-sent:
	case <-time.After(s.t.Patience):
		s.t.fail("the plugin takes no more frames")
	}
}

// frame begins a frame.
func (s *stream) frame() *frame { return s.dev.frame() }

// ask returns the number of a new request.
func (s *stream) ask() uint64 { s.request++; return s.request }

// next waits for a reply. If the stream ends, or there is no reply in time, the check fails.
func (s *stream) next(what string) reply {
	r, open := s.maybe(s.t.Patience, what)
	if !open {
		s.t.fail("%s: the stream has ended: %v", what, s.ending())
	}
	return r
}

func (s *stream) ending() error {
	<-s.done
	if s.broken != nil {
		return s.broken
	}
	if s.err != nil {
		return s.err
	}
	return errors.New("with status OK")
}

// maybe waits for a reply. It returns false if the stream has ended.
func (s *stream) maybe(limit time.Duration, what string) (reply, bool) {
	late := time.After(limit)
	for {
		select {
		case r, open := <-s.replies:
			if !open && s.broken != nil {
				s.t.fail("%s: a reply that cannot be read: %v", what, s.broken)
			}
			if r.tag == replyRelease { // which may arrive at any time
				continue
			}
			return r, open
		case <-late:
			s.t.fail("%s: no answer after %v", what, limit)
		}
	}
}

// silent checks that no reply comes within d, except RELEASE, which may arrive at any time.
func (s *stream) silent(d time.Duration, what string) {
	late := time.After(d)
	for {
		select {
		case r, open := <-s.replies:
			if !open {
				s.t.fail("%s: the stream has ended: %v", what, s.ending())
			}
			if r.tag != replyRelease {
				s.t.fail("%s: it is answered by %v", what, r)
			}
		case <-late:
			return
		}
	}
}

// wantDone waits for the answer to a request that has no data.
func (s *stream) wantDone(request uint64, what string) *wireError {
	r := s.next(what)
	if r.tag != replyDone || r.request != request {
		s.t.fail("%s: the answer is %v, want DONE of request %d", what, r, request)
	}
	return r.err
}

// wantOK is like wantDone, and requires success.
func (s *stream) wantOK(request uint64, what string) {
	if e := s.wantDone(request, what); e != nil {
		s.t.fail("%s: %v, want no error", what, e)
	}
}

// wantCode is like wantDone, and requires an error with one of the codes.
func (s *stream) wantCode(request uint64, what string, codes ...uint64) *wireError {
	e := s.wantDone(request, what)
	s.t.wantCode(e, what, codes...)
	return e
}

func (t *test) wantCode(e *wireError, what string, codes ...uint64) {
	if e != nil {
		for _, c := range codes {
			if e.root() == c {
				return
			}
		}
	}
	t.fail("%s: %v, want code %v", what, e, codes)
}

// wantData waits for the answer to a READ with data.
func (s *stream) wantData(request uint64, what string) []byte {
	data, e := s.dataOr(request, what)
	if e != nil {
		s.t.fail("%s: the answer is %v, want DATA of request %d", what, e, request)
	}
	return data
}

// dataOr waits for the data of a READ, or for its error.
func (s *stream) dataOr(request uint64, what string) (data []byte, e *wireError) {
	for {
		r := s.next(what)
		if r.tag == replyDone && r.request == request && r.err != nil {
			return nil, r.err
		}
		if r.tag != replyData || r.request != request {
			s.t.fail("%s: the answer is %v, want DATA of request %d", what, r, request)
		}
		data = append(data, r.data...)
		if r.last {
			return data, nil
		}
	}
}

// wantFail waits for FAIL with one of the codes, and for the end of the stream. A gRPC library may also end a call because of the size of a
// message.
func (s *stream) wantFail(what string, codes ...uint64) {
	for {
		r, open := s.maybe(s.t.Patience, what)
		if !open {
			if _, large := ended(s.err); large && what == tooLarge {
				return
			}
			s.t.fail("%s: the stream ended without FAIL: %v", what, s.ending())
		}
		switch r.tag {
		case replyFail:
			s.t.wantCode(r.err, what, codes...)
			if r, open := s.maybe(s.t.Patience, what+": the end of the stream behind FAIL"); open {
				s.t.fail("%s: %v follows FAIL", what, r)
			}
			return
		case replyData:
			continue
		}
		s.t.fail("%s: the answer is %v, want FAIL", what, r)
	}
}

const tooLarge = "a frame beyond MaxFrame"

// fails sends one frame on a new stream of d and requires FAIL with code 10. Because d is used further, the next check on it fails if the
// plugin does not continue to work.
func (d *device) fails(what string, f *frame) {
	s := d.stream()
	s.send(f)
	s.wantFail(what, codeProtocol)
}

// settle appends SIGNAL and AWAIT, sends the frame, and returns the answer.
func (s *stream) settle(f *frame, event uint64, what string) *wireError {
	r := s.ask()
	s.send(f.signal().await(r, event))
	return s.wantDone(r, what)
}

// value reads a tensor.
func (s *stream) value(d tensor, what string) []byte {
	r := s.ask()
	s.send(s.frame().read(r, d.id, d.bytes()))
	return s.wantData(r, what)
}

// fault reads a tensor and requires an error with one of the codes.
func (s *stream) fault(d tensor, what string, codes ...uint64) *wireError {
	r := s.ask()
	s.send(s.frame().read(r, d.id, d.bytes()))
	return s.wantCode(r, what, codes...)
}

// alive checks that a stream works.
func (s *stream) alive(what string) {
	x := s.dev.new(2)
	s.send(s.frame().write(x, floats(1, 2)))
	if got := s.value(x, what); string(got) != string(floats(1, 2)) {
		s.t.fail("%s: a tensor of [1 2] is read as %x", what, got)
	}
}

// end ends the host's side and waits for the end of the call, with status OK.
func (s *stream) end(what string) {
	s.t.must(what, s.tr.finish())
	for {
		r, open := s.maybe(s.t.Patience, what+": the end of the call")
		if !open {
			break
		}
		if r.tag == replyFail {
			s.t.fail("%s: the answer is %v", what, r)
		}
	}
	if s.err != nil {
		s.t.fail("%s: the call ends with %v, want status OK", what, s.err)
	}
}
