package serve

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"
)

// connections counts the connections to the server and says when the last is gone.
type connections struct {
	mu    sync.Mutex
	open  int
	empty func() // called, once a connection was there, whenever none is left
	some  func() // called whenever the first comes
}

var _ stats.Handler = (*connections)(nil)

func (c *connections) watch(some, empty func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.some, c.empty = some, empty
}

// HandleConn counts.
func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		c.open++
		if c.open == 1 && c.some != nil {
			c.some()
		}
	case *stats.ConnEnd:
		c.open--
		if c.open == 0 && c.empty != nil {
			c.empty()
		}
	}
}

// TagConn adds nothing.
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC adds nothing.
func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC counts nothing.
func (c *connections) HandleRPC(context.Context, stats.RPCStats) {}
