package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// nothing is a backend that accepts everything and computes nothing.
type nothing struct{ closed chan struct{} }

func (n *nothing) Info() core.Info {
	return core.Info{Name: "nothing", Version: "1.2.3", Devices: []core.DeviceInfo{{Name: "void"}}}
}
func (n *nothing) Capabilities() *core.Capabilities {
	return &core.Capabilities{Types: dtype.Any, MaxRank: 8, MaxBytes: 1 << 40}
}
func (n *nothing) Supports(*op.Node, []op.Desc) error                     { return nil }
func (n *nothing) OpenStream(context.Context, int) (core.Stream, error)   { return n, nil }
func (n *nothing) Submit([]op.Node) error                                 { return nil }
func (n *nothing) Free([]op.TensorID) error                               { return nil }
func (n *nothing) Write(context.Context, op.Desc, []byte) error           { return nil }
func (n *nothing) Read(context.Context, op.TensorID, []byte) error        { return nil }
func (n *nothing) Sync(context.Context) error                             { return nil }
func (n *nothing) Close() error                                           { return nil }
func (n *nothing) Run(core.ProgramID, []op.TensorID, []op.TensorID) error { return nil }
func (n *nothing) Undefine(core.ProgramID) error                          { return nil }
func (n *nothing) Define(context.Context, *program.Program, []op.TensorID) (core.ProgramID, error) {
	return 1, nil
}

func openNothing(core.Config) (core.Backend, error) { return &nothing{}, nil }

// raw connects to a server of nothing, without the client.
func raw(t *testing.T, hello bool) *wire.Caller {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := Attachable(ctx, Options{Name: "nothing", Open: openNothing, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	conn, err := grpc.NewClient("passthrough:///x", append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)), // a hostile host has no limits
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial(at.Network, at.Addr) }))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		cancel()
		<-done
		_, err := os.Stat(at.Addr)
		require.ErrorIs(t, err, os.ErrNotExist, "the socket is removed")
	})
	c := wire.NewCaller(conn)
	if hello {
		w, err := c.Hello(context.Background(), &wire.Hello{Protocol: wire.Speaks()})
		require.NoError(t, err)
		require.NoError(t, w.Err)
		require.Equal(t, "nothing", w.Info.Name)
	}
	return c
}

// talk opens a stream, sends frames and gives the last reply before the end.
func talk(t *testing.T, c *wire.Caller, frames ...[]byte) (last wire.Reply) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := c.Stream(ctx)
	require.NoError(t, err)
	for _, f := range frames {
		if err := s.Send(wire.NewFrame(f)); err != nil {
			t.Logf("send: %v", err)
			break
		}
	}
	_ = s.CloseSend()
	for {
		f, err := s.Receive()
		if err != nil {
			require.NoError(t, ctx.Err(), "the stream hangs")
			if errors.Is(err, core.ErrProtocol) { // gRPC itself ended the call
				last = wire.Reply{Tag: wire.TagFail, Err: err}
			}
			return last
		}
		require.NoError(t, last.Parse(f))
		f.Free()
	}
}

var openFrame = []byte{0x01, 0, 0}

func TestHostileFrames(t *testing.T) {
	c := raw(t, true)
	seq := func(frames ...[]byte) [][]byte { return append([][]byte{openFrame}, frames...) }
	begin := []byte{0x05, 1, 2, 2, 1, 0x80, 0x80, 0x80, 0x01} // request 1: t1 f32[2097152]
	for name, frames := range map[string][][]byte{
		"no open":               {{0x08, 1}},
		"empty first":           {{}},
		"open and more":         {{0x01, 0, 0, 0x08, 1}},
		"truncated open":        {{0x01}},
		"open twice":            seq(openFrame),
		"unknown command":       seq([]byte{0x7f}),
		"truncated":             seq([]byte{0x02, 0, 3, 'n', 'e'}),
		"noise":                 seq(bytes.Repeat([]byte{0xff}, 1000)),
		"oversized":             seq(make([]byte, wire.MaxFrame+1)),
		"far oversized":         seq(make([]byte, 32<<20)),
		"chunk without write":   seq([]byte{0x06, 1, 2, 3}),
		"chunk of another":      seq(begin, []byte{0x06, 2, 2, 3}),
		"command within chunks": seq(begin, []byte{0x08, 2}),
		"too much data":         seq([]byte{0x05, 1, 2, 12, 1, 4}, []byte{0x06, 1, 1, 2, 3, 4, 5}),
		"empty in chunks":       seq([]byte{0x05, 1, 2, 12, 1, 0}),
		"more after begin":      seq(append(append([]byte{}, begin...), 0x08, 2)),
		"request goes back":     seq([]byte{0x08, 5, 0x08, 5}),
		"cancel in a batch":     seq([]byte{0x08, 1, 0x09, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			r := talk(t, c, frames...)
			require.Equal(t, wire.TagFail, r.Tag)
			require.ErrorIs(t, r.Err, core.ErrProtocol)
		})
	}
	var cancels [][]byte
	for i := range maxCanceled + 1 {
		cancels = append(cancels, []byte{0x09, byte(i) | 0x80, byte(i>>7) | 0x80, 1})
	}
	require.ErrorIs(t, talk(t, c, seq(cancels...)...).Err, core.ErrProtocol)

	r := talk(t, c, openFrame, []byte{0x08, 1})
	require.Equal(t, wire.Reply{Tag: wire.TagDone, Request: 1}, r, "the server goes on serving others")
}

