package client

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// dial connects to a plugin that serves without TLS.
func dial(at wire.Attach) (*grpc.ClientConn, error) {
	if at.Network != "unix" && at.Network != "tcp" || at.Addr == "" {
		return nil, fmt.Errorf("attach: network %q at %q, want unix or tcp and an address: %w", at.Network, at.Addr, core.ErrNotFound)
	}
	opts := append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, at.Network, at.Addr)
		}))
	return grpc.NewClient("passthrough:///plugin", opts...)
}
