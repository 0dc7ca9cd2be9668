package commands

import (
	"fmt"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
)

const (
	maxCommands = 256                   // greatest number of commands of a work
	fewCommands = 16                    // number of commands that are committed at once if no other work is pending
	maxFlight   = 32                    // pending works of a queue
	look        = 20 * time.Millisecond // time between two checks of a wait for progress
)

// work is a command buffer that events wait for. done is closed when all of its commands are executed and its downloads have arrived.
type work struct {
	queue    *queue
	number   uint64 // the value of the queue's event when the work is done
	commands Commands
	count    int
	staging  []staging
	done     chan struct{}
	err      error   // set once the work is done
	ended    float64 // seconds of the device's clock, once done
}

// staging is a buffer for copies from and to the host. dst is the destination of a download, nil for an upload.
type staging struct {
	buffer Buffer
	size   int64
	dst    []byte
}

// reserve ensures that there is an open work with room for one more command. As for all functions of this file, the caller holds the lock.
func (q *queue) reserve() error {
	if err := q.d.fault.Keep(nil); err != nil {
		return err
	}
	if w := q.open; w != nil && (w.count >= maxCommands || w.count >= fewCommands && len(q.flight) == 0) {
		q.flush()
	}
	for len(q.flight) >= maxFlight { // with more pending works, the hardware may block forever
		w := q.flight[0]
		q.d.mu.Unlock()
		_ = w.wait() // the device keeps its fault
		q.d.mu.Lock()
	}
	if err := q.d.fault.Keep(nil); err != nil {
		return err
	}
	if q.open == nil {
		c, err := q.calls.NewCommands()
		if err != nil {
			return q.d.fault.Keep(err)
		}
		q.number++
		q.open = &work{queue: q, number: q.number, commands: c, done: make(chan struct{})}
	}
	q.open.count++
	return nil
}

// flush commits the open work.
func (q *queue) flush() {
	w := q.open
	if w == nil || q.d.fault.Keep(nil) != nil {
		return
	}
	if len(q.flight) == 0 {
		q.progress = time.Now()
	}
	q.open, q.flight = nil, append(q.flight, w)
	w.commands.Commit(q.event, w.number)
}

// settle ends works in order: the works that are executed or, after a fault, all works.
func (q *queue) settle() {
	d := q.d
	for len(q.flight) > 0 {
		w := q.flight[0]
		over, err := w.commands.Done()
		if err = d.fault.Keep(err); err == nil && !over {
			return
		}
		q.flight, q.progress = q.flight[1:], time.Now()
		q.end(w, err)
	}
	if d.fault.Keep(nil) != nil && q.open != nil {
		w := q.open
		q.open = nil
		q.end(w, d.fault.Keep(nil))
	}
}

// end releases the resources of a work.
func (q *queue) end(w *work, err error) {
	if w.err = err; err == nil {
		w.ended = w.commands.Ended()
	}
	for _, s := range w.staging {
		if err == nil && s.dst != nil {
			copy(s.dst, s.buffer.Contents())
		}
		q.d.spare.Give(s.size, s.buffer)
	}
	w.staging = nil
	w.commands.Release()
	close(w.done)
}

// idle reports whether the queue has no pending work, so that the host may access the memory directly.
func (q *queue) idle() bool {
	q.settle()
	return q.open == nil && len(q.flight) == 0
}

// stage returns a staging buffer of the open work.
func (q *queue) stage(n int64, dst []byte) (Buffer, error) {
	b, size, err := q.d.spare.Take(n, q.d.o.Calls.NewBuffer)
	if err == nil {
		q.open.staging = append(q.open.staging, staging{b, size, dst})
	}
	return b, err
}

// wait returns when a work is done. If no work ends for as long as the driver's patience, the device counts as lost.
func (w *work) wait() error {
	q, d := w.queue, w.queue.d
	d.mu.Lock()
	if q.open == w {
		q.flush()
	}
	d.mu.Unlock()
	for !Finished(w.done) {
		reached := q.event.Wait(w.number, look)
		d.mu.Lock()
		if len(q.flight) > 0 && time.Since(q.progress) > d.o.Patience {
			_ = d.fault.Keep(fmt.Errorf("%w: nothing was done in %v", core.ErrBackendLost, d.o.Patience))
		}
		q.settle()
		d.mu.Unlock()
		if reached {
			runtime.Gosched() // the commands of the work may be done at any moment
		}
	}
	return w.err
}
