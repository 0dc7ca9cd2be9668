package serve

import (
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/goburn/burn/sdk/wire"
)

const (
	parentPoll = 200 * time.Millisecond
	// reconnectGrace is the time that a plugin without a connection waits for another connection.
	reconnectGrace = 500 * time.Millisecond
	// exitLimit bounds the time that the process takes to end once the host is gone.
	exitLimit = 400 * time.Millisecond
)

// endWithHost ends the process when its host is gone: when the pipe at standard input ends, when the parent is another process, or when
// there is no connection for a while. On Linux, a host also asks the kernel to kill the plugin when the host ends. The returned function
// ends the watch.
func (s *server) endWithHost() (stop func()) {
	done := make(chan struct{})
	gone := sync.OnceFunc(func() {
		select {
		case <-done:
			return
		default:
		}
		s.log.Debug("host is gone")
		time.AfterFunc(exitLimit, func() { unlinkSocket(); os.Exit(3) })
		s.mu.Lock()
		g := s.grpc
		s.mu.Unlock()
		s.sockets.cancel()
		if g != nil {
			g.Stop()
		}
	})
	if os.Getenv(wire.EnvHostPipe) == "stdin" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			gone()
		}()
	}
	if pid, err := strconv.Atoi(os.Getenv(wire.EnvHostPID)); err == nil && pid > 0 {
		go watchParent(pid, done, gone)
	}
	var timer *time.Timer
	s.conns.watch(
		func() {
			if timer != nil {
				timer.Stop()
			}
		},
		func() { timer = time.AfterFunc(reconnectGrace, gone) })
	return func() { close(done) }
}

// watchParent calls gone when process pid has ended.
func watchParent(pid int, done <-chan struct{}, gone func()) {
	child := os.Getppid() == pid
	tick := time.NewTicker(parentPoll)
	defer tick.Stop()
	for {
		if child && os.Getppid() != pid || !alive(pid) {
			gone()
			return
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}
