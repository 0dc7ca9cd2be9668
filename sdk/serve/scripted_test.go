package serve

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/wire"
)

// scripted is a backend, its one device and its streams. It records its calls and fails those in faults: with an error, or with a panic
// if the value is no error. It computes nothing.
type scripted struct {
	mu     sync.Mutex
	calls  []string
	faults map[string]any
	seq    uint64
}

// do records a call, and returns its error or panics if it is in faults.
func (s *scripted) do(call string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := call
	for _, a := range args {
		note += fmt.Sprint(" ", a)
	}
	s.calls = append(s.calls, note)
	switch f := s.faults[call].(type) {
	case nil:
		return nil
	case error:
		return f
	default:
		panic(f)
	}
}

// fail makes a call fail from now on; nil ends that.
func (s *scripted) fail(call string, with any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[call] = with
}

// made returns the calls since the previous made, except those of events.
func (s *scripted) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := slices.DeleteFunc(s.calls, func(c string) bool { return c == "signal" || c == "await" })
	s.calls = nil
	return l
}

func (s *scripted) Info() core.Info {
	if err := s.do("info"); err != nil {
		panic(err)
	}
	return core.Info{Name: "scripted", Devices: []core.DeviceInfo{{Name: "d"}}}
}

func (s *scripted) Open(context.Context, int) (core.Device, error) { return s, s.do("open") }
func (s *scripted) Close() error                                   { return nil }

func (s *scripted) Capabilities() *core.Capabilities {
	if err := s.do("capabilities"); err != nil {
		return nil
	}
	c := &core.Capabilities{Types: dtype.Any, Limits: core.Limits{Rank: 8, Bytes: 1 << 20}, Ops: map[string]core.OpCapability{}}
	for _, name := range []string{"neg", "add"} {
		code, _ := op.ByName(name)
		c.Ops[name] = core.Claim(op.Lookup(code), dtype.Any)
	}
	return c
}

func (s *scripted) NewIDs(int) op.TensorID { panic("ids are the host's") }

func (s *scripted) OpenStream(context.Context) (core.Stream, error) {
	return &lane{s}, s.do("open stream")
}

func (s *scripted) Extend(target any) bool {
	switch t := target.(type) {
	case *core.Programs:
		*t = s
	case *core.Selective:
		*t = s
	case *core.MemoryStats:
		*t = s
	case *core.Profiling:
		*t = s
	case *core.Collectives:
		*t = s
	case *core.PeerCopy:
		*t = s
	default:
		return false
	}
	return true
}

func (s *scripted) Define(_ context.Context, _ core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	return 42, s.do("define", p.Name, consts)
}

func (s *scripted) Run(_ core.Stream, r core.Run) error {
	return s.do("run", r.Program, r.Inputs, r.Donated, r.Outputs)
}
func (s *scripted) Undefine(id core.ProgramID) error { return s.do("undefine", id) }

func (s *scripted) Supports(n *op.Node, in []op.Desc) error { return s.do("supports", n.Op, len(in)) }

func (s *scripted) Memory() core.Memory {
	if err := s.do("memory"); err != nil {
		panic(err)
	}
	return core.Memory{InUse: 5, Reserved: 6, Tensors: 7}
}

func (s *scripted) StartProfile(context.Context) error { return s.do("start profile") }

func (s *scripted) StopProfile(context.Context) (*core.Profile, error) {
	return nil, s.do("stop profile")
}

func (s *scripted) Join(_ context.Context, key string, rank, size int) (core.Group, error) {
	return &ranks{s}, s.do("join", key, rank, size)
}

func (s *scripted) CopyFrom(_ core.Stream, d op.Desc, _ core.Device, id op.TensorID) error {
	return s.do("copy", d.ID, id)
}

// ranks is a collective group of the scripted backend.
type ranks struct{ s *scripted }

func (g *ranks) AllReduce(_ core.Stream, by core.Reduction, in op.TensorID, out op.Desc) error {
	return g.s.do("reduce", int(by), in, out.ID)
}
func (g *ranks) AllGather(_ core.Stream, in op.TensorID, out op.Desc) error {
	return g.s.do("gather", in, out.ID)
}
func (g *ranks) Broadcast(_ core.Stream, root int, in op.TensorID, out op.Desc) error {
	return g.s.do("broadcast", root, in, out.ID)
}
func (g *ranks) Close() error { return g.s.do("leave") }

// lane is a stream of the scripted backend.
type lane struct{ s *scripted }

func (l *lane) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) == 0 {
		return l.s.do("free", free)
	}
	return l.s.do("submit", len(nodes), free)
}
func (l *lane) Write(_ context.Context, d op.Desc, data []byte) error {
	return l.s.do("write", d.ID, len(data))
}
func (l *lane) Read(id op.TensorID, dst []byte) core.Ticket {
	if err := l.s.do("read", id); err != nil {
		return core.Failed(err)
	}
	for i := range dst {
		dst[i] = byte(i)
	}
	return core.Failed(nil)
}
func (l *lane) Signal() core.Event    { return eventOf{l.s, l.s.do("signal")} }
func (l *lane) Wait(core.Event) error { return l.s.do("wait") }
func (l *lane) Close() error          { return l.s.do("close stream") }

type eventOf struct {
	s   *scripted
	err error
}

func (e eventOf) Wait(context.Context) error {
	if e.err != nil {
		return e.err
	}
	return e.s.do("await")
}

// play serves a scripted backend and returns it with a caller that is connected to it.
func play(t *testing.T) (*scripted, *wire.Caller) {
	t.Helper()
	s := &scripted{faults: map[string]any{}}
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := Attachable(ctx, Options{Name: "scripted", Logger: hclog.NewNullLogger(),
		Open: func(core.Config) (core.Backend, error) { return s, s.do("open backend") }})
	require.NoError(t, err)
	conn, err := grpc.NewClient("passthrough:///x", append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial(at.Network, at.Addr) }))...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(); cancel(); <-done })
	return s, wire.NewCaller(conn)
}

// playing returns the results of play and a stream of its device, which it opens.
func playing(t *testing.T) (*scripted, *wire.Caller, *line) {
	t.Helper()
	s, c := play(t)
	w, err := c.Hello(context.Background(), &wire.Hello{Protocol: wire.Speaks()})
	require.NoError(t, err)
	require.NoError(t, w.Err)
	o, err := c.Open(context.Background(), &wire.Open{Handle: handle})
	require.NoError(t, err)
	require.NoError(t, o.Err)
	l := dial(t, c, handle, 1)
	require.Equal(t, wire.TagOpened, l.hear().Tag)
	s.made()
	return s, c, l
}
