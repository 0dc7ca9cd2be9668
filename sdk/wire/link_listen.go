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

// quietFor is how long after a look nobody listens, as the next look probably comes before that.
const quietFor = 2 * time.Millisecond

// listener decides how frames are waited for. A socket in the runtime's poller wakes a thread for each frame that comes, also
// where another goroutine looks for it with Poll already: on a machine with few processors that thread takes the place of the
// one that looks, or of the peer. So the socket itself is not in the poller. While somebody looks, and shortly afterwards,
// Next listens to nothing; else it waits on a duplicate of the socket that is.
type listener struct {
	looking atomic.Int32  // goroutines in Watch
	asleep  atomic.Int32  // goroutines between Sleep and Wake
	looked  atomic.Int64  // when the last look ended, in nanoseconds since epoch
	stirred chan struct{} // has an entry when Next should decide anew

	mu       sync.Mutex // guards what follows
	ear      *os.File   // the duplicate, nil for none
	shutDown bool
}

var epoch = time.Now()

func sinceEpoch() int64 { return int64(time.Since(epoch)) }

// Watch looks for frames and calls handle with them until done, or for as long as p says that it is worth while. An error of
// handle ends it.
func (s *FrameStream) Watch(p *Pace, done func() bool, handle func(*Frame) error) error {
	l := s.link
	if l == nil || p.limit() == 0 || done() {
		return nil
	}
	if l.looking.Add(1) == 1 {
		l.deafen()
	}
	defer l.endLook()
	return p.watch(done, func() (bool, error) { return s.Poll(handle) })
}

func (l *link) endLook() {
	l.looked.Store(sinceEpoch())
	if l.looking.Add(-1) == 0 && l.asleep.Load() > 0 {
		l.stir()
	}
}

// Sleep says that the caller waits for a frame without looking for it, until it calls Wake.
func (s *FrameStream) Sleep() {
	if l := s.link; l != nil {
		l.asleep.Add(1)
		l.stir()
	}
}

// Wake ends what Sleep began.
func (s *FrameStream) Wake() {
	if l := s.link; l != nil {
		l.asleep.Add(-1)
	}
}

// stir has Next decide anew.
func (l *listener) stir() {
	select {
	case l.stirred <- struct{}{}:
	default:
	}
}

// quiet returns how long Next shall not listen.
func (l *listener) quiet() time.Duration {
	switch {
	case l.looking.Load() > 0:
		return quietFor
	case l.asleep.Load() > 0:
		return 0
	}
	return quietFor - time.Duration(sinceEpoch()-l.looked.Load())
}

// listen waits until there is something to receive, somebody looks for it, or it should not listen any more.
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
	if l.looking.Load() > 0 || l.shutDown {
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
		_ = raw.Read(func(fd uintptr) bool { return ready(fd, unix.POLLIN) }) // an error says that the ear was closed
	}
	return err
}

// deafen ends listening.
func (l *listener) deafen() {
	l.mu.Lock()
	ear := l.ear
	l.ear = nil
	l.mu.Unlock()
	if ear != nil {
		go ear.Close() // waits for Next, which may have to be woken
	}
}

// room waits until something can be sent.
func (l *link) room() error {
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

// ready reports whether the events, an error or the end are there.
func ready(fd uintptr, events int16) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// duplicate returns the socket in the runtime's poller.
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

// unpolled returns a duplicate of a socket that is not in the runtime's poller, though it does not block.
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
