// Package restore keeps a backend usable when its plugin process dies: it restarts the process, restores the state of its devices, and
// repeats the lost calls. It stands between package host and the client of the plugin. It must not change results.
//
// A journal contains a copy of all data that was written (memory that was lent by core.HostMemory is not copied), the programs that are
// defined, and the commands that computed the live tensors, in an order that respects events. After a loss, the next call that waits
// restarts the process once for all devices and streams, replays the journal, and continues; calls that arrive meanwhile wait for the
// restart. Open tickets are requested again, and open events count as reached. The user therefore notices only the delay.
//
// After a loss, some tensors cannot be recomputed: those whose commands the bounded journal has dropped, results of core.Collectives, and
// copies from closed devices. Uses of them fail with core.ErrStale. A command that ends the process each time it is repeated is skipped:
// its results fail with core.ErrBackendLost, and the rest continues.
package restore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/lost"
)

// Options configure how, and how often, a backend is started. Except for Open, zero values are the defaults.
type Options struct {
	// Open starts the backend for the first time and after each loss. Tensor ids on its devices always have generation 0; the parameter is
	// the number of the start, from 0.
	Open func(ctx context.Context, generation uint16) (core.Backend, error)
	// Attempts is the greatest number of consecutive starts without a successful call; 0: 5. Restarting ends earlier if two consecutive
	// starts fail in the same way, unless the error has a method Transient that returns true. The first start is repeated only after such
	// an error.
	Attempts int
	// Backoff is the pause before the second consecutive start, doubled before each further start, up to 2 seconds; 0: 20 ms.
	Backoff time.Duration
	// Journal bounds the number of computing commands that are kept; 0: 65536. Beyond it, the oldest are removed, and their tensors are
	// lost with the process.
	Journal int
	// Logger logs losses; nil: they are not logged.
	Logger hclog.Logger
}

// Backend is a core.Backend over another backend that may be lost.
type Backend struct {
	o        Options
	info     core.Info
	ids      *core.IDs // ids of all devices, so that an id means one tensor in the journal
	restarts atomic.Int64
	turn     chan struct{} // holds one token; its owner may restart
	done     chan struct{} // closed by Close

	// world is held for reading while a command is sent to the process and recorded, and for writing while everything is moved to
	// another process. It guards the inner values of devices, streams and programs.
	world sync.RWMutex

	mu      sync.Mutex // guards the fields below, and fields of devices and streams that say so
	inner   core.Backend
	epoch   int   // number of starts before the start of inner
	lost    error // why inner is lost; nil while inner works
	row     int   // number of starts since the last successful call
	final   error // error of a start that is not repeated
	closed  bool
	devices []*device
	journal journal
	giving  int        // number of goroutines that return lent memory
	given   *sync.Cond // signals that giving is 0
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
	inner, err := first(ctx, o)
	if err != nil {
		return nil, err
	}
	b := &Backend{o: o, inner: inner, info: inner.Info(), ids: core.NewIDs(0), turn: make(chan struct{}, 1), done: make(chan struct{}),
		journal: newJournal(o.Journal)}
	b.given = sync.NewCond(&b.mu)
	b.turn <- struct{}{}
	return b, nil
}

// first starts the backend for the first time.
func first(ctx context.Context, o Options) (core.Backend, error) {
	for n := 1; ; n++ {
		inner, err := o.Open(ctx, 0)
		if err == nil || n >= o.Attempts || ctx.Err() != nil || !lost.Transient(err) {
			return inner, err
		}
		o.Logger.Warn("the start of the backend failed, it is started again", "error", err, "start", n+1)
		select {
		case <-time.After(o.pause(n)):
		case <-ctx.Done():
			return nil, canceled(ctx)
		}
	}
}

// pause returns the pause after consecutive start number n, from 1.
func (o *Options) pause(n int) time.Duration {
	return min(o.Backoff<<min(n-1, 20), maxBackoff)
}

// Info describes the backend as it was when it was opened first.
func (b *Backend) Info() core.Info { return b.info }

// Restarts returns the number of restarts of the backend.
func (b *Backend) Restarts() int64 { return b.restarts.Load() }

// Inner returns the backend that currently runs, which may be lost at any time.
func (b *Backend) Inner() core.Backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inner
}

