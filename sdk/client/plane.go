package client

import (
	"context"
	"slices"
	"time"

	"github.com/goburn/burn/sdk/wire"
)

// features returns the features that this host offers.
func (o *Options) features() []string {
	fs := []string{}
	if o.DataPlane == "off" {
		return fs
	}
	fs = append(fs, wire.FeatureSocket)
	if wire.HasSegments() && o.DataPlane != "socket" {
		fs = append(fs, wire.FeatureMemfd)
	}
	return fs
}

// dialWait bounds the connection to a socket on the same machine.
const dialWait = 2 * time.Second

// carrier connects to the plugin's socket if both sides support that. It returns nil if streams run over gRPC.
func carrier(w *wire.Welcome, p *process, o *Options) (c *wire.Carrier, memfd bool) {
	offered := o.features()
	both := func(f string) bool { return slices.Contains(offered, f) && slices.Contains(w.Features, f) }
	if !both(wire.FeatureSocket) || w.Socket == "" || len(w.Token) != wire.TokenSize {
		return nil, false
	}
	if err := ownSocket(p.dir, w.Socket); err != nil {
		p.logger.Warn("the socket that the plugin names is not used", "error", err)
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialWait)
	defer cancel()
	c, err := wire.Dial(ctx, w.Socket, w.Token)
	if err != nil {
		return nil, false
	}
	return c, both(wire.FeatureMemfd)
}

// transport opens the transport of a stream.
func (b *Backend) transport(ctx context.Context) (*wire.FrameStream, error) {
	if b.carrier != nil {
		if fs, err := b.carrier.Open(ctx); err == nil {
			return fs, nil
		}
	}
	return b.caller.Stream(ctx)
}
