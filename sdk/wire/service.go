package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire/internal/pb"
)

const (
	window    = 8 << 20   // flow control, of a stream and of a connection
	ioBuffer  = 128 << 10 // of the socket
	slackSize = 64 << 10  // messages may exceed MaxFrame by headers
)

// ServerOptions are what a server of this protocol needs: codec, limits, windows.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(MaxFrame + slackSize), grpc.MaxSendMsgSize(MaxFrame + slackSize),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ReadBufferSize(ioBuffer), grpc.WriteBufferSize(ioBuffer),
	}
}

// DialOptions are the same for a client.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallRecvMsgSize(MaxFrame+slackSize), grpc.MaxCallSendMsgSize(MaxFrame+slackSize)),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(ioBuffer), grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithDisableRetry(),
	}
}

// Handler is the plugin side of the service. Its methods are called concurrently.
type Handler interface {
	Hello(ctx context.Context, h *Hello) *Welcome
	// Supports is given a node that was decoded and not checked.
	Supports(ctx context.Context, n *op.Node, in []op.Desc) error
	// Stream serves one stream until it ends.
	Stream(s *FrameStream)
}

// next is Next over gRPC.
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

	link *link // over a socket of its own, instead of the above
}

// Direct reports whether the frames go over a socket of their own.
func (s *FrameStream) Direct() bool { return s.link != nil }

// Context ends with the stream.
func (s *FrameStream) Context() context.Context {
	if s.link != nil {
		return s.link.ctx
	}
	return s.stream.Context()
}

// Send hands a frame to the transport and waits while its buffers are full.
func (s *FrameStream) Send(f *Frame) error {
	if s.link != nil {
		return s.link.send(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.SendMsg(f)
}

// Receive waits for the next frame. io.EOF says that the other side ended the stream as it should; a frame above the
// limit is an ErrProtocol.
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

// CloseSend says that no more frames come from the host.
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

// Register puts the service on a server made with ServerOptions.
func Register(s *grpc.Server, h Handler) { pb.RegisterBackendServer(s, &server{h: h}) }

func (s *server) Hello(ctx context.Context, m *pb.HelloRequest) (*pb.HelloReply, error) {
	return s.h.Hello(ctx, helloFromProto(m)).toProto(), nil
}

func (s *server) Supports(ctx context.Context, m *pb.SupportsRequest) (*pb.SupportsReply, error) {
	n, in, err := DecodeQuery(m.GetNode())
	if err == nil {
		err = s.h.Supports(ctx, n, in)
	}
	return &pb.SupportsReply{Error: AppendError(nil, err)}, nil
}

func (s *server) Stream(stream grpc.BidiStreamingServer[pb.Frame, pb.Frame]) error {
	s.h.Stream(&FrameStream{stream: stream})
	return nil
}

// Caller is the host side of the service on a connection made with DialOptions.
type Caller struct{ c pb.BackendClient }

// NewCaller makes a Caller.
func NewCaller(conn grpc.ClientConnInterface) *Caller { return &Caller{pb.NewBackendClient(conn)} }

// Hello introduces the host. Errors are those of gRPC, or ErrProtocol for an answer that makes no sense.
func (c *Caller) Hello(ctx context.Context, h *Hello) (*Welcome, error) {
	m, err := c.c.Hello(ctx, h.toProto())
	if err != nil {
		if status.Code(err) == codes.Unimplemented {
			return nil, fmt.Errorf("hello: %w: the plugin does not serve burn.wire.v1.Backend: %v", core.ErrProtocol, err)
		}
		return nil, err
	}
	return welcomeFromProto(m)
}

// Supports asks about one node, encoded by AppendQuery. answer is the plugin's, err that of the call.
func (c *Caller) Supports(ctx context.Context, query []byte) (answer, err error) {
	m, err := c.c.Supports(ctx, &pb.SupportsRequest{Node: query})
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
