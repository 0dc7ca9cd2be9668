package client_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// rogue is a plugin that answers the first request of a stream with the bytes of reply, and then ends the stream if end is
// set.
type rogue struct {
	opened, reply []byte
	end           bool
	silent        string // the kind of request that is never answered: open, stream or commands
	options       client.Options
	welcome       wire.Welcome
	device        wire.Opened
	profile       *core.Profile
}

func (r *rogue) Hello(context.Context, *wire.Hello) *wire.Welcome { return &r.welcome }

func (r *rogue) Open(ctx context.Context, _ *wire.Open) *wire.Opened {
	if r.silent == "open" {
		<-ctx.Done()
	}
	return &r.device
}

func (r *rogue) Close(context.Context, uint64) error                         { return nil }
func (r *rogue) Supports(context.Context, uint64, *op.Node, []op.Desc) error { return nil }
func (r *rogue) Memory(context.Context, uint64) (m core.Memory, err error)   { return m, nil }
func (r *rogue) Undefine(context.Context, uint64, uint64, uint64) error      { return nil }
func (r *rogue) Join(context.Context, *wire.Join) error                      { return nil }
func (r *rogue) Leave(context.Context, uint64, uint64, uint64) error         { return nil }
func (r *rogue) StartProfile(context.Context, uint64) error                  { return nil }
func (r *rogue) StopProfile(context.Context, uint64) (*core.Profile, error)  { return r.profile, nil }

func (r *rogue) Stream(s *wire.FrameStream) {
	if _, err := s.Receive(); err != nil {
		return
	}
	if r.silent != "stream" {
		_ = s.Send(wire.NewFrame(r.opened))
	}
	for {
		if _, err := s.Receive(); err == io.EOF || err != nil {
			return
		}
		if r.silent != "" {
			continue
		}
		_ = s.Send(wire.NewFrame(r.reply))
		if r.end {
			return
		}
	}
}

func (r *rogue) serve(t *testing.T) (*client.Backend, error) {
	t.Helper()
	addr := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", addr)
	if err != nil {
		t.Skipf("the system has no Unix sockets: %v", err)
	}
	g := grpc.NewServer(append(wire.ServerOptions(), grpc.MaxSendMsgSize(64<<20))...)
	wire.Register(g, r)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	o := r.options
	o.Name, o.StartTimeout = "rogue", 2*time.Second
	b, err := client.Attach(context.Background(), wire.Attach{Network: "unix", Addr: addr}, o)
	if b != nil {
		t.Cleanup(func() { _ = b.Close() })
	}
	return b, err
}

func decent() wire.Welcome {
	return wire.Welcome{Protocol: wire.Speaks(), Version: wire.Version, Info: core.Info{Name: "rogue", Devices: []core.DeviceInfo{{}}}}
}

func decentDevice() wire.Opened {
	return wire.Opened{Capabilities: &core.Capabilities{Types: dtype.Any, Limits: core.Limits{Rank: 8}}}
}

// TestHostilePlugin checks that a malformed answer is an ErrProtocol, and neither a panic nor a hang.
func TestHostilePlugin(t *testing.T) {
	opened := []byte{0x81}
	for name, r := range map[string]*rogue{
		"empty":            {opened: opened, reply: []byte{}},
		"unknown":          {opened: opened, reply: []byte{0x70}},
		"a command":        {opened: opened, reply: []byte{0x02, 1, 1}},
		"opened again":     {opened: opened, reply: opened},
		"other request":    {opened: opened, reply: []byte{0x83, 99}},
		"request zero":     {opened: opened, reply: []byte{0x83, 0}},
		"done too early":   {opened: opened, reply: []byte{0x83, 1}},
		"too much data":    {opened: opened, reply: append([]byte{0x82, 1, 1}, make([]byte, 100)...)},
		"too little data":  {opened: opened, reply: []byte{0x82, 1, 1, 5}},
		"flag":             {opened: opened, reply: []byte{0x82, 1, 9, 1, 2, 3, 4}},
		"broken error":     {opened: opened, reply: []byte{0x83, 1, 77}},
		"failure of none":  {opened: opened, reply: []byte{0x84}},
		"oversized":        {opened: opened, reply: make([]byte, wire.MaxFrame+1<<20)},
		"ends the stream":  {opened: opened, reply: []byte{0x82, 1, 0, 1}, end: true},
		"truncated number": {opened: opened, reply: []byte{0x83, 0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			r.welcome, r.device = decent(), decentDevice()
			b, err := r.serve(t)
			require.NoError(t, err)
			s := open(t, b)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			err = core.Read(ctx, s, id(1), make([]byte, 4))
			require.ErrorIs(t, err, core.ErrProtocol)
			require.ErrorIs(t, core.Sync(ctx, s), core.ErrProtocol, "the stream is over")
			require.NoError(t, s.Close())
		})
	}
	for name, opened := range map[string][]byte{"nothing": {}, "other": {0x83, 1}, "longer": {0x81, 0}} {
		r := &rogue{opened: opened, welcome: decent(), device: decentDevice()}
		b, err := r.serve(t)
		require.NoError(t, err)
		d, err := b.Open(context.Background(), 0)
		require.NoError(t, err)
		_, err = d.OpenStream(context.Background())
		require.ErrorIs(t, err, core.ErrProtocol, name)
	}
	r := &rogue{opened: []byte{0x84, 0, 6, 0}, welcome: decent(), device: decentDevice()}
	b, err := r.serve(t)
	require.NoError(t, err)
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	_, err = d.OpenStream(context.Background())
	require.ErrorIs(t, err, core.ErrOutOfMemory, "the backend's own error")
}

func TestHostileWelcome(t *testing.T) {
	for name, change := range map[string]func(*wire.Welcome){
		"version beyond": func(w *wire.Welcome) { w.Version = 9 },
		"version zero":   func(w *wire.Welcome) { w.Version = 0 },
		"other range":    func(w *wire.Welcome) { w.Protocol = wire.Range{Min: 8, Max: 9} },
	} {
		r := &rogue{welcome: decent(), device: decentDevice()}
		change(&r.welcome)
		_, err := r.serve(t)
		require.ErrorIs(t, err, core.ErrProtocol, name)
	}
}

// TestHostileDevice checks that invalid capabilities are an ErrProtocol.
func TestHostileDevice(t *testing.T) {
	for name, change := range map[string]func(*core.Capabilities){
		"no rank": func(c *core.Capabilities) { c.Limits.Rank = 0 },
		"rank":    func(c *core.Capabilities) { c.Limits.Rank = 200 },
		"bytes":   func(c *core.Capabilities) { c.Limits.Bytes = -1 },
		"elements": func(c *core.Capabilities) {
			c.Ops = map[string]core.OpCapability{"add": {Limits: core.Limits{Elements: -1}}}
		},
	} {
		r := &rogue{welcome: decent(), device: decentDevice()}
		change(r.device.Capabilities)
		b, err := r.serve(t)
		require.NoError(t, err)
		_, err = b.Open(context.Background(), 0)
		require.ErrorIs(t, err, core.ErrProtocol, name)
	}
}
