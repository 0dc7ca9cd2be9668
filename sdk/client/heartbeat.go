package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// listen sends health checks to the plugin, and kills it if there is no answer, of any kind, within limit.
func (b *Backend) listen(conn *grpc.ClientConn, limit time.Duration) {
	c := health.NewHealthClient(conn)
	tick := time.NewTicker(max(limit/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.lost:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		_, err := c.Check(ctx, &health.HealthCheckRequest{Service: "plugin"})
		cancel()
		if status.Code(err) == codes.DeadlineExceeded && b.ctx.Err() == nil {
			text := fmt.Sprintf("no sign of life for %v, killed", limit)
			b.silent.Store(&text)
			_ = b.proc.Kill(context.Background())
			b.lose(nil)
			return
		}
	}
}
