package ref

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Backend runs nodes through Eval as they are submitted. It has one device, every element type, and every op that it is
// asked to claim. It is meant for tests: of hosts, of decorators, and of the suite itself.
type Backend struct {
	eval func(n *op.Node, in []Tensor) ([]Tensor, error)
	caps *core.Capabilities

	mu      sync.Mutex
	closed  bool
	streams map[*stream]bool
}

var _ core.Backend = (*Backend)(nil)

// Option changes what New makes.
type Option func(*Backend)

// Claiming limits the claimed ops to those that f accepts.
func Claiming(f func(op.Code) bool) Option {
	return func(b *Backend) {
		for _, c := range op.All() {
			if !f(c) {
				delete(b.caps.Ops, c.String())
			}
		}
	}
}

// Evaluating replaces Eval, for backends with a planted fault.
func Evaluating(eval func(n *op.Node, in []Tensor) ([]Tensor, error)) Option {
	return func(b *Backend) { b.eval = eval }
}

// New opens the backend. It claims the whole table unless an option says otherwise.
func New(options ...Option) *Backend {
	b := &Backend{eval: Eval, streams: map[*stream]bool{}, caps: &core.Capabilities{
		Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{}, MaxRank: shape.MaxRank, Deterministic: true,
		Features: []string{"programs", "memory_stats"},
	}}
	for _, c := range op.All() {
		if row := op.Lookup(c); Has(c) {
			b.caps.Ops[row.Name] = core.OpCapability{Version: row.Version, Types: claimed(row)}
		}
	}
	for _, o := range options {
		o(b)
	}
	return b
}

// claimed is every type of the first operand, or of the result of an op without operands.
func claimed(row *op.Row) dtype.Set {
	if len(row.Operands) > 0 {
		return row.Operands[0].Types
	}
	return dtype.Any
}

// Info implements core.Backend.
func (b *Backend) Info() core.Info {
	return core.Info{Name: "ref", Version: "1.0.0", Vendor: "burn",
		Devices: []core.DeviceInfo{{Name: "reference", Kind: "cpu", Detail: "slow and obvious"}}}
}

// Capabilities implements core.Backend.
func (b *Backend) Capabilities() *core.Capabilities { return b.caps }

// Supports implements core.Backend.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error { return b.caps.Check(n, in) }

// OpenStream implements core.Backend.
func (b *Backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	if device != 0 {
		return nil, fmt.Errorf("ref: device %d, want 0: %w", device, core.ErrNotFound)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("ref: %w", core.ErrClosed)
	}
	s := &stream{backend: b, tensors: map[op.TensorID]slot{}, programs: map[core.ProgramID]*defined{}}
	b.streams[s] = true
	return s, nil
}

// Close implements core.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	streams := b.streams
	b.closed, b.streams = true, nil
	b.mu.Unlock()
	for s := range streams {
		s.end()
	}
	return nil
}

func canceled(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ref: %w: %w", core.ErrCanceled, context.Cause(ctx))
	}
	return nil
}
