package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
	"github.com/goburn/burn/sdk/wire"
)

// nothing is a driver whose queue accepts every call and computes nothing.
type nothing struct{}

func (nothing) Info() core.Info {
	return core.Info{Name: "nothing", Version: "1.2.3", Devices: []core.DeviceInfo{{Name: "void"}}}
}
func (nothing) Open(context.Context, int) (engine.Device[int], error) { return void{}, nil }
func (nothing) Close() error                                          { return nil }

type void struct{}

func (void) Capabilities() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Any, Limits: core.Limits{Rank: 8, Bytes: 1 << 40}, Ops: map[string]core.OpCapability{}}
	for _, name := range []string{"neg", "full"} {
		code, _ := op.ByName(name)
		c.Ops[name] = core.Claim(op.Lookup(code), dtype.Any)
	}
	return c
}
func (void) Upload(op.Desc, []byte) (int, error)     { return 0, nil }
func (void) Download([]byte, op.Desc, int) error     { return nil }
func (void) Release(int)                             {}
func (v void) OpenQueue() (engine.Queue[int], error) { return v, nil }
func (void) Execute(*engine.Call[int]) error         { return nil }
func (void) Close()                                  {}

func openNothing(core.Config) (core.Backend, error) { return engine.New(nothing{}), nil }

// handle is the handle of the device that raw opens.
const handle = 7

// raw connects to a server of nothing without the client package.
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
		o, err := c.Open(context.Background(), &wire.Open{Handle: handle})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.Equal(t, wire.Extensions{Programs: true, Memory: true, PeerCopy: true, Collectives: true, Profiling: true}, o.Extensions)
	}
	return c
}

// talk opens a stream, sends frames and returns the last reply before the end. It waits for the answers to awaits before it ends the
// stream, because the end drops open requests.
func talk(t *testing.T, c *wire.Caller, frames ...[]byte) (last wire.Reply) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := c.Stream(ctx)
	require.NoError(t, err)
	if bytes.Equal(frames[0], openFrame) {
		fresh := handles.Add(1)
		_, err := c.Open(ctx, &wire.Open{Handle: fresh})
		require.NoError(t, err)
		frames[0] = binary.AppendUvarint([]byte{0x01}, fresh)
		frames[0] = append(frames[0], 1+byte(fresh%100))
	}
	for _, f := range frames {
		if err := s.Send(wire.NewFrame(f)); err != nil {
			t.Logf("send: %v", err)
			break
		}
	}
	open := bytes.Count(bytes.Join(frames, nil), await) // answers that are waited for before the end
	if open == 0 {
		_ = s.CloseSend()
	}
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
		if last.Tag == wire.TagDone {
			if open--; open == 0 {
				_ = s.CloseSend()
			}
		}
	}
}

// await begins every await of these tests: a signal before it, in the same frame.
var await = []byte{0x08, 0x0d}

// openFrame opens a stream. talk replaces it by a frame for a stream of a new device.
var openFrame = []byte{0x01, handle, 1}

var handles atomic.Uint64

func init() { handles.Store(1000) }

func TestHostileFrames(t *testing.T) {
	c := raw(t, true)
	seq := func(frames ...[]byte) [][]byte { return append([][]byte{openFrame}, frames...) }
	begin := []byte{0x05, 1, 2, 2, 1, 0x80, 0x80, 0x80, 0x01} // request 1: t1 f32[2097152]
	for name, frames := range map[string][][]byte{
		"no open":               {{0x08}},
		"no such device":        {{0x01, 99, 1}},
		"empty first":           {{}},
		"open and more":         {{0x01, handle, 1, 0x08}},
		"truncated open":        {{0x01}},
		"open twice":            seq(openFrame),
		"unknown command":       seq([]byte{0x7f}),
		"truncated":             seq([]byte{0x02, 0, 3, 'n', 'e'}),
		"noise":                 seq(bytes.Repeat([]byte{0xff}, 1000)),
		"oversized":             seq(make([]byte, wire.MaxFrame+1)),
		"far oversized":         seq(make([]byte, 32<<20)),
		"chunk without write":   seq([]byte{0x06, 1, 2, 3}),
		"chunk of another":      seq(begin, []byte{0x06, 2, 2, 3}),
		"command within chunks": seq(begin, []byte{0x08}),
		"too much data":         seq([]byte{0x05, 1, 2, 12, 1, 4}, []byte{0x06, 1, 1, 2, 3, 4, 5}),
		"empty in chunks":       seq([]byte{0x05, 1, 2, 12, 1, 0}),
		"more after begin":      seq(append(append([]byte{}, begin...), 0x08)),
		"request goes back":     seq([]byte{0x07, 5, 2, 4, 0x07, 5, 2, 4}),
		"cancel in a batch":     seq([]byte{0x08, 0x09, 1}),
		"await of the future":   seq([]byte{0x08, 0x0d, 1, 2}),
		"await of nothing":      seq([]byte{0x0d, 1, 1}),
		"await of zero":         seq([]byte{0x0d, 1, 0}),
		"endless donations":     seq([]byte{0x0b, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			r := talk(t, c, frames...)
			require.Equal(t, wire.TagFail, r.Tag)
			if name == "no such device" {
				require.ErrorIs(t, r.Err, core.ErrClosed)
			} else {
				require.ErrorIs(t, r.Err, core.ErrProtocol)
			}
		})
	}
	var cancels [][]byte
	for i := range wire.MaxRequests + 1 {
		cancels = append(cancels, []byte{0x09, byte(i) | 0x80, byte(i>>7) | 0x80, byte(i>>14) | 0x80, 1})
	}
	require.ErrorIs(t, talk(t, c, seq(cancels...)...).Err, core.ErrProtocol)

	signals := bytes.Repeat([]byte{0x08}, wire.MaxEvents+1)
	require.ErrorIs(t, talk(t, c, seq(signals)...).Err, core.ErrProtocol, "too many events")

	r := talk(t, c, openFrame, []byte{0x08, 0x0d, 1, 1})
	require.Equal(t, wire.Reply{Tag: wire.TagDone, Request: 1}, r, "the server goes on serving others")
}

