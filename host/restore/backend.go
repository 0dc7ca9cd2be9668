// Package restore keeps a backend in a plugin process usable over the death of that process: it restarts it, puts back what
// was on its streams, and repeats the calls that were lost.
//
// Each stream keeps a journal: a copy of everything that was written (memory that was lent by Adopt is its own copy), the
// programs that are defined, and the commands that made the tensors that are live. After a loss, the next call that waits
// restarts the process, writes, defines and computes all of it anew, and goes on. One-way calls in between are
// only noted. So the user of a stream sees nothing but the delay. What cannot be made again, because the journal is
// bounded, is core.ErrStale from then on. A call that loses the process each time it is tried gives core.ErrBackendLost in the end.
package restore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Options say how a backend is started and how often. The zero values but that of Open are the usual.
type Options struct {
	// Open starts the backend for the first time and after each loss. Tensor ids on its streams are of generation 0
	// however often that was; the number tells the starts apart, from 0.
	Open func(ctx context.Context, generation uint16) (core.Backend, error)
	// Attempts is how often one call is tried and how many starts may fail in a row; 0: 5.
	Attempts int
	// Backoff is the pause before the second start in a row, twice as long before each further one, up to 2 seconds; 0: 20 ms.
	Backoff time.Duration
	// Journal bounds the computing commands that a stream keeps; 0: 65536. The oldest are forgotten, and their tensors are lost
	// with the process.
	Journal int
	// Logger is told of losses; nil: nobody is.
	Logger hclog.Logger
}

const maxBackoff = 2 * time.Second

// Backend is a core.Backend over one that may be lost.
type Backend struct {
	o        Options
	info     core.Info
	caps     *core.Capabilities
	exact    bool
	restarts atomic.Int64

	turn chan struct{} // holds one token; its owner may restart

	mu         sync.Mutex
	inner      core.Backend
	generation uint16
	row        int // starts since a call has succeeded
	closed     bool
}

var _ core.Backend = (*Backend)(nil)

// Open starts the backend.
func Open(ctx context.Context, o Options) (*Backend, error) {
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Backoff == 0 {
		o.Backoff = 20 * time.Millisecond
	}
	if o.Journal == 0 {
		o.Journal = 1 << 16
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	inner, err := o.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	b := &Backend{o: o, inner: inner, info: inner.Info(), caps: inner.Capabilities(), turn: make(chan struct{}, 1)}
	b.exact = slices.Contains(b.caps.Features, "exact_capabilities")
	b.turn <- struct{}{}
	return b, nil
}

// Info describes the backend as it was when it was opened first.
func (b *Backend) Info() core.Info { return b.info }

// Capabilities are those that it had when it was opened first.
func (b *Backend) Capabilities() *core.Capabilities { return b.caps }

// Restarts is how often the backend was started again.
func (b *Backend) Restarts() int64 { return b.restarts.Load() }

// Inner is the backend that runs now, which may be lost at any time.
func (b *Backend) Inner() core.Backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inner
}

// Supports asks the backend, and restarts it if need be.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error {
	if b.exact {
		return b.caps.Check(n, in)
	}
	return b.try(context.Background(), func(inner core.Backend) error { return inner.Supports(n, in) })
}

// try calls the backend that runs, and anew after each loss.
func (b *Backend) try(ctx context.Context, call func(core.Backend) error) error {
	for i := 1; ; i++ {
		inner := b.Inner()
		err := call(inner)
		if !b.isLost(err) || i >= b.o.Attempts {
			return err
		}
		if _, err := b.renew(ctx, inner, err); err != nil {
			return err
		}
	}
}

// OpenStream starts a stream that outlives the process.
func (b *Backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	s := &stream{b: b, device: device}
	s.journal.begin(b.o.Journal)
	err := b.try(ctx, func(inner core.Backend) error {
		x, err := inner.OpenStream(ctx, device)
		if err == nil {
			s.use(inner, x)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.withOptions(), nil
}

// isLost reports whether err says that the process is gone: by itself, or closed by another stream that noticed before.
func (b *Backend) isLost(err error) bool {
	if errors.Is(err, core.ErrBackendLost) {
		return true
	}
	if !errors.Is(err, core.ErrClosed) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed
}

// succeeded notes that the process does its work.
func (b *Backend) succeeded() {
	b.mu.Lock()
	b.row = 0
	b.mu.Unlock()
}

// renew gives the backend that follows lost: one that somebody else has started, or a new one.
func (b *Backend) renew(ctx context.Context, lost core.Backend, why error) (core.Backend, error) {
	select {
	case <-b.turn:
	case <-ctx.Done():
		return nil, canceled(ctx)
	}
	defer func() { b.turn <- struct{}{} }()
	for {
		b.mu.Lock()
		inner, row, closed := b.inner, b.row, b.closed
		b.mu.Unlock()
		switch {
		case closed:
			return nil, fmt.Errorf("restore: %w", core.ErrClosed)
		case inner != lost:
			return inner, nil
		case row >= b.o.Attempts || b.generation == math.MaxUint16:
			return nil, fmt.Errorf("restore: %w: given up after %d starts: %w", core.ErrBackendLost, row, why)
		}
		b.o.Logger.Warn("backend lost, it is started again", "error", why, "start", row+1)
		_ = lost.Close()
		if row > 0 {
			pause := min(b.o.Backoff<<min(row-1, 20), maxBackoff)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil, canceled(ctx)
			}
		}
		next, err := b.o.Open(ctx, b.generation+1)
		b.mu.Lock()
		b.row++
		b.generation++
		if err == nil && b.closed {
			b.mu.Unlock()
			_ = next.Close()
			return nil, fmt.Errorf("restore: %w", core.ErrClosed)
		}
		if err == nil {
			b.inner = next
			b.restarts.Add(1)
		}
		b.mu.Unlock()
		switch {
		case err == nil:
			return next, nil
		case ctx.Err() != nil:
			return nil, canceled(ctx)
		}
		why = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
	}
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("restore: %w: %w", core.ErrCanceled, context.Cause(ctx))
}

// Close ends all streams and the process.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	inner := b.inner
	b.mu.Unlock()
	return inner.Close()
}