// Open implements core.Backend. The device outlives the process.
func (b *Backend) Open(ctx context.Context, index int) (core.Device, error) {
	d := &device{b: b, index: index, streams: map[*stream]struct{}{}, programs: map[core.ProgramID]*definition{}}
	err := b.again(ctx, func() string { return fmt.Sprintf("opening device %d", index) }, func() (core.Ticket, error) {
		inner, err := b.Inner().Open(ctx, index)
		if err != nil {
			return nil, err
		}
		d.use(inner)
		d.caps, d.had = inner.Capabilities(), d.ext
		b.mu.Lock()
		defer b.mu.Unlock()
		b.devices = append(b.devices, d)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// repeats is the number of processes that may be lost at the same command before the command fails.
const repeats = 2

// again makes a call that waits, and repeats it after each loss. ask runs while world is held for reading, so that no process is replaced
// meanwhile. again then waits for the ticket that ask returns, without holding world.
func (b *Backend) again(ctx context.Context, what func() string, ask func() (core.Ticket, error)) error {
	for losses := 0; ; {
		b.world.RLock()
		epoch, down, err := b.state()
		if err == nil && down {
			b.world.RUnlock()
			if err := b.recover(ctx); err != nil {
				return err
			}
			continue
		}
		var t core.Ticket
		if err == nil {
			t, err = ask()
		}
		b.world.RUnlock()
		if err == nil && t != nil {
			err = t.Wait(ctx)
		}
		if !b.isLost(epoch, err) {
			if err == nil {
				b.mu.Lock()
				b.row = 0
				b.mu.Unlock()
			}
			return err
		}
		b.lose(epoch, err)
		if losses++; losses > repeats {
			return fmt.Errorf("restore: %s lost the process %d times: %w", what(), losses, err)
		}
	}
}

// state returns the epoch of the current process and whether the process is known to be lost, or an error if the backend is closed.
func (b *Backend) state() (epoch int, down bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		err = closedError("backend")
	}
	return b.epoch, b.lost != nil, err
}

// isLost reports whether err says that the process of an epoch is lost, or was closed because its loss was noticed earlier.
func (b *Backend) isLost(epoch int, err error) bool {
	var node *core.NodeError
	switch {
	case err == nil || errors.As(err, &node):
		return false
	case errors.Is(err, core.ErrBackendLost):
		return true
	case !errors.Is(err, core.ErrClosed):
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && (b.lost != nil || b.epoch != epoch)
}

// lose records that the process of an epoch is lost.
func (b *Backend) lose(epoch int, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == epoch && b.lost == nil {
		b.lost = why
	}
}

// closedBy returns err, the result of closing something on the process of an epoch, or nil if the process is lost, which leaves nothing to
// close.
func (b *Backend) closedBy(epoch int, err error) error {
	if !b.isLost(epoch, err) {
		return err
	}
	b.lose(epoch, err)
	return nil
}

// note changes the journal.
func (b *Backend) note(change func(j *journal)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.journal)
	b.journal.pruneIfLarge()
	b.giveBack()
}

// giveBack calls the release functions of lent memory that is no longer needed, in another goroutine, because the caller may hold locks.
// The caller holds mu.
func (b *Backend) giveBack() {
	over := b.journal.over
	if len(over) == 0 {
		return
	}
	b.journal.over = nil
	b.giving++
	go func() {
		for _, l := range over {
			l.drop()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.giving--
		b.given.Broadcast()
	}()
}

// forget removes commands from the journal for good, and waits until the lent memory that they held is returned.
func (b *Backend) forget(useless func(*entry) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.journal.clear(useless)
	b.giveBack()
	for b.giving > 0 {
		b.given.Wait()
	}
}

func canceled(ctx context.Context) error {
	return fmt.Errorf("restore: %w: %w", core.ErrCanceled, context.Cause(ctx))
}

func closedError(what string) error { return fmt.Errorf("restore: %s: %w", what, core.ErrClosed) }

// Close ends all devices and the process.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	close(b.done)
	inner, lost := b.inner, b.lost
	b.mu.Unlock()
	err := inner.Close()
	b.world.Lock() // wait until calls in progress are recorded
	b.world.Unlock()
	b.forget(func(*entry) bool { return true })
	if lost != nil {
		return nil // there is nothing left to close
	}
	return err
}
