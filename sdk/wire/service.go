package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

const (
	window    = 8 << 20   // flow control window of a stream and of a connection, in bytes
	ioBuffer  = 128 << 10 // buffer of the socket, in bytes
	slackSize = 64 << 10  // messages may exceed MaxFrame by headers
)

// ServerOptions returns the options of a server of this protocol: codec, limits, windows.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxFrame + slackSize), grpc.MaxSendMsgSize(MaxFrame + slackSize),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ReadBufferSize(ioBuffer), grpc.WriteBufferSize(ioBuffer),
	}
}

// DialOptions returns the corresponding options of a client.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallRecvMsgSize(MaxFrame+slackSize), grpc.MaxCallSendMsgSize(MaxFrame+slackSize)),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(ioBuffer), grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), // devices end with the connection
	}
}

// Handler is the plugin side of the service. Its methods are called concurrently.
type Handler interface {
	Hello(ctx context.Context, h *Hello) *Welcome
	// Open opens a device, which lives until Close or until the connection ends.
	Open(ctx context.Context, o *Open) *Opened
	Close(ctx context.Context, handle uint64) error
	// Supports receives a node that was decoded but not checked.
	Supports(ctx context.Context, handle uint64, n *op.Node, in []op.Desc) error
	Memory(ctx context.Context, handle uint64) (core.Memory, error)
	// Undefine ends a program once the given number of its runs has arrived. Leave ends the membership in a group once the given number of
	// its commands has arrived.
	Undefine(ctx context.Context, handle, program, runs uint64) error
	Join(ctx context.Context, j *Join) error
	Leave(ctx context.Context, handle, group, uses uint64) error
	StartProfile(ctx context.Context, handle uint64) error
	StopProfile(ctx context.Context, handle uint64) (*core.Profile, error)
	// Stream serves one stream until it ends.
	Stream(s *FrameStream)
}

// Join is a request to add a device to a group as a rank.
type Join struct {
	Handle, Group uint64
	Key           string
	Rank, Size    int
}

// next is like Next, over gRPC.
func (s *FrameStream) next(handle func(*Frame) error) error {
	f, err := s.Receive()
	if err != nil {
		return err
	}
	return handle(f)
}

// FrameStream carries the frames of one stream, in either direction. One goroutine may receive while others send.
type FrameStream struct {
	stream interface {
		Context() context.Context
		SendMsg(any) error
		RecvMsg(any) error
	}
	client grpc.ClientStream // of the host's end
	mu     sync.Mutex        // held while sending

	link *link // separate socket, which replaces the fields above
}

// Direct reports whether frames are sent over a separate socket.
func (s *FrameStream) Direct() bool { return s.link != nil }

// Context ends with the stream.
func (s *FrameStream) Context() context.Context {
	if s.link != nil {
		return s.link.ctx
	}
	return s.stream.Context()
}

