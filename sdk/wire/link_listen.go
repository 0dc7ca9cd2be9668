//go:build unix

package wire

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quietFor is the time after a poll during which Next does not listen, because another poll is likely.
const quietFor = 2 * time.Millisecond

// listener decides how to wait for frames. A socket in the runtime's poller wakes a thread for each frame that arrives, even if
// another goroutine already polls for it: on a machine with few processors that thread displaces the polling goroutine, or the
// peer. So the socket itself is not in the poller. While a goroutine polls, and shortly afterwards, Next does not listen;
// otherwise it waits on a duplicate of the socket that is in the poller.
type listener struct {
	polling atomic.Int32  // goroutines in Watch
	asleep  atomic.Int32  // goroutines between Sleep and Wake
	looked  atomic.Int64  // when the last poll ended, in nanoseconds since epoch
	stirred chan struct{} // receives an entry when Next should decide again

	mu       sync.Mutex // guards the fields below
	ear      *os.File   // the duplicate, or nil
	shutDown bool
}

var epoch = time.Now()

func sinceEpoch() int64 { return int64(time.Since(epoch)) }

// Watch polls for frames and calls handle with them. It ends when done returns true, when p considers polling no longer worthwhile, or
// when handle returns an error.
func (s *FrameStream) Watch(p *Pace, done func() bool, handle func(*Frame) error) error {
	l := s.link
	if l == nil || p.limit() == 0 || done() {
		return nil
	}
	if l.polling.Add(1) == 1 {
		l.stopListening()
	}
	defer l.endPoll()
	return p.watch(done, func() (bool, error) { return s.Poll(handle) })
}

func (l *link) endPoll() {
	l.looked.Store(sinceEpoch())
	if l.polling.Add(-1) == 0 && l.asleep.Load() > 0 {
		l.recheck()
	}
}

// Sleep announces that the caller waits for a frame without polling, until it calls Wake.
func (s *FrameStream) Sleep() {
	if l := s.link; l != nil {
		l.asleep.Add(1)
		l.recheck()
	}
}

// Wake ends Sleep.
func (s *FrameStream) Wake() {
	if l := s.link; l != nil {
		l.asleep.Add(-1)
	}
}

// recheck makes Next decide again how to wait.
func (l *listener) recheck() {
	select {
	case l.stirred <- struct{}{}:
	default:
	}
}

// quiet returns the time during which Next must not listen. It is 0 or negative if Next may listen now.
func (l *listener) quiet() time.Duration {
	switch {
	case l.polling.Load() > 0:
		return quietFor
	case l.asleep.Load() > 0:
		return 0
	}
	return quietFor - time.Duration(sinceEpoch()-l.looked.Load())
}

// listen waits until there may be data to receive, or until Next should decide again how to wait.
func (l *link) listen() error {
	if d := l.quiet(); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-l.stirred:
		case <-t.C:
		case <-l.ctx.Done():
		}
		return nil
	}
	l.listener.mu.Lock()
	if l.polling.Load() > 0 || l.shutDown {
		l.listener.mu.Unlock()
		return nil
	}
	if l.ear == nil {
		ear, err := l.duplicate()
		if err != nil {
			l.listener.mu.Unlock()
			return err
		}
		l.ear = ear
	}
	ear := l.ear
	l.listener.mu.Unlock()
	raw, err := ear.SyscallConn()
	if err == nil {
		_ = raw.Read(func(fd uintptr) bool { return ready(fd, unix.POLLIN) }) // an error means that the duplicate was closed
	}
	return err
}

// stopListening closes the duplicate, which wakes Next if it listens.
func (l *listener) stopListening() {
	l.mu.Lock()
	ear := l.ear
	l.ear = nil
	l.mu.Unlock()
	if ear != nil {
		go ear.Close() // Close wakes Next if it waits on the duplicate, and returns after that
	}
}

// waitWritable waits until the socket can send.
func (l *link) waitWritable() error {
	f, err := l.duplicate()
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Write(func(fd uintptr) bool { return ready(fd, unix.POLLOUT) })
}

// ready reports whether one of events, an error or the end of the stream has occurred on the socket.
func ready(fd uintptr, events int16) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// duplicate returns a duplicate of the socket that is in the runtime's poller.
func (l *link) duplicate() (f *os.File, err error) {
	e := l.raw.Control(func(fd uintptr) { f, err = duplicate(fd) })
	if e != nil {
		return nil, e
	}
	return f, err
}

func duplicate(fd uintptr) (*os.File, error) {
	n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(n), "stream"), nil
}

// unpolled returns a duplicate of a socket. The duplicate is non-blocking, but is not in the runtime's poller.
func unpolled(fd uintptr) (*os.File, error) {
	if err := syscall.SetNonblock(int(fd), false); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f, err := duplicate(fd)
	if e := syscall.SetNonblock(int(fd), true); err == nil && e != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", e)
	}
	return f, err
}
