package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Backend is the cpu backend. New makes it.
type Backend struct {
	pool   *par.Pool
	memory *mem.Pool
	// crowded says that short programs are to run on one thread.
	crowded bool

	mu      sync.Mutex
	closed  bool
	streams map[*stream]struct{}
}

var _ core.Backend = (*Backend)(nil)

// Info implements core.Backend. There is one device.
func (b *Backend) Info() core.Info {
	return core.Info{Name: Name, Version: Version, Vendor: "burn", Devices: []core.DeviceInfo{{
		Name:   "cpu",
		Kind:   "cpu",
		Memory: b.memory.Limit(),
		Detail: fmt.Sprintf("%s, %d threads, %s", runtime.GOOS, b.pool.Threads(), cpuid.String()),
	}}}
}

var capabilities = sync.OnceValue(func() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{}, MaxRank: shape.MaxRank, Deterministic: true,
		Features: []string{"programs", "memory_stats", "exact_capabilities", "batches"}}
	for code, rule := range rules() {
		row := op.Lookup(code)
		c.Ops[row.Name] = core.OpCapability{Version: row.Version, Types: rule.Types}
	}
	return c
})

// Capabilities implements core.Backend.
func (b *Backend) Capabilities() *core.Capabilities { return capabilities() }

// Supports implements core.Backend.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error { return capabilities().Check(n, in) }

// OpenStream implements core.Backend. The only device is 0.
func (b *Backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	if device != 0 {
		return nil, fmt.Errorf("cpu: device %d, want 0: %w", device, core.ErrNotFound)
	}
	if ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("cpu: backend: %w", core.ErrClosed)
	}
	s := newStream(b)
	b.streams[s] = struct{}{}
	return s, nil
}

// Close implements core.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	open := make([]*stream, 0, len(b.streams))
	for s := range b.streams {
		open = append(open, s)
	}
	b.mu.Unlock()
	for _, s := range open {
		s.Close()
	}
	b.pool.Close()
	b.memory.Trim()
	return nil
}

func (b *Backend) forget(s *stream) {
	b.mu.Lock()
	delete(b.streams, s)
	b.mu.Unlock()
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("cpu: %w: %w", core.ErrCanceled, context.Cause(ctx))
}