// Send passes a frame to the transport and waits while its buffers are full.
func (s *FrameStream) Send(f *Frame) error {
	if s.link != nil {
		return s.link.send(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.SendMsg(f)
}

// Receive waits for the next frame. It returns io.EOF if the other side has announced the end of the stream, and ErrProtocol for a frame
// that exceeds the limit.
func (s *FrameStream) Receive() (*Frame, error) {
	if s.link != nil {
		return s.link.receive()
	}
	f := &Frame{}
	err := s.stream.RecvMsg(f)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case status.Code(err) == codes.ResourceExhausted:
		return nil, fmt.Errorf("wire: %w: a frame exceeds %d bytes: %v", core.ErrProtocol, MaxFrame, status.Convert(err).Message())
	}
	return nil, err
}

// CloseSend tells the other side that the host sends no more frames.
func (s *FrameStream) CloseSend() error {
	if s.link != nil {
		return s.link.closeSend()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client.CloseSend()
}

type server struct {
	pb.UnimplementedBackendServer
	h Handler
}

// Register registers h as the service of a server that has ServerOptions.
func Register(s *grpc.Server, h Handler) { pb.RegisterBackendServer(s, &server{h: h}) }

func (s *server) Hello(ctx context.Context, m *pb.HelloRequest) (*pb.HelloReply, error) {
	return s.h.Hello(ctx, helloFromProto(m)).toProto(), nil
}

func (s *server) Open(ctx context.Context, m *pb.OpenRequest) (*pb.OpenReply, error) {
	o, err := openFromProto(m)
	if err != nil {
		return (&Opened{Err: err}).toProto(), nil
	}
	return s.h.Open(ctx, o).toProto(), nil
}

func (s *server) Close(ctx context.Context, m *pb.DeviceRequest) (*pb.Status, error) {
	return outcome(s.h.Close(ctx, m.GetHandle()))
}

func (s *server) Supports(ctx context.Context, m *pb.SupportsRequest) (*pb.Status, error) {
	n, in, err := DecodeQuery(m.GetNode())
	if err == nil {
		err = s.h.Supports(ctx, m.GetHandle(), n, in)
	}
	return outcome(err)
}

func (s *server) Memory(ctx context.Context, m *pb.DeviceRequest) (*pb.MemoryReply, error) {
	u, err := s.h.Memory(ctx, m.GetHandle())
	return &pb.MemoryReply{Error: AppendError(nil, err), InUse: u.InUse, Reserved: u.Reserved, Tensors: u.Tensors}, nil
}

func (s *server) Undefine(ctx context.Context, m *pb.EndRequest) (*pb.Status, error) {
	return outcome(s.h.Undefine(ctx, m.GetHandle(), m.GetNumber(), m.GetUses()))
}

func (s *server) Join(ctx context.Context, m *pb.JoinRequest) (*pb.Status, error) {
	return outcome(s.h.Join(ctx, &Join{Handle: m.GetHandle(), Group: m.GetGroup(), Key: m.GetKey(),
		Rank: int(min(m.GetRank(), math.MaxInt32)), Size: int(min(m.GetSize(), math.MaxInt32))}))
}

func (s *server) Leave(ctx context.Context, m *pb.EndRequest) (*pb.Status, error) {
	return outcome(s.h.Leave(ctx, m.GetHandle(), m.GetNumber(), m.GetUses()))
}

func outcome(err error) (*pb.Status, error) { return &pb.Status{Error: AppendError(nil, err)}, nil }

func (s *server) Stream(stream grpc.BidiStreamingServer[pb.Frame, pb.Frame]) error {
	s.h.Stream(&FrameStream{stream: stream})
	return nil
}

// Caller is the host side of the service on a connection made with DialOptions.
type Caller struct{ c pb.BackendClient }

// NewCaller returns a Caller.
func NewCaller(conn grpc.ClientConnInterface) *Caller { return &Caller{pb.NewBackendClient(conn)} }

// Hello introduces the host. It returns errors of gRPC, or ErrProtocol for a peer without the service.
func (c *Caller) Hello(ctx context.Context, h *Hello) (*Welcome, error) {
	m, err := c.c.Hello(ctx, h.toProto())
	if err != nil {
		if status.Code(err) == codes.Unimplemented {
			return nil, fmt.Errorf("hello: %w: the plugin does not serve burn.wire.v1.Backend: %v", core.ErrProtocol, err)
		}
		return nil, err
	}
	w := welcomeFromProto(m)
	if err := w.check(); err != nil {
		return nil, err
	}
	return w, nil
}

// Open opens a device. It returns errors of gRPC, or ErrProtocol for an invalid answer.
func (c *Caller) Open(ctx context.Context, o *Open) (*Opened, error) {
	m, err := c.c.Open(ctx, o.toProto())
	if err != nil {
		return nil, err
	}
	return openedFromProto(m)
}

// The following methods return the plugin's error as answer, and the error of the call as err.

// Close ends a device.
func (c *Caller) Close(ctx context.Context, handle uint64) (answer, err error) {
	return answered(c.c.Close(ctx, &pb.DeviceRequest{Handle: handle}))
}

// Supports asks about one node, encoded by AppendQuery.
func (c *Caller) Supports(ctx context.Context, handle uint64, query []byte) (answer, err error) {
	return answered(c.c.Supports(ctx, &pb.SupportsRequest{Handle: handle, Node: query}))
}

// Memory asks for the memory use of a device.
func (c *Caller) Memory(ctx context.Context, handle uint64) (u core.Memory, answer, err error) {
	m, err := c.c.Memory(ctx, &pb.DeviceRequest{Handle: handle})
	if err != nil {
		return u, nil, err
	}
	u = core.Memory{InUse: max(m.GetInUse(), 0), Reserved: max(m.GetReserved(), 0), Tensors: max(m.GetTensors(), 0)}
	return u, DecodeError(m.GetError()), nil
}

// Undefine ends a program after the given number of runs.
func (c *Caller) Undefine(ctx context.Context, handle, program, runs uint64) (answer, err error) {
	return answered(c.c.Undefine(ctx, &pb.EndRequest{Handle: handle, Number: program, Uses: runs}))
}

// Join adds a device to a group as a rank.
func (c *Caller) Join(ctx context.Context, j *Join) (answer, err error) {
	return answered(c.c.Join(ctx, &pb.JoinRequest{Handle: j.Handle, Group: j.Group, Key: j.Key, Rank: uint32(j.Rank), Size: uint32(j.Size)}))
}

// Leave ends a membership after the given number of commands of the group.
func (c *Caller) Leave(ctx context.Context, handle, group, uses uint64) (answer, err error) {
	return answered(c.c.Leave(ctx, &pb.EndRequest{Handle: handle, Number: group, Uses: uses}))
}

func answered(m *pb.Status, err error) (error, error) {
	if err != nil {
		return nil, err
	}
	return DecodeError(m.GetError()), nil
}

// Stream opens a stream. It ends with ctx.
func (c *Caller) Stream(ctx context.Context) (*FrameStream, error) {
	s, err := c.c.Stream(ctx)
	if err != nil {
		return nil, err
	}
	return &FrameStream{stream: s, client: s}, nil
}
