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
	linkBuffer = 128 << 10 // of the reader
	socketRoom = 1 << 20   // asked of the system for each direction
	directSize = 64 << 10  // frames up to this length are sent with one copy and one call
)

// link carries frames over a unix socket: four bytes of length, then the frame. A length of zero is the host's orderly end.
type link struct {
	conn   *net.UnixConn
	raw    syscall.RawConn
	ctx    context.Context
	cancel context.CancelFunc

	receiver

	mu     sync.Mutex // held while sending
	out    []byte
	rest   []byte // of a frame that TrySend could not send in full
	broken error
}

// HostLink makes the host's end of a stream over a connected socket. It ends with ctx.
func HostLink(ctx context.Context, conn *net.UnixConn) (*FrameStream, error) {
	return newLink(ctx, conn, true, false)
}

// PluginLink makes the plugin's end. takeFiles says whether descriptors are received.
func PluginLink(ctx context.Context, conn *net.UnixConn, takeFiles bool) (*FrameStream, error) {
	return newLink(ctx, conn, false, takeFiles)
}

func newLink(ctx context.Context, conn *net.UnixConn, host, takes bool) (*FrameStream, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	_, _ = conn.SetWriteBuffer(socketRoom), conn.SetReadBuffer(socketRoom)
	l := &link{conn: conn, raw: raw, receiver: receiver{host: host, takes: takes, buf: make([]byte, linkBuffer)}}
	l.ctx, l.cancel = context.WithCancel(ctx)
	context.AfterFunc(l.ctx, func() { conn.Close() })
	return &FrameStream{link: l}, nil
}

// Close ends a link at once. Streams over gRPC end with their call.
func (s *FrameStream) Close() {
	if s.link != nil {
		s.link.cancel()
		s.link.conn.Close()
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
		_, err := l.conn.Write(l.pack(f))
		return err
	}
	parts := net.Buffers{l.out}
	for _, p := range f.parts {
		parts = append(parts, p.ReadOnlyData())
	}
	_, err := parts.WriteTo(l.conn)
	return err
}

func (l *link) pack(f *Frame) []byte {
	for _, p := range f.parts {
		l.out = append(l.out, p.ReadOnlyData()...)
	}
	return l.out
}

// sent remembers a failure: part of a frame may have gone out.
func (l *link) sent(err error) error {
	if err != nil {
		l.broken = err
	}
	return err
}

// flush sends what TrySend has left.
func (l *link) flush() error {
	if l.broken != nil || len(l.rest) == 0 {
		return l.broken
	}
	_, err := l.conn.Write(l.rest)
	l.rest = l.rest[:0]
	return l.sent(err)
}

// TrySend sends a small frame without waiting. It reports whether the frame was taken, and then whether Flush is needed to
// send the rest of it. A frame that was not taken is still the caller's.
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
	n := 0
	err := l.raw.Write(func(fd uintptr) bool {
		var e error
		if n, e = syscall.Write(int(fd), b); e != nil {
			n = 0
		}
		return true
	})
	if err != nil || n == 0 {
		return false, false // Send learns why
	}
	l.rest = append(l.rest[:0], b[n:]...)
	f.Free()
	return true, len(l.rest) > 0
}

// Flush sends what TrySend has left.
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

// SendFile sends a small frame and a descriptor, which stays the caller's, without waiting: it fails where that is not
// possible, and nothing was sent then.
func (s *FrameStream) SendFile(f *Frame, file *os.File) error {
	l := s.link
	defer f.Free()
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
	err := l.raw.Write(func(fd uintptr) bool {
		n, failed = syscall.SendmsgN(int(fd), b, syscall.UnixRights(int(file.Fd())), nil, syscall.MSG_DONTWAIT)
		return true
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	if n < len(b) {
		_, err = l.conn.Write(b[n:])
	}
	return l.sent(err)
}

// closeSend tells the plugin that the host has no more to say.
func (l *link) closeSend() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	_, err := l.conn.Write([]byte{0, 0, 0, 0})
	return l.sent(err)
}
