package host

import (
	"context"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/restore"
)

// openLasting opens a plugin. With Options.Restore, the backend survives the loss of its process.
func (p *Plugin) openLasting(ctx context.Context, transport string, o Options) (core.Backend, error) {
	if !o.Restore || transport != Process {
		return p.open(ctx, transport, o)
	}
	b, err := restore.Open(ctx, restore.Options{Logger: o.Logger, Attempts: o.Attempts, Backoff: o.Backoff, Open: func(ctx context.Context, generation uint16) (core.Backend, error) {
		o := o
		o.generation = generation
		return p.open(ctx, transport, o)
	}})
	if err != nil {
		return nil, err
	}
	return b, nil
}
