package data

import (
	"context"
	"runtime/debug"
	"sync"
)

// run is the pipeline of one loop: a dispatcher numbers the batches, workers create them, and the consumer receives them in order.
// Each batch has a slot, a channel of one result; the queue of slots limits how far ahead the workers are.
type run[T, B any] struct {
	l      *Loader[T, B]
	ds     Dataset[T] // dataset of this epoch
	order  []int      // order of the items; nil for the order of the dataset
	epoch  int
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan chan result[B]
	jobs   chan job[B]
	left   chan result[B] // slot of the batch that next stopped waiting for, or nil
	wait   sync.WaitGroup
}

type result[B any] struct {
	batch B
	err   error
}

type job[B any] struct {
	batch int
	slot  chan result[B]
}

func (l *Loader[T, B]) start(ctx context.Context, at Position) *run[T, B] {
	r := &run[T, B]{l: l, epoch: at.Epoch, slots: make(chan chan result[B], min(l.o.Prefetch, l.Len())), jobs: make(chan job[B])}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if l.o.Shuffle {
		r.order = Permutation(l.n, l.o.Seed, at.Epoch)
	}
	n := l.Len()
	r.wait.Go(func() { r.dispatch(at.Batch, n) })
	for range min(l.o.Workers, n-at.Batch) {
		r.wait.Go(r.work)
	}
	return r
}

// dispatch sends the batches from first to n-1 to the workers. It also requests the dataset of the epoch, as that may take time.
func (r *run[T, B]) dispatch(first, n int) {
	defer close(r.slots)
	defer close(r.jobs)
	failed := contain(func() error { r.ds = At(r.l.ds, r.epoch); return nil })
	for b := first; b < n; b++ {
		slot := make(chan result[B], 1)
		select {
		case r.slots <- slot:
		case <-r.ctx.Done():
			return
		}
		if failed != nil {
			slot <- result[B]{err: &BatchError{r.epoch, b, failed}}
			return
		}
		select {
		case r.jobs <- job[B]{b, slot}:
		case <-r.ctx.Done():
			slot <- result[B]{err: r.ctx.Err()}
			return
		}
	}
}

func (r *run[T, B]) work() {
	items := make([]T, min(r.l.o.Batch, r.l.n))
	for j := range r.jobs {
		batch, err := r.make(j.batch, items)
		if err != nil && r.ctx.Err() == nil {
			err = &BatchError{r.epoch, j.batch, err}
		}
		clear(items)
		j.slot <- result[B]{batch, err}
	}
}

// make reads the items of batch b into items and passes them to the batcher.
func (r *run[T, B]) make(b int, items []T) (batch B, err error) {
	lo, hi := r.l.bounds(b)
	items = items[:hi-lo]
	for k := range items {
		if err := r.ctx.Err(); err != nil {
			return batch, err
		}
		i := lo + k
		if r.order != nil {
			i = r.order[i]
		}
		err := contain(func() (err error) { items[k], err = r.ds.Get(i); return err })
		if err != nil {
			return batch, &ItemError{i, err}
		}
	}
	err = contain(func() (err error) { batch, err = r.l.batcher(items, r.l.dev); return err })
	return batch, err
}

// contain converts a panic of f to an error.
func contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, string(debug.Stack())}
		}
	}()
	return f()
}

// next waits for the following batch. If the context ends meanwhile, it returns the error of the context.
func (r *run[T, B]) next() result[B] {
	select {
	case slot, more := <-r.slots:
		if !more {
			return result[B]{err: r.ctx.Err()}
		}
		select {
		case res := <-slot:
			return res
		case <-r.ctx.Done():
			r.left = slot
		}
	case <-r.ctx.Done():
	}
	return result[B]{err: r.ctx.Err()}
}

// stop ends the pipeline, waits for its goroutines and releases the prefetched batches.
func (r *run[T, B]) stop() {
	r.cancel()
	r.wait.Wait()
	drop(r.left)
	for slot := range r.slots {
		drop(slot)
	}
}

// drop releases the batch in slot, if there is one. No goroutine may write to slot any more.
func drop[B any](slot chan result[B]) {
	select {
	case res := <-slot:
		if held, ok := any(res.batch).(interface{ Release() }); ok && res.err == nil {
			held.Release()
		}
	default: // a nil slot, or cancelled before a worker took it
	}
}
