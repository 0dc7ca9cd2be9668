//go:build unix

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"google.golang.org/grpc/mem"

	"github.com/goburn/burn/core"
)

const (
	maxFiles = 16       // descriptors that may wait for their frames
	directTo = 64 << 10 // a frame that lacks at least this many bytes is received directly, not through the buffer
)

// errCut is the error of a socket that ended before the peer announced the end of the stream.
var errCut = errors.New("wire: the socket has ended")

// receiver splits received bytes into frames. The holder of the mutex receives: one goroutine that waits for frames in Next, or any
// goroutine that calls Poll. When there is data in the socket, the system wakes the goroutine in Next, so data that callers of Poll leave
// in the socket is never lost. Callers of Poll leave no complete frame in the buffer, and wake the goroutine in Next when nothing more can
// be received.
type receiver struct {
	receiving sync.Mutex // guards the fields below, and the order in which frames are handled

	host   bool   // this is the host's end of the stream
	buf    []byte // received; lo to hi is not yet consumed
	lo, hi int
	part   *Frame // frame that is not complete; to contains the first bytes (got) of the frame
	to     []byte
	got    int
	takes  bool // descriptors are received
	files  []int
	over   error // nothing more can be received
}

// ReleaseFiles closes the descriptors that no frame has claimed. Only the receiver may call it.
func (s *FrameStream) ReleaseFiles() {
	if s.link != nil {
		s.link.receiving.Lock()
		defer s.link.receiving.Unlock()
		for _, fd := range s.link.files {
			_ = syscall.Close(fd)
		}
		s.link.files = nil
	}
}

// File returns the oldest received descriptor that was not yet returned. Only the receiver may call it.
func (s *FrameStream) File() (fd int, ok bool) {
	if s.link == nil || len(s.link.files) == 0 {
		return -1, false
	}
	fd = s.link.files[0]
	s.link.files = s.link.files[1:]
	return fd, true
}

// recv reads available bytes into b, without waiting.
func (r *receiver) recv(fd int, b []byte) (int, error) {
	for {
		n, err := r.recvOnce(fd, b)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, err
		case n <= 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (r *receiver) recvOnce(fd int, b []byte) (int, error) {
	if !r.takes {
		return syscall.Read(fd, b) // the socket does not block
	}
	var oob [64]byte
	n, m, _, _, err := syscall.Recvmsg(fd, b, oob[:], closeOnExec)
	if m > 0 {
		if e := r.collect(oob[:m]); e != nil {
			return n, e
		}
	}
	return n, err
}

// collect keeps the descriptors of a message.
func (r *receiver) collect(oob []byte) error {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("stream: %w: %v", core.ErrProtocol, err)
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue // another kind of message
		}
		r.files = append(r.files, fds...)
	}
	if len(r.files) > maxFiles {
		return fmt.Errorf("stream: %w: %d descriptors wait for their frames, at most %d", core.ErrProtocol, len(r.files), maxFiles)
	}
	return nil
}

// take returns the next frame, or nil if the frame is not complete after the given number of system calls (reads). An error is returned
// again at the next call.
func (r *receiver) take(fd, reads int) (*Frame, error) {
	for {
		if r.over != nil {
			return nil, r.over
		}
		if r.part == nil && r.hi-r.lo >= 4 {
			n := int(binary.LittleEndian.Uint32(r.buf[r.lo:]))
			switch {
			case n == 0 && !r.host:
				r.over = io.EOF
				continue
			case n == 0 || n > MaxFrame+slackSize:
				r.over = fmt.Errorf("wire: %w: a frame of %d bytes, at most %d", core.ErrProtocol, n, MaxFrame)
				continue
			}
			r.lo += 4
			r.start(n)
		}
		if r.part != nil {
			k := copy(r.to[r.got:], r.buf[r.lo:r.hi])
			r.lo, r.got = r.lo+k, r.got+k
			if r.got == len(r.to) {
				f := r.part
				r.part, r.to, r.got = nil, nil, 0
				return f, nil
			}
		}
		if reads--; reads < 0 {
			return nil, nil
		}
		switch err := r.more(fd); err {
		case nil:
		case syscall.EAGAIN:
			return nil, nil
		case io.EOF:
			r.over = errCut
		default:
			r.over = err
		}
	}
}

// start begins a frame of n bytes.
func (r *receiver) start(n int) {
	r.part = &Frame{}
	if n < 1<<10 {
		r.to = make([]byte, n)
		r.part.parts = mem.BufferSlice{mem.SliceBuffer(r.to)}
	} else {
		b := framePool.Get(n)
		r.to = *b
		r.part.parts = mem.BufferSlice{mem.NewBuffer(b, framePool)}
	}
}

// more receives once: into the present frame if much of it is missing, else into the buffer.
func (r *receiver) more(fd int) error {
	if len(r.to)-r.got >= directTo { // the buffer is empty
		n, err := r.recv(fd, r.to[r.got:])
		r.got += n
		return err
	}
	r.hi = copy(r.buf, r.buf[r.lo:r.hi])
	r.lo = 0
	n, err := r.recv(fd, r.buf[r.hi:])
	r.hi += n
	return err
}

// Next waits for a frame and calls handle with it, before any later frame is handled. It is for one goroutine at a time. It
// returns io.EOF if the other side has announced the end of the stream, ErrProtocol for a frame that exceeds the limit, and the error of
// handle unchanged.
func (s *FrameStream) Next(handle func(*Frame) error) error {
	l := s.link
	if l == nil {
		return s.next(handle)
	}
	for {
		if some, err := l.nextNow(handle); some || err != nil {
			return err
		}
		if err := l.listen(); err != nil {
			return l.ended(err)
		}
	}
}

// nextNow calls handle with the next frame if a frame has arrived, and reports whether a frame has arrived.
func (l *link) nextNow(handle func(*Frame) error) (some bool, err error) {
	l.receiving.Lock()
	defer l.receiving.Unlock()
	var f *Frame
	if e := l.raw.Control(func(fd uintptr) { f, err = l.take(int(fd), 1<<30) }); e != nil {
		err = e
		if l.over != nil {
			err = l.over
		}
	}
	switch {
	case err != nil:
		return false, l.ended(err)
	case f == nil:
		return false, nil
	}
	return true, handle(f)
}

// Poll calls handle with the frames that have arrived, in order, and does not wait for more. It reports whether a frame had arrived, and
// returns the error of handle. It leaves frames to Next while Next is at work, if the transport is not a socket, and if a frame is invalid.
func (s *FrameStream) Poll(handle func(*Frame) error) (some bool, err error) {
	l := s.link
	if l == nil || !l.receiving.TryLock() {
		return false, nil
	}
	defer l.receiving.Unlock()
	reads := 1
	for {
		var f *Frame
		var failed error
		e := l.raw.Control(func(fd uintptr) { f, failed = l.take(int(fd), reads) })
		if failed != nil {
			l.stopListening() // Next returns the error
			l.recheck()
		}
		if e != nil || f == nil {
			return some, nil
		}
		some, reads = true, 0
		if err := handle(f); err != nil {
			return some, err
		}
	}
}

func (l *link) receive() (f *Frame, err error) {
	err = (&FrameStream{link: l}).Next(func(g *Frame) error { f = g; return nil })
	return f, err
}

// ended returns the reason why no more frames come. If the socket ended before the peer announced the end, the peer is gone.
func (l *link) ended(err error) error {
	switch {
	case errors.Is(err, core.ErrProtocol), err == io.EOF:
		return err
	case l.ctx.Err() != nil:
		return l.ctx.Err()
	case err == errCut:
		return io.ErrUnexpectedEOF
	}
	return err
}
