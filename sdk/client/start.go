package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client/contain"
	"github.com/goburn/burn/sdk/wire"
)

// Options configure the start of a plugin and the connection to it.
type Options struct {
	// Name of the plugin, for messages; empty: from the file name.
	Name string
	// Config is passed to the backend.
	Config core.Config
	// Logger receives the plugin's log and standard error; nil: they are dropped.
	Logger hclog.Logger
	// StartTimeout bounds the start up to the answer to Hello, in addition to the context; 0: 30 seconds.
	StartTimeout time.Duration
	// Generation is the generation of all tensor ids on the connection. A program that restarts a plugin increases it.
	Generation uint16
	// Rebase makes callers use ids of generation 0 regardless of Generation. Errors contain these ids.
	Rebase bool
	// Heartbeat is the time that the plugin may take to answer a health check. A plugin that takes longer is killed. 0: 10 seconds; less:
	// there are no health checks.
	Heartbeat time.Duration
	// OpenTimeout bounds the opening of a device or a stream, and DefineTimeout the definition of a program, in addition to the context. If
	// the plugin does not answer in time, the call returns an ErrProtocol. 0: one minute for OpenTimeout, five minutes for DefineTimeout;
	// less: no bound. Reads and waits for events are bounded only by their contexts, because they wait for work of any length.
	OpenTimeout, DefineTimeout time.Duration
	// HostName and HostVersion are sent to the plugin.
	HostName, HostVersion string
	// Image is the file to execute in place of path: a copy that was checked and cannot be replaced. Messages still name path. Image must
	// exist until Start returns. Empty: path is executed.
	Image string
	// Ended is called when the process has ended, or could not be started. The files that Image and Args name may then be removed. nil:
	// nothing is called.
	Ended func()
	// Args are the arguments of the process.
	Args []string
	// Limits bound the resources of the process.
	Limits Limits
	// Contain confines the process, with these needs in addition to the default rules; nil: it is not confined. Strict makes Start fail if
	// a rule cannot be enforced on this system.
	Contain *contain.Needs
	Strict  bool
	// Sees reports which further variables of this process's environment the plugin sees; nil: none.
	Sees func(name string) bool
	// Env is added to the environment of the process, which otherwise contains only part of this process's environment.
	Env []string
	// Protocol restricts the protocol versions; the zero Range means wire.Speaks().
	Protocol wire.Range
	// DataPlane limits the transports beyond gRPC: "off", "socket" (streams over a unix socket, without shared memory), or "on".
	// Empty: the value of BURN_DATAPLANE, else "on".
	DataPlane string
}

func (o *Options) complete(path string) {
	if o.Name == "" {
		o.Name = NameOf(path)
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.Protocol == (wire.Range{}) {
		o.Protocol = wire.Speaks()
	}
	if o.DataPlane == "" {
		o.DataPlane = os.Getenv(wire.EnvDataPlane)
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 10 * time.Second
	}
	if o.OpenTimeout == 0 {
		o.OpenTimeout = time.Minute
	}
	if o.DefineTimeout == 0 {
		o.DefineTimeout = 5 * time.Minute
	}
	if o.HostName == "" {
		o.HostName = filepath.Base(os.Args[0])
	}
}

// Start starts the plugin at path and opens its backend. It fails with a *StartError. The process ends when Close is called, when this
// process ends for any reason, or when the context ends before Start has returned.
func Start(ctx context.Context, path string, o Options) (*Backend, error) {
	o.complete(path)
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	p := newProcess(o.Name, path)
	if runtime.GOOS == "js" {
		return nil, p.startError(CauseSystem, errNoProcess)
	}
	if err := executable(path); err != nil {
		return nil, p.startError(CauseNotExecutable, err)
	}
	dir, release, err := runtimeDir()
	if err != nil {
		return nil, p.startError(CauseSystem, err)
	}
	if o.Ended != nil {
		folder := release
		release = func() { folder(); o.Ended() }
	}
	certificate, certPEM, err := clientTLS()
	if err != nil {
		release()
		return nil, p.startError(CauseSystem, err)
	}
	if path, err = filepath.Abs(path); err != nil { // the plugin starts in another folder
		release()
		return nil, p.startError(CauseSystem, err)
	}
	p.cmd = exec.Command(path, o.Args...)
	p.cmd.Args[0] = filepath.Base(path) // the folder would reveal the name of the user that runs it
	if p.cmd.Dir, err = workDir(dir); err != nil {
		release()
		return nil, p.startError(CauseSystem, err)
	}
	p.logger, p.limits = o.Logger.Named(o.Name), o.Limits
	if o.Image != "" {
		p.cmd.Path, p.cmd.Err = o.Image, nil
	}
	env := Environment(os.Environ(), o.Limits, o.Sees)
	if l := o.Logger.GetLevel(); l == hclog.Debug || l == hclog.Trace { // otherwise the plugin's log is enough
		env = append(env, wire.EnvLog+"="+l.String())
	}
	env = append(env, o.Env...)
	if o.Contain != nil { // a confined plugin may not use the shared folder for temporary files
		for _, name := range []string{"TMPDIR", "TEMP", "TMP"} {
			env = append(env, name+"="+p.cmd.Dir)
		}
		rules := contain.For(contain.Program{Path: path, Image: o.Image, Args: o.Args, Dir: dir, Env: env}, o.Contain)
		p.confined.rules, p.confined.strict = &rules, o.Strict
	}
	p.confined.mark = newMark()
	env = append(env, envRun+"="+p.confined.mark)
	env = append(env, envClientCert+"="+string(certPEM), fmt.Sprintf("%s=%d", wire.EnvHostPID, os.Getpid()), wire.EnvHostPipe+"=stdin")
	pluginClient := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: wire.HandshakeVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:          goplugin.PluginSet{wire.PluginName: connector{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        certificate,
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			p.cmd.Env = append(env, spec.Env...)
			return p, nil
		},
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		StartTimeout:     o.StartTimeout,
		Logger:           debugging{o.Logger.Named(o.Name)},
		SyncStderr:       p.tail,
		SyncStdout:       p.tail,
		GRPCDialOptions:  wire.DialOptions(),
	})
	p.pluginClient = pluginClient
	p.release, p.dir = sync.OnceFunc(release), dir
	b, err := p.connect(ctx, &o)
	if err != nil {
		p.stop(0)
		return nil, err
	}
	return b, nil
}

