package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

// recorder is a Handler that records its calls and answers with err.
type recorder struct {
	mu      sync.Mutex
	calls   []string
	err     error
	welcome *Welcome
	opened  *Opened
	memory  core.Memory
	profile *core.Profile
	node    *op.Node
	in      []op.Desc
	stream  func(*FrameStream)
}

func (r *recorder) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	return r.err
}

// last returns the calls since the previous last.
func (r *recorder) last() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.calls
	r.calls = nil
	return l
}

func (r *recorder) Hello(_ context.Context, h *Hello) *Welcome {
	_ = r.note("hello %v %v %s %s %d %v", h.Protocol, h.Features, h.HostName, h.HostVersion, h.Config.Threads, h.Config.Options)
	return r.welcome
}

func (r *recorder) Open(_ context.Context, o *Open) *Opened {
	_ = r.note("open %d %d %d", o.Handle, o.Device, o.Generation)
	return r.opened
}

func (r *recorder) Close(_ context.Context, handle uint64) error { return r.note("close %d", handle) }

func (r *recorder) Supports(_ context.Context, handle uint64, n *op.Node, in []op.Desc) error {
	r.node, r.in = n, in
	return r.note("supports %d", handle)
}

func (r *recorder) Memory(_ context.Context, handle uint64) (core.Memory, error) {
	return r.memory, r.note("memory %d", handle)
}

func (r *recorder) Undefine(_ context.Context, handle, program, runs uint64) error {
	return r.note("undefine %d %d %d", handle, program, runs)
}

func (r *recorder) Join(_ context.Context, j *Join) error { return r.note("join %+v", *j) }

func (r *recorder) Leave(_ context.Context, handle, group, uses uint64) error {
	return r.note("leave %d %d %d", handle, group, uses)
}

func (r *recorder) StartProfile(_ context.Context, handle uint64) error {
	return r.note("start %d", handle)
}

func (r *recorder) StopProfile(_ context.Context, handle uint64) (*core.Profile, error) {
	return r.profile, r.note("stop %d", handle)
}

func (r *recorder) Stream(s *FrameStream) { r.stream(s) }

// serve starts a server with the services that register adds, and returns a connection to it with the given options.
func serve(t *testing.T, register func(*grpc.Server), options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	at := bufconn.Listen(1 << 20)
	s := grpc.NewServer(ServerOptions()...)
	register(s)
	go func() { _ = s.Serve(at) }()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return at.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///plugin", options...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(); s.Stop() })
	return conn
}

func recorded(t *testing.T) (*recorder, *Caller) {
	r := &recorder{}
	return r, NewCaller(serve(t, func(s *grpc.Server) { Register(s, r) }, DialOptions()...))
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestCalls makes every call with arguments of all different values: each argument arrives where it belongs, and the error of the
// backend comes back as the answer, not as a failure of the call.
func TestCalls(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	ctx := soon(t)
	const h = 1<<63 + 11
	for _, fault := range []error{nil, core.ErrNotFound, &core.NodeError{Op: "add", Err: core.ErrStale}} {
		r.err = fault
		for _, call := range []struct {
			want string
			do   func() (error, error)
		}{
			{fmt.Sprintf("close %d", uint64(h)), func() (error, error) { return c.Close(ctx, h) }},
			{fmt.Sprintf("undefine %d 7 1099511627776", uint64(h)), func() (error, error) { return c.Undefine(ctx, h, 7, 1<<40) }},
			{fmt.Sprintf("leave %d 8 9", uint64(h)), func() (error, error) { return c.Leave(ctx, h, 8, 9) }},
			{"join {Handle:3 Group:4 Key:k Rank:5 Size:6}", func() (error, error) {
				return c.Join(ctx, &Join{Handle: 3, Group: 4, Key: "k", Rank: 5, Size: 6})
			}},
			{"start 21", func() (error, error) { return c.StartProfile(ctx, 21) }},
		} {
			answer, err := call.do()
			require.NoError(t, err, call.want)
			require.Equal(t, []string{call.want}, r.last())
			require.Equal(t, fault, answer, call.want)
		}
	}
}

func TestMemoryCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	r.memory = core.Memory{InUse: 1 << 40, Reserved: 1 << 41, Tensors: 3}
	u, answer, err := c.Memory(soon(t), 2)
	require.NoError(t, err)
	require.NoError(t, answer)
	require.Equal(t, r.memory, u)
	r.memory, r.err = core.Memory{InUse: -1, Reserved: -2, Tensors: -3}, core.ErrClosed
	u, answer, err = c.Memory(soon(t), 2)
	require.NoError(t, err)
	require.Equal(t, core.ErrClosed, answer)
	require.Equal(t, core.Memory{}, u, "a plugin cannot hold less than nothing")
	require.Equal(t, []string{"memory 2", "memory 2"}, r.last())
}

func TestSupportsCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	in := []op.Desc{op.DescOf(dtype.F16, 2, 3), op.DescOf(dtype.F16, 3)}
	n := &op.Node{Op: code(t, "add"), Version: 1, Inputs: []op.TensorID{50, 51}, Outputs: []op.Desc{{ID: 60, DType: dtype.F16, Shape: shape.Of(2, 3)}}}
	answer, err := c.Supports(soon(t), 5, AppendQuery(nil, n, in))
	require.NoError(t, err)
	require.NoError(t, answer)
	require.Equal(t, []string{"supports 5"}, r.last())
	require.Equal(t, n.Op, r.node.Op)
	require.Equal(t, []op.TensorID{r.in[0].ID, r.in[1].ID}, r.node.Inputs, "the node names its inputs")
	for i := range in {
		require.True(t, in[i].SameType(r.in[i]))
	}
	r.err = core.ErrUnsupported
	answer, err = c.Supports(soon(t), 5, AppendQuery(nil, n, in))
	require.NoError(t, err)
	require.Equal(t, core.ErrUnsupported, answer)
	r.last()
	for _, bad := range [][]byte{nil, {1}, {0, 0}, {0xff, 0xff, 1, 1}, append(AppendQuery(nil, n, in), 0), AppendQuery(nil, n, in[:1])[1:]} {
		answer, err = c.Supports(soon(t), 5, bad)
		require.NoError(t, err)
		require.ErrorIs(t, answer, core.ErrProtocol, "%x", bad)
	}
	require.Empty(t, r.last(), "the backend sees no query that cannot be decoded")
}

func TestHelloCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	r.welcome = &Welcome{Protocol: Range{1, 2}, Version: 2, Features: []string{FeatureSocket}, Socket: "/s", Token: []byte{1, 2},
		Info: core.Info{Name: "n", Version: "1.0", Vendor: "v", Devices: []core.DeviceInfo{{Index: 3, Name: "d", Kind: "gpu", Memory: 5, Detail: "x"}}}}
	hello := &Hello{Protocol: Range{2, 3}, Features: []string{"a", "b"}, HostName: "burn", HostVersion: "9", Config: core.Config{Threads: 4, Options: map[string]string{"k": "v"}}}
	w, err := c.Hello(soon(t), hello)
	require.NoError(t, err)
	require.Equal(t, r.welcome, w)
	require.Equal(t, []string{"hello 2 to 3 [a b] burn 9 4 map[k:v]"}, r.last())

	r.welcome = &Welcome{Features: make([]string, MaxFeatures+1)}
	_, err = c.Hello(soon(t), hello)
	require.ErrorIs(t, err, core.ErrProtocol, "limits hold for what comes from outside")

	r.last()
	for _, c := range []struct{ threads, want int }{{-3, 0}, {0, 0}, {1 << 31, 1<<31 - 1}, {1 << 40, 1<<31 - 1}} {
		h := helloFromProto((&Hello{Config: core.Config{Threads: c.threads}}).toProto())
		require.Equal(t, c.want, h.Config.Threads, "%d threads", c.threads)
	}
	require.Equal(t, int64(0), welcomeFromProto(&pb.HelloReply{Info: &pb.Info{Devices: []*pb.Device{{Memory: -5}}}}).Info.Devices[0].Memory)

	stranger := NewCaller(serve(t, func(*grpc.Server) {}, DialOptions()...))
	_, err = stranger.Hello(soon(t), hello)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "the plugin does not serve burn.wire.v1.Backend")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.Hello(ended, hello)
	require.Error(t, err)
	require.NotErrorIs(t, err, core.ErrProtocol, "a caller that gave up is no fault of the plugin")
}

func TestOpenCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	r.opened = &Opened{Capabilities: &core.Capabilities{Types: dtype.Numbers, Flushes: dtype.Floats, Limits: core.Limits{Rank: 6}, Ops: map[string]core.OpCapability{}},
		Extensions: Extensions{Memory: true, Collectives: true}}
	got, err := c.Open(soon(t), &Open{Handle: 9, Device: 2, Generation: 40000})
	require.NoError(t, err)
	require.Equal(t, r.opened, got)
	require.Equal(t, []string{"open 9 2 40000"}, r.last())
	got, err = c.Open(soon(t), &Open{Handle: 9, Device: -1})
	require.NoError(t, err)
	require.ErrorIs(t, got.Err, core.ErrProtocol)
	require.Empty(t, r.last(), "the backend sees no request that cannot be decoded")
	r.opened = &Opened{Err: core.ErrOutOfMemory}
	got, err = c.Open(soon(t), &Open{})
	require.NoError(t, err)
	require.Equal(t, &Opened{Err: core.ErrOutOfMemory}, got)
	r.opened = &Opened{Capabilities: &core.Capabilities{}}
	_, err = c.Open(soon(t), &Open{})
	require.ErrorIs(t, err, core.ErrProtocol, "a device without a limit of ranks")
}

