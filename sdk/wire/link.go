//go:build unix

package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

const (
	linkBuffer = 128 << 10 // bytes of the buffer of the reader
	socketRoom = 1 << 20   // requested from the system for each direction
	directSize = 64 << 10  // frames up to this length are sent with one copy and one call
)

// link carries frames over a unix socket: four bytes of length, then the frame. A length of zero means that the host sends no more
// frames.
type link struct {
	file   *os.File // the socket, which does not block
	raw    syscall.RawConn
	ctx    context.Context
	cancel context.CancelFunc

	receiver
	listener

	mu     sync.Mutex // held while sending
	out    []byte
	rest   []byte // the part of a frame that TrySend could not send
	broken error
}

// HostLink returns the host's end of a stream over a connected socket, and closes conn. It ends with ctx.
func HostLink(ctx context.Context, conn *net.UnixConn) (*FrameStream, error) {
	return newLink(ctx, conn, true, false)
}

// PluginLink returns the plugin's end, and closes conn. takeFiles says whether descriptors are received.
func PluginLink(ctx context.Context, conn *net.UnixConn, takeFiles bool) (*FrameStream, error) {
	return newLink(ctx, conn, false, takeFiles)
}

func newLink(ctx context.Context, conn *net.UnixConn, host, takes bool) (*FrameStream, error) {
	defer conn.Close()
	_, _ = conn.SetWriteBuffer(socketRoom), conn.SetReadBuffer(socketRoom)
	polled, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var file *os.File
	if e := polled.Control(func(fd uintptr) { file, err = unpolled(fd) }); e != nil || err != nil {
		return nil, errors.Join(e, err)
	}
	l := &link{file: file, receiver: receiver{host: host, takes: takes, buf: make([]byte, linkBuffer)},
		listener: listener{stirred: make(chan struct{}, 1)}}
	l.looked.Store(-int64(quietFor)) // no goroutine has polled yet
	if l.raw, err = file.SyscallConn(); err != nil {
		file.Close()
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	context.AfterFunc(l.ctx, l.shut)
	return &FrameStream{link: l}, nil
}

// shut closes the socket. Data that was sent still arrives.
func (l *link) shut() {
	l.listener.mu.Lock()
	first := !l.shutDown
	l.shutDown = true
	l.listener.mu.Unlock()
	if !first {
		return
	}
	_ = l.raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) }) // wakes waiting goroutines
	l.file.Close()
	l.stopListening()
}

// Close ends a link at once. A stream over gRPC ends with its call instead.
func (s *FrameStream) Close() {
	if s.link != nil {
		s.link.cancel()
		s.link.shut()
	}
}

func (l *link) send(f *Frame) error {
	defer f.Free()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	return l.sent(l.write(f))
}

func (l *link) write(f *Frame) error {
	n := f.Len()
	l.out = binary.LittleEndian.AppendUint32(l.out[:0], uint32(n))
	if n <= directSize {
		return l.writeAll(l.pack(f))
	}
	for _, p := range f.parts { // short parts are sent together
		b := p.ReadOnlyData()
		if len(l.out)+len(b) <= directSize {
			l.out = append(l.out, b...)
			continue
		}
		if err := l.writeAll(l.out); err != nil {
			return err
		}
		l.out = l.out[:0]
		if err := l.writeAll(b); err != nil {
			return err
		}
	}
	return l.writeAll(l.out)
}

func (l *link) pack(f *Frame) []byte {
	for _, p := range f.parts {
		l.out = append(l.out, p.ReadOnlyData()...)
	}
	return l.out
}

// writeAll sends b, and waits while the socket is full.
func (l *link) writeAll(b []byte) error {
	for len(b) > 0 {
		n, err := l.writeOnce(b)
		switch {
		case err == nil:
			b = b[n:]
		case err == syscall.EAGAIN:
			if err := l.waitWritable(); err != nil {
				return err
			}
		case err != syscall.EINTR:
			return err
		}
	}
	return nil
}

// writeOnce sends the bytes of b that the socket accepts at once, and returns their number.
func (l *link) writeOnce(b []byte) (n int, err error) {
	e := l.raw.Control(func(fd uintptr) { n, err = syscall.Write(int(fd), b) })
	if e != nil {
		err = e
	}
	return max(n, 0), err
}

// sent records an error permanently, because part of a frame may have been sent.
func (l *link) sent(err error) error {
	if err != nil {
		l.broken = err
	}
	return err
}

// flush sends the rest of a frame that TrySend could not send.
func (l *link) flush() error {
	if l.broken != nil || len(l.rest) == 0 {
		return l.broken
	}
	err := l.writeAll(l.rest)
	l.rest = l.rest[:0]
	return l.sent(err)
}

// TrySend sends a small frame without waiting. It reports whether the frame was taken, and then whether Flush is needed to send
// the rest of it. The caller still owns a frame that was not taken.
func (s *FrameStream) TrySend(f *Frame) (taken, more bool) {
	l := s.link
	if l == nil || f.Len() > directSize || !l.mu.TryLock() {
		return false, false
	}
	defer l.mu.Unlock()
	if l.broken != nil || len(l.rest) > 0 {
		return false, false
	}
	l.out = binary.LittleEndian.AppendUint32(l.out[:0], uint32(f.Len()))
	b := l.pack(f)
	n, err := l.writeOnce(b)
	if err != nil || n == 0 {
		return false, false // Send returns the error
	}
	l.rest = append(l.rest[:0], b[n:]...)
	f.Free()
	return true, len(l.rest) > 0
}

// Flush sends the rest of a frame that TrySend could not send.
func (s *FrameStream) Flush() error {
	if s.link == nil {
		return nil
	}
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.link.flush()
}

// errBusy says that a frame could not be sent without waiting.
var errBusy = errors.New("wire: the socket is full")

// errNoLink is the error of a stream over gRPC, which carries no descriptors.
var errNoLink = errors.ErrUnsupported

// SendFile sends a small frame and a descriptor. If it would have to wait to begin, it returns an error and sends nothing. If the socket
// takes only part of the frame, it waits to send the rest. The caller still owns file.
func (s *FrameStream) SendFile(f *Frame, file *os.File) error {
	l := s.link
	defer f.Free()
	if l == nil {
		return errNoLink
	}
	if !l.mu.TryLock() {
		return errBusy
	}
	defer l.mu.Unlock()
	if l.broken != nil || len(l.rest) > 0 {
		return errBusy
	}
	l.out = binary.LittleEndian.AppendUint32(l.out[:0], uint32(f.Len()))
	b := l.pack(f)
	n := 0
	var failed error
	err := l.raw.Control(func(fd uintptr) {
		n, failed = syscall.SendmsgN(int(fd), b, syscall.UnixRights(int(file.Fd())), nil, syscall.MSG_DONTWAIT)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	if n < len(b) {
		err = l.writeAll(b[n:])
	}
	return l.sent(err)
}

// closeSend tells the plugin that the host sends no more frames.
func (l *link) closeSend() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	return l.sent(l.writeAll([]byte{0, 0, 0, 0}))
}