// Attach connects to a plugin that runs already (wire.EnvReattach). Close leaves it running.
func Attach(ctx context.Context, at wire.Attach, o Options) (*Backend, error) {
	o.complete("attached")
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	conn, err := dial(at)
	if err != nil {
		return nil, err
	}
	b, err := hello(ctx, conn, nil, &o)
	if err != nil {
		_ = conn.Close()
		var mismatch *StartError
		if errors.As(err, &mismatch) {
			return nil, err
		}
		sentinel := core.ErrBackendLost
		if ctx.Err() != nil {
			sentinel = core.ErrCanceled
		}
		return nil, fmt.Errorf("plugin %s: %w: attach to process %d at %s: %w", o.Name, sentinel, at.PID, at.Addr, err)
	}
	b.conn = conn
	return b, nil
}

// connector receives the connection from go-plugin.
type connector struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (connector) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("client: no server here")
}

func (connector) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// connect starts the process and completes the handshake and Hello. ctx bounds the time of all these steps.
func (p *process) connect(ctx context.Context, o *Options) (*Backend, error) {
	type result struct {
		conn *grpc.ClientConn
		err  error
	}
	started := make(chan result, 1)
	go func() {
		proto, err := p.pluginClient.Client()
		if err != nil {
			started <- result{nil, err}
			return
		}
		raw, err := proto.Dispense(wire.PluginName)
		conn, _ := raw.(*grpc.ClientConn)
		started <- result{conn, err}
	}()
	var conn *grpc.ClientConn
	select {
	case r := <-started:
		if r.err != nil {
			return nil, p.diagnose(ctx, r.err)
		}
		conn = r.conn
	case <-ctx.Done():
		return nil, p.diagnose(ctx, context.Cause(ctx))
	}
	b, err := hello(ctx, conn, p, o)
	if err != nil {
		var e *StartError
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, p.diagnose(ctx, err)
	}
	return b, nil
}

// hello negotiates with the plugin and creates the Backend.
func hello(ctx context.Context, conn *grpc.ClientConn, p *process, o *Options) (*Backend, error) {
	if p == nil {
		p = newProcess(o.Name, "")
		p.attached = true
	}
	caller := wire.NewCaller(conn)
	w, err := caller.Hello(ctx, &wire.Hello{Protocol: o.Protocol, HostName: o.HostName, HostVersion: o.HostVersion,
		Features: o.features(), Config: o.Config})
	if err != nil {
		if errors.Is(err, core.ErrProtocol) {
			return nil, p.startError(CauseProtocol, err)
		}
		return nil, err
	}
	if v, ok := o.Protocol.Newest(w.Protocol); !ok || v != w.Version {
		e := p.startError(CauseProtocol, wire.Mismatch(o.Name, w.Protocol, o.Protocol))
		e.remedy = wire.MismatchRemedy(o.Name, w.Protocol, o.Protocol)
		return nil, e
	}
	if w.Err != nil {
		return nil, p.startError(CauseOpen, w.Err)
	}
	return newBackend(p, conn, caller, w, o), nil
}
