package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// server is the service: one backend, opened by the first Hello.
type server struct {
	Options
	log      hclog.Logger
	conns    *connections
	ownFiles func() // restores the standard error of the process, which go-plugin replaces

	opening sync.Mutex // held while the backend opens, which may hang
	mu      sync.Mutex
	grpc    *grpc.Server
	backend core.Backend
	devices map[uint64]*device // by handle
	closed  bool

	sockets *sockets
}

func newServer(o Options) *server {
	s := &server{Options: o, log: o.Logger, conns: &connections{}, ownFiles: func() {}, devices: map[uint64]*device{}}
	s.sockets = newSockets(s)
	return s
}

var _ wire.Handler = (*server)(nil)

// Hello negotiates the version of the protocol, and opens the backend unless an earlier Hello has opened it.
func (s *server) Hello(_ context.Context, h *wire.Hello) *wire.Welcome {
	unlinkSocket()
	s.ownFiles()
	w := &wire.Welcome{Protocol: s.Protocol}
	var ok bool
	if w.Version, ok = s.Protocol.Newest(h.Protocol); !ok {
		w.Version = 0
		w.Err = wire.Mismatch(s.Name, s.Protocol, h.Protocol)
		return w
	}
	s.log.Debug("hello", "host", h.HostName, "version", h.HostVersion, "protocol", w.Version)
	b, err := s.open(h.Config)
	if err != nil {
		w.Err = err
		return w
	}
	w.Features = []string{}
	s.sockets.invite(h, w)
	w.Err = s.guard("info", func() error { w.Info = b.Info(); return nil })
	return w
}

func (s *server) open(c core.Config) (core.Backend, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	b, closed := s.backend, s.closed
	s.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("plugin %s: %w", s.Name, core.ErrClosed)
	}
	if b != nil {
		return b, nil
	}
	err := s.guard("open", func() (err error) { b, err = s.Options.Open(c); return err })
	if err != nil {
		return nil, fmt.Errorf("plugin %s: open: %w", s.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = b
	return b, nil
}

// opened returns the backend. The error wraps ErrProtocol before the first Hello, and ErrClosed after close.
func (s *server) opened() (core.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("plugin %s: %w", s.Name, core.ErrClosed)
	}
	if s.backend == nil {
		return nil, fmt.Errorf("plugin %s: call before hello: %w", s.Name, core.ErrProtocol)
	}
	return s.backend, nil
}

// close ends all streams and closes the backend. It waits for the backend for at most limit.
func (s *server) close(limit time.Duration) error {
	s.mu.Lock()
	b := s.backend
	s.closed = true
	s.mu.Unlock()
	s.sockets.close()
	if b == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- s.guard("close", b.Close) }()
	select {
	case err := <-done:
		if errors.Is(err, core.ErrClosed) {
			return nil
		}
		return err
	case <-time.After(limit):
		return fmt.Errorf("plugin %s: the backend did not close within %v", s.Name, limit)
	}
}

// guard calls the backend and turns a panic into an ErrKernel. It logs the panic as one line, and the stack at level debug.
func (s *server) guard(what string, call func() error) error { return s.guardOps(what, nil, call) }

// guardOps is like guard, for a call that computes nodes: the error names their ops.
func (s *server) guardOps(what string, nodes []op.Node, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprint(p)
			in := what
			if len(nodes) > 0 {
				in += " of " + opNames(nodes)
			}
			s.log.Error("panic: "+text, "in", in, "remedy", "report it to the plugin's author with the stack, which the log has at level debug")
			s.log.Debug("stack of the panic", "value", text, "in", in, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %s: %w", in, text, core.ErrKernel)
		}
	}()
	return call()
}

// maxNamed bounds the ops of a batch that a message names.
const maxNamed = 8

// opNames names the ops of nodes in order, each once.
func opNames(nodes []op.Node) string {
	var names []string
	for i := range nodes {
		name := nodes[i].Op.String()
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == maxNamed {
			return strings.Join(names, ", ") + ", ..."
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
