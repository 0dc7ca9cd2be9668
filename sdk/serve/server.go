package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
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
	ownFiles func() // gives the process its standard error back, which go-plugin takes

	opening sync.Mutex // held while the backend opens, which may hang
	mu      sync.Mutex
	grpc    *grpc.Server
	backend core.Backend
	caps    *core.Capabilities
	batches bool
	closed  bool

	sockets *sockets
}

func newServer(o Options) *server {
	s := &server{Options: o, log: o.Logger, conns: &connections{}, ownFiles: func() {}}
	s.sockets = newSockets(s)
	return s
}

var _ wire.Handler = (*server)(nil)

// Hello agrees on a version and opens the backend, unless an earlier host did.
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
	b, caps, err := s.open(h.Config)
	if err != nil {
		w.Err = err
		return w
	}
	w.Features = []string{}
	s.sockets.invite(h, w)
	w.Capabilities = caps
	w.Err = s.guard("info", func() error { w.Info = b.Info(); return nil })
	return w
}

func (s *server) open(c core.Config) (core.Backend, *core.Capabilities, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	b, caps, closed := s.backend, s.caps, s.closed
	s.mu.Unlock()
	if closed {
		return nil, nil, fmt.Errorf("plugin %s: %w", s.Name, core.ErrClosed)
	}
	if b != nil {
		return b, caps, nil
	}
	err := s.guard("open", func() (err error) {
		if b, err = s.Open(c); err != nil {
			return err
		}
		if caps = b.Capabilities(); caps == nil {
			return fmt.Errorf("backend without capabilities: %w", core.ErrKernel)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("plugin %s: open: %w", s.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend, s.caps, s.batches = b, caps, slices.Contains(caps.Features, wire.FeatureBatches)
	return b, caps, nil
}

// opened is the backend, once a host has said Hello.
func (s *server) opened() (core.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backend == nil || s.closed {
		return nil, fmt.Errorf("plugin %s: call before hello: %w", s.Name, core.ErrProtocol)
	}
	return s.backend, nil
}

// Supports checks the node and asks the backend.
func (s *server) Supports(_ context.Context, n *op.Node, in []op.Desc) error {
	b, err := s.opened()
	if err != nil {
		return err
	}
	return s.guard("supports", func() error {
		if err := op.Check(n, in); err != nil {
			return err
		}
		return b.Supports(n, in)
	})
}

// close closes the backend and waits for that at most for the given time.
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

// guard calls the backend and makes an ErrKernel of its panic.
func (s *server) guard(what string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "in", what, "value", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v: %w", what, p, core.ErrKernel)
		}
	}()
	return call()
}
