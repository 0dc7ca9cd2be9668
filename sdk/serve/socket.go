package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

const (
	socketName = "streams"
	// greetWait is the time in which a host must connect, and tokenWait the time in which it must then present the token.
	greetWait = 10 * time.Second
	tokenWait = time.Second
)

// sockets are the sockets on which hosts open streams without gRPC.
type sockets struct {
	s      *server
	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
}

func newSockets(s *server) *sockets {
	k := &sockets{s: s}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// invite creates a socket for the host that sent Hello, if the host supports sockets, and adds the path and the token to the answer.
func (k *sockets) invite(h *wire.Hello, w *wire.Welcome) {
	if !slices.Contains(h.Features, wire.FeatureSocket) || runtime.GOOS == "windows" || os.Getenv(wire.EnvDataPlane) == "off" || k.ctx.Err() != nil {
		return
	}
	token := make([]byte, wire.TokenSize)
	_, _ = rand.Read(token) // never fails
	l, path, remove, err := listen()
	if err != nil {
		k.s.log.Warn("streams run over gRPC", "error", err)
		return
	}
	w.Socket, w.Token, w.Features = path, token, append(w.Features, wire.FeatureSocket)
	shares := wire.HasSegments() && slices.Contains(h.Features, wire.FeatureMemfd)
	if shares {
		w.Features = append(w.Features, wire.FeatureMemfd)
	}
	k.active.Go(func() {
		stop := context.AfterFunc(k.ctx, func() { l.Close() })
		conn := k.greet(l, token)
		stop()
		l.Close()
		remove()
		if conn != nil {
			k.carry(conn, shares)
		}
	})
}

// listen returns a listener on a new socket in a folder that only the user may enter.
func listen() (l *net.UnixListener, path string, remove func(), err error) {
	base := os.Getenv(goplugin.EnvUnixSocketDir)
	dir, err := os.MkdirTemp(base, "s-")
	if err != nil {
		return nil, "", nil, err
	}
	path = filepath.Join(dir, socketName)
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		os.RemoveAll(dir)
		return nil, "", nil, err
	}
	return l, path, func() { os.RemoveAll(dir) }, nil
}

// greet waits for a connection that presents the token. It returns nil if no such connection arrives in time.
func (k *sockets) greet(l *net.UnixListener, token []byte) *net.UnixConn {
	_ = l.SetDeadline(time.Now().Add(greetWait))
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil
		}
		_ = conn.SetDeadline(time.Now().Add(tokenWait))
		got := make([]byte, len(token))
		if _, err := io.ReadFull(conn, got); err == nil && subtle.ConstantTimeCompare(got, token) == 1 {
			_ = conn.SetDeadline(time.Time{})
			return conn
		}
		conn.Close()
		k.s.log.Warn("refused a connection without the token")
	}
}

// carry serves the streams that one host opens over its connection.
func (k *sockets) carry(conn *net.UnixConn, shares bool) {
	defer conn.Close()
	defer context.AfterFunc(k.ctx, func() { conn.Close() })()
	for {
		c, err := wire.NextSocket(conn)
		if err != nil {
			if err != io.EOF && k.ctx.Err() == nil {
				k.s.log.Debug("streams", "error", err)
			}
			return
		}
		fs, err := wire.PluginLink(k.ctx, c, shares)
		if err != nil {
			c.Close()
			k.s.log.Warn("stream", "error", err)
			continue
		}
		k.active.Go(func() {
			defer fs.Close()
			err := k.s.guard("stream", func() error { k.s.Stream(fs); return nil })
			if err != nil {
				_ = fs.Send(wire.FailFrame(core.ErrKernel))
			}
		})
	}
}

// close ends all streams. It does not wait for a backend that hangs.
func (k *sockets) close() {
	k.cancel()
	done := make(chan struct{})
	go func() { k.active.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}