// TestProfileCall sends a profile of several parts, the last of them not full.
func TestProfileCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	p := &core.Profile{Dropped: 12}
	for i := range 2*stepsOfPart + 3 {
		p.Steps = append(p.Steps, core.ProfileStep{Program: fmt.Sprint("p", i), Index: i, Ops: []string{"add"}, In: []op.Desc{}, Out: []op.Desc{op.DescOf(dtype.F32, i)}, Flops: int64(i)})
	}
	for i := range recordsOfPart + 5 {
		p.Records = append(p.Records, core.ProfileRecord{Step: i % len(p.Steps), Stream: i % 3, Start: time.Duration(i), Duration: time.Duration(2 * i)})
	}
	r.profile = p
	got, answer, err := c.StopProfile(soon(t), 4)
	require.NoError(t, err)
	require.NoError(t, answer)
	require.Equal(t, p, got)

	r.err = core.ErrNotFound
	_, answer, err = c.StopProfile(soon(t), 4)
	require.NoError(t, err)
	require.Equal(t, core.ErrNotFound, answer)

	r.err, r.profile = nil, &core.Profile{Records: []core.ProfileRecord{{Step: 0}}}
	_, _, err = c.StopProfile(soon(t), 4)
	require.ErrorIs(t, err, core.ErrProtocol, "a record without a step")

	// What a backend reports beyond the limits is cut, so that its host takes the rest.
	long := core.ProfileStep{Program: strings.Repeat("p", MaxName+9), Ops: make([]string, core.MaxProfileOps+1), In: make([]op.Desc, core.MaxProfileTensors+1)}
	for i := range long.In {
		long.In[i] = op.DescOf(dtype.I8, 1)
	}
	long.Ops[0] = strings.Repeat("o", MaxName+9)
	r.profile = &core.Profile{Steps: []core.ProfileStep{long}}
	got, answer, err = c.StopProfile(soon(t), 4)
	require.NoError(t, errors.Join(answer, err))
	require.Len(t, got.Steps[0].Program, MaxName)
	require.Len(t, got.Steps[0].Ops, core.MaxProfileOps)
	require.Len(t, got.Steps[0].Ops[0], MaxName)
	require.Len(t, got.Steps[0].In, core.MaxProfileTensors)
}

// TestStreamCall sends frames of all sizes there and back over gRPC, and ends the stream in order.
func TestStreamCall(t *testing.T) {
	t.Parallel()
	r, c := recorded(t)
	ended := make(chan error, 1)
	r.stream = func(s *FrameStream) {
		for {
			err := s.Next(func(f *Frame) error { return s.Send(f) })
			if err != nil {
				ended <- err
				return
			}
		}
	}
	s, err := c.Stream(soon(t))
	require.NoError(t, err)
	require.False(t, s.Direct())
	for i, n := range []int{9, batchCapacity, batchCapacity + 1, ChunkSize + 11, MaxFrame} {
		require.NoError(t, s.Send(numbered(uint64(i), n)))
		f, err := s.Receive()
		require.NoError(t, err)
		require.Equal(t, n, f.Len())
		want := numbered(uint64(i), n)
		require.Equal(t, bytesOf(t, want), bytesOf(t, f))
		f.Free()
	}
	// What only a socket can do is refused, and harms nothing.
	taken, more := s.TrySend(numbered(1, 9))
	require.False(t, taken || more)
	require.NoError(t, s.Flush())
	some, err := s.Poll(nil)
	require.NoError(t, err)
	require.False(t, some)
	require.NoError(t, s.Watch(quick(), func() bool { return false }, nil))
	s.Sleep()
	s.Wake()
	s.ReleaseFiles()
	s.Close()
	_, ok := s.File()
	require.False(t, ok)

	require.NoError(t, s.CloseSend())
	require.ErrorIs(t, <-ended, io.EOF)
	_, err = s.Receive()
	require.ErrorIs(t, err, io.EOF)
	<-s.Context().Done()
}

// TestGreatFrame checks that a frame above the limit is a protocol error for the side that receives it.
func TestGreatFrame(t *testing.T) {
	t.Parallel()
	r, _ := recorded(t)
	ended := make(chan error, 1)
	r.stream = func(s *FrameStream) {
		_, err := s.Receive()
		ended <- err
	}
	free := append(DialOptions(), grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)))
	c := NewCaller(serve(t, func(s *grpc.Server) { Register(s, r) }, free...))
	s, err := c.Stream(soon(t))
	require.NoError(t, err)
	require.NoError(t, s.Send(numbered(0, MaxFrame+slackSize+1)))
	err = <-ended
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "a frame exceeds 4194304 bytes")
}
