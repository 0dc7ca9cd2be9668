package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/goburn/burn/tensor"
)

// Loader yields the batches of a dataset, epoch after epoch. The batches and their order depend on dataset, Batch, Shuffle, Seed,
// DropLast and epoch, but not on workers or prefetch.
//
// Only one loop may run at a time; other methods may be called concurrently.
type Loader[T, B any] struct {
	ds      Dataset[T]
	batcher Batcher[T, B]
	dev     *tensor.Device
	o       Options
	n       int // items of an epoch, over all shards
	shard   int // this loader yields the batches shard, shard+shards, ... of an epoch
	shards  int

	mu      sync.Mutex
	at      Position
	running bool
}

// ErrBusy is returned by Seek and MakeOn while a loop over the Loader runs. A second loop that starts meanwhile ends with this error.
var ErrBusy = errors.New("data: the loader is in use by another loop")

// NewLoader returns a loader of ds. batcher creates its batches on dev; dev is only passed to batcher, and may be nil if batcher
// does not use it.
func NewLoader[T, B any](ds Dataset[T], batcher Batcher[T, B], dev *tensor.Device, o Options) (*Loader[T, B], error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	if ds == nil || batcher == nil {
		return nil, fmt.Errorf("data: loader without dataset or batcher, want both")
	}
	n := ds.Len()
	o.Batch = min(o.Batch, n+1) // a larger number would not change the batches, only use memory
	return &Loader[T, B]{ds: ds, batcher: batcher, dev: dev, o: o, n: n, shards: 1}, nil
}

// Device returns the device on which batches are created.
func (l *Loader[T, B]) Device() *tensor.Device {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dev
}

// MakeOn sets dev as the device on which the batches of later loops are created. dev should be another stream of the loader's device, so
// that batches are copied while the device computes. MakeOn returns ErrBusy while a loop runs.
func (l *Loader[T, B]) MakeOn(dev *tensor.Device) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return ErrBusy
	}
	l.dev = dev
	return nil
}

// Shards returns one loader for each of n devices. Together they yield every batch of the epoch once: loader i creates the batches
// i, i+n, i+2n, ... of l on device i. With DropLast all loaders have the same number of batches, as synchronous training requires; without
// DropLast, the first loaders may have one batch more. The loaders start at epoch 0 and are independent of l. It is an error if l is itself
// a shard or if there is no device.
func (l *Loader[T, B]) Shards(devs ...*tensor.Device) ([]*Loader[T, B], error) {
	if l.shards != 1 {
		return nil, fmt.Errorf("data: the loader is shard %d of %d already, want a whole loader", l.shard, l.shards)
	}
	if len(devs) == 0 {
		return nil, errors.New("data: no device given, want one for each shard")
	}
	out := make([]*Loader[T, B], len(devs))
	for i, dev := range devs {
		out[i] = &Loader[T, B]{ds: l.ds, batcher: l.batcher, dev: dev, o: l.o, n: l.n, shard: i, shards: len(devs)}
	}
	return out, nil
}

// Len returns the number of batches of an epoch, in the loader's own shard.
func (l *Loader[T, B]) Len() int {
	if l.o.DropLast {
		return l.n / l.o.Batch / l.shards
	}
	all := (l.n + l.o.Batch - 1) / l.o.Batch
	return (all - l.shard + l.shards - 1) / l.shards
}

// bounds returns the range of items in the epoch's order that batch b consists of.
func (l *Loader[T, B]) bounds(b int) (lo, hi int) {
	lo = (b*l.shards + l.shard) * l.o.Batch
	return lo, min(lo+l.o.Batch, l.n)
}

// Position returns the position at which the next loop begins. Inside a loop, the current batch counts as done: a position saved
// after a training step resumes with the next batch.
func (l *Loader[T, B]) Position() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// Seek sets the position at which the next loop begins. From a position at the end of an epoch, one loop yields no batches. While a
// loop runs it returns ErrBusy; a position beyond the end of an epoch is an error.
func (l *Loader[T, B]) Seek(p Position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return ErrBusy
	}
	if n := l.Len(); p.Epoch < 0 || p.Batch < 0 || p.Batch > n {
		return fmt.Errorf("data: position at epoch %d, batch %d, want epoch 0 or more and batch 0 to %d; was it saved with another dataset or batch size?", p.Epoch, p.Batch, n)
	}
	l.at = p
	return nil
}

// Progress returns the progress within the epoch of Position.
func (l *Loader[T, B]) Progress() Progress {
	l.mu.Lock()
	b := l.at.Batch
	l.mu.Unlock()
	n := l.Len()
	return Progress{l.items(b), l.items(n)}
}

// items returns the number of items in the first b batches.
func (l *Loader[T, B]) items(b int) int {
	if b == 0 {
		return 0
	}
	lo, hi := l.bounds(b - 1)
	return (b-1)*l.o.Batch + hi - lo
}

// Batches returns an iterator over the batches of the epoch from Position on. After the last batch the position is the start of the
// next epoch, so that one loop over Batches is one epoch. An error ends the loop: its last element is a *BatchError, the error of
// ctx, or ErrBusy. The position then stays at the batch that failed. After a loop that was left by break, the next loop continues with the following
// batch.
//
// When the loop has ended, in any way, no call of Get or of the batcher is running.
func (l *Loader[T, B]) Batches(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var none B
		start, err := l.begin()
		if err != nil {
			yield(none, err)
			return
		}
		r := l.start(ctx, start)
		done, rest := 0, l.Len()-start.Batch
		defer func() {
			r.stop()
			l.end(start, done == rest)
		}()
		for done < rest {
			res := r.next()
			if res.err != nil {
				yield(none, res.err)
				return
			}
			done++
			l.moved(Position{start.Epoch, start.Batch + done})
			if !yield(res.batch, nil) {
				return
			}
		}
	}
}

func (l *Loader[T, B]) begin() (Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return Position{}, ErrBusy
	}
	l.running = true
	return l.at, nil
}

func (l *Loader[T, B]) moved(p Position) {
	l.mu.Lock()
	l.at = p
	l.mu.Unlock()
}

func (l *Loader[T, B]) end(start Position, whole bool) {
	l.mu.Lock()
	l.running = false
	if whole {
		l.at = Position{start.Epoch + 1, 0}
	}
	l.mu.Unlock()
}
