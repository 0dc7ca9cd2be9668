package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// Options are the backend and the settings of a server.
type Options struct {
	Name string // name of the plugin, such as "cpu"
	Open core.Opener
	// Logger logs connections, panics and the end of the server. If it is nil, they are logged as lines of JSON on standard error, as
	// hosts expect.
	Logger hclog.Logger
	// Protocol restricts the protocol versions; the zero Range means wire.Speaks().
	Protocol wire.Range
}

func (o *Options) complete() error {
	if o.Name == "" || o.Open == nil {
		return errors.New("serve: Options need a Name and an Open function")
	}
	if o.Protocol == (wire.Range{}) {
		o.Protocol = wire.Speaks()
	}
	if o.Logger == nil {
		o.Logger = stderrLogger(o.Name)
	}
	return nil
}

func stderrLogger(name string) hclog.Logger {
	level := hclog.LevelFromString(os.Getenv(wire.EnvLog))
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: level, Output: os.Stderr, JSONFormat: true})
}

// Serve serves the host that has started this process, until the host ends this process, or is gone. While it serves, output to os.Stdout
// goes to standard error. Serve fails if no host started the process.
func Serve(o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return fmt.Errorf("burn-backend-%s is a plugin of burn and is started by it: see `burn devices`, or start it with --debug to attach to it", o.Name)
	}
	s := newServer(o)
	// go-plugin sends printed output over the connection, where the last lines of a crash are lost. Go-plugin has replaced os.Stdout and
	// os.Stderr before the first Hello; from then on, printed output goes to standard error instead.
	stderr := os.Stderr
	s.ownFiles = sync.OnceFunc(func() { os.Stdout, os.Stderr = stderr, stderr })
	end := s.endWithHost()
	goplugin.Serve(s.config(nil))
	end()
	return s.close(2 * time.Second)
}

// Attachable serves inside this process, without TLS, until ctx ends; then done is closed. A plugin calls it under a debugger (Main
// --debug), and tests call it to use the real protocol within one process. Hosts connect with BURN_REATTACH or client.Attach.
func Attachable(ctx context.Context, o Options) (at wire.Attach, done <-chan struct{}, err error) {
	if err := o.complete(); err != nil {
		return at, nil, err
	}
	s := newServer(o)
	ready, closed, ended := make(chan *goplugin.ReattachConfig, 1), make(chan struct{}), make(chan struct{})
	go func() {
		goplugin.Serve(s.config(&goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: ready, CloseCh: closed}))
		if err := s.close(2 * time.Second); err != nil {
			o.Logger.Warn("close", "error", err)
		}
		close(ended)
	}()
	select {
	case c := <-ready:
		return wire.Attach{PID: c.Pid, Network: c.Addr.Network(), Addr: c.Addr.String(), Protocol: int(o.Protocol.Max)}, ended, nil
	case <-closed:
		return at, nil, errors.New("serve: the server did not start; see the log")
	}
}

// plugin is the single entry of go-plugin's plugin set.
type plugin struct {
	goplugin.NetRPCUnsupportedPlugin
	s *server
}

func (p plugin) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	wire.Register(g, p.s)
	return nil
}

func (plugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

func (s *server) config(test *goplugin.ServeTestConfig) *goplugin.ServeConfig {
	return &goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.HandshakeVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins: goplugin.PluginSet{wire.PluginName: plugin{s: s}},
		Logger:  s.log.Named("go-plugin"),
		Test:    test,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, wire.ServerOptions()...)
			opts = append(opts, grpc.StatsHandler(s.conns))
			g := grpc.NewServer(opts...)
			s.mu.Lock()
			s.grpc = g
			s.mu.Unlock()
			return g
		},
	}
}

// unlinkSocket removes the file of the socket once the host is connected, so that no file remains, however the two processes end.
var unlinkSocket = sync.OnceFunc(func() {
	dir := os.Getenv(goplugin.EnvUnixSocketDir)
	if dir == "" {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
})