// TestHostileNodes sends batches that can be decoded but not executed. The error is reported once, and the stream continues.
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
		"run unknown":      {[]byte{0x0b, 7, 0, 0, 0}, core.ErrNotFound},
		"no group":         {[]byte{0x14, 7, 2, 2, 2, 0}, core.ErrNotFound},
		"copy of nothing":  {[]byte{0x12, 2, 2, 0, handle, 2}, core.ErrUnknownTensor},
		"copy from nobody": {[]byte{0x12, 2, 2, 0, 99, 2}, core.ErrNotFound},
		"not claimed":      {[]byte{0x04, 2, 2, 0, 0, 0, 0, 0, 0x02, 0, 3, 'e', 'x', 'p', 1, 1, 0, 0, 1, 2, 2, 0, 0}, core.ErrUnsupported},
		"huge output": {[]byte{0x02, 0, 4, 'f', 'u', 'l', 'l', 1, 0, 0, 1, 2, 2, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x04, 3,
			0, 5, 'v', 'a', 'l', 'u', 'e', 8, 1, 0, 0, 5, 'd', 't', 'y', 'p', 'e', 5, 2,
			0, 5, 's', 'h', 'a', 'p', 'e', 6, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08}, core.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			r := talk(t, c, openFrame, append(append([]byte{}, tc.batch...), 0x08, 0x0d, 1, 1))
			require.Equal(t, wire.TagDone, r.Tag, "%v", r.Err)
			require.ErrorIs(t, r.Err, tc.want)
			r = talk(t, c, openFrame, append(append([]byte{}, tc.batch...), 0x08, 0x0d, 1, 1, 0x08, 0x0d, 2, 2))
			require.Equal(t, wire.Reply{Tag: wire.TagDone, Request: 2}, r, "once")
		})
	}
}

func TestBeforeHello(t *testing.T) {
	c := raw(t, false)
	require.ErrorIs(t, talk(t, c, openFrame).Err, core.ErrProtocol)
	o, err := c.Open(context.Background(), &wire.Open{Handle: 1})
	require.NoError(t, err)
	require.ErrorIs(t, o.Err, core.ErrProtocol)
	answer, err := c.Supports(context.Background(), 1, []byte{1, 2, 3})
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrProtocol)
	w, err := c.Hello(context.Background(), &wire.Hello{Protocol: wire.Range{Min: 70, Max: 80}})
	require.NoError(t, err)
	require.Zero(t, w.Version)
	require.Equal(t, wire.Speaks(), w.Protocol)
	require.ErrorIs(t, w.Err, core.ErrProtocol)
}

func TestAfterClose(t *testing.T) {
	s := newServer(Options{Name: "nothing", Open: openNothing, Logger: hclog.NewNullLogger()})
	_, err := s.open(core.Config{})
	require.NoError(t, err)
	require.NoError(t, s.close(time.Second))
	_, err = s.opened()
	require.ErrorIs(t, err, core.ErrClosed)
	require.NotErrorIs(t, err, core.ErrProtocol)
	require.NotContains(t, err.Error(), "hello")
}

func TestMainFlags(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 0, run("nothing", openNothing, []string{"--version"}, &out, &errs))
	require.Equal(t, "burn-backend-nothing 1.2.3, protocol 2, "+core.Platform()+"\n", out.String())
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
