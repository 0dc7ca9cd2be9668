package protocol

import (
	"context"

	"google.golang.org/grpc"
)

// overGRPC is a stream over gRPC.
type overGRPC struct {
	grpc.ClientStream
	cancel context.CancelFunc
}

func grpcTransport(t *test, c *connection) transport {
	ctx, cancel := context.WithCancel(t.ctx)
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, service+"Stream")
	if err != nil {
		cancel()
		t.fail("Stream: %v", err)
	}
	return &overGRPC{s, cancel}
}

func (s *overGRPC) send(b []byte) error { return s.SendMsg(&b) }

func (s *overGRPC) receive() (b []byte, err error) {
	err = s.RecvMsg(&b)
	return b, err
}

func (s *overGRPC) finish() error { return s.CloseSend() }
func (s *overGRPC) abort()        { s.cancel() }
