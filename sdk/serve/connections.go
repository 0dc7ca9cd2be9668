package serve

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"
)

// connections tracks the connections to the server and calls back when the last connection is gone.
type connections struct {
	mu    sync.Mutex
	open  int
	empty func() // called when the last open connection ends
	some  func() // called when a connection begins while no other is open
}

var _ stats.Handler = (*connections)(nil)

// connection holds the devices and streams that one host has opened. It ends with the gRPC connection of that host.
type connection struct {
	mu      sync.Mutex
	devices map[uint64]*device
	streams map[uint64]*session
	ended   bool
}

type connectionKey struct{}

// connectionOf returns the connection of a call.
func connectionOf(ctx context.Context) *connection { return ctx.Value(connectionKey{}).(*connection) }

// device returns the device of the host with the given handle, or nil.
func (c *connection) device(handle uint64) *device {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.devices[handle]
}

// stream returns the stream with the given number, or nil if it has ended.
func (c *connection) stream(number uint64) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[number]
}

// end closes all devices of the host.
func (c *connection) end() {
	c.mu.Lock()
	c.ended = true
	var open []*device
	for _, d := range c.devices {
		open = append(open, d)
	}
	c.mu.Unlock()
	for _, d := range open {
		_ = d.close()
	}
}

func (c *connections) watch(some, empty func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.some, c.empty = some, empty
}

// TagConn returns a context that contains a new connection.
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{devices: map[uint64]*device{}, streams: map[uint64]*session{}})
}

// HandleConn counts the open connections, and closes the devices of a connection that ends.
func (c *connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		c.open++
		if c.open == 1 && c.some != nil {
			c.some()
		}
	case *stats.ConnEnd:
		go connectionOf(ctx).end()
		c.open--
		if c.open == 0 && c.empty != nil {
			c.empty()
		}
	}
}

// TagRPC adds nothing.
func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC counts nothing.
func (c *connections) HandleRPC(context.Context, stats.RPCStats) {}