// TestHostileNodes sends what can be decoded and not done: it poisons, and the stream goes on.
func TestHostileNodes(t *testing.T) {
	c := raw(t, true)
	neg := func(in byte) []byte { return []byte{0x02, 0, 3, 'n', 'e', 'g', 1, 1, in, 0, 1, 2, 2, 1, 2, 0} }
	for name, tc := range map[string]struct {
		batch []byte
		want  error
	}{
		"unknown tensor":   {neg(2), core.ErrUnknownTensor},
		"tensor zero":      {neg(0), core.ErrUnknownTensor},
		"unknown op":       {[]byte{0x02, 0, 3, 'n', 'o', 'n', 1, 0, 0, 1, 2, 2, 0, 0}, core.ErrUnsupported},
		"unknown version":  {[]byte{0x02, 0, 3, 'n', 'e', 'g', 99, 0, 0, 1, 2, 2, 0, 0}, core.ErrUnsupported},
		"no inputs":        {[]byte{0x02, 0, 3, 'n', 'e', 'g', 1, 0, 0, 1, 2, 2, 0, 0}, core.ErrShape},
		"no outputs":       {[]byte{0x04, 2, 12, 0, 9, 0x02, 0, 3, 'n', 'e', 'g', 1, 1, 0, 0, 0, 0}, core.ErrDType},
		"stale output":     {append([]byte{0x04, 2, 2, 0, 0, 0, 0, 0}, 0x02, 0, 3, 'n', 'e', 'g', 1, 1, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 2, 0, 0), core.ErrStale},
		"write twice":      {[]byte{0x04, 2, 12, 0, 9, 0x04, 0, 12, 0, 9}, core.ErrProtocol},
		"free unknown":     {[]byte{0x03, 1, 8}, core.ErrUnknownTensor},
		"run unknown":      {[]byte{0x0b, 7, 0, 0}, core.ErrNotFound},
		"undefine unknown": {[]byte{0x0c, 7}, core.ErrNotFound},
		"huge output": {[]byte{0x02, 0, 4, 'f', 'u', 'l', 'l', 1, 0, 0, 1, 2, 2, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x04, 3,
			0, 5, 'v', 'a', 'l', 'u', 'e', 8, 1, 0, 0, 5, 'd', 't', 'y', 'p', 'e', 5, 2,
			0, 5, 's', 'h', 'a', 'p', 'e', 6, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08}, core.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			r := talk(t, c, openFrame, append(append([]byte{}, tc.batch...), 0x08, 1))
			require.Equal(t, wire.TagDone, r.Tag, "%v", r.Err)
			require.ErrorIs(t, r.Err, tc.want)
			r = talk(t, c, openFrame, append(append([]byte{}, tc.batch...), 0x08, 1, 0x08, 2))
			require.Equal(t, wire.Reply{Tag: wire.TagDone, Request: 2}, r, "once")
		})
	}
}

func TestBeforeHello(t *testing.T) {
	c := raw(t, false)
	require.ErrorIs(t, talk(t, c, openFrame).Err, core.ErrProtocol)
	answer, err := c.Supports(context.Background(), []byte{1, 2, 3})
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrProtocol)
	w, err := c.Hello(context.Background(), &wire.Hello{Protocol: wire.Range{Min: 70, Max: 80}})
	require.NoError(t, err)
	require.Zero(t, w.Version)
	require.Equal(t, wire.Speaks(), w.Protocol)
	require.ErrorIs(t, w.Err, core.ErrProtocol)
}

func TestMainFlags(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 0, run("nothing", openNothing, []string{"--version"}, &out, &errs))
	require.Equal(t, "burn-backend-nothing 1.2.3, protocol 1, "+core.Platform()+"\n", out.String())
	require.Equal(t, 2, run("nothing", openNothing, []string{"--nonsense"}, &out, &errs))
	errs.Reset()
	t.Setenv(wire.CookieKey, "")
	require.Equal(t, 1, run("nothing", openNothing, nil, &out, &errs))
	require.Contains(t, errs.String(), "burn-backend-nothing is a plugin of burn")
}

func TestDebug(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan int)
	go func() {
		done <- attachable(ctx, Options{Name: "nothing", Open: openNothing, Logger: hclog.NewNullLogger()}, w, os.Stderr)
		w.Close()
	}()
	line := make([]byte, 4096)
	n, err := r.Read(line)
	require.NoError(t, err)
	value, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), wire.EnvReattach+"='")
	require.True(t, ok)
	var m map[string]wire.Attach
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(value, "'")), &m))
	at := m["nothing"]
	require.Equal(t, os.Getpid(), at.PID)
	require.Equal(t, wire.Version, at.Protocol)
	require.True(t, filepath.IsAbs(at.Addr) || at.Network == "tcp")
	cancel()
	require.Zero(t, <-done)
}
