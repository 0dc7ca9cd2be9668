package metal

import (
	"fmt"
	"math/bits"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

const (
	mostCommands = 256 // of a work
	fewCommands  = 16  // with which a queue that has nothing to do is given work
	mostFlight   = 32  // works of a queue that are not done
	leastStaging = 12  // bits of the size of a staging buffer
	look         = 20 * time.Millisecond
)

// work is commands that events wait for. done is closed when all of them are executed and what they fetched has arrived.
type work struct {
	queue    *queue
	number   uint64 // the value of the queue's event when the work is done
	commands calls.Commands
	count    int
	staging  []staging
	done     chan struct{}
	err      error   // once done
	ended    float64 // seconds of the device's clock, once done
}

// staging is a buffer through which bytes of the host come and go. dst is where they go, nil for those that come.
type staging struct {
	buffer calls.Buffer
	size   int64
	dst    []byte
}

func (w *work) finished() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// room makes sure that there is a work that takes one more command. The caller holds the lock, as of all methods here.
func (q *queue) room() error {
	if err := q.d.err; err != nil {
		return err
	}
	if w := q.open; w != nil && (w.count >= mostCommands || w.count >= fewCommands && len(q.flight) == 0) {
		q.flush()
	}
	for len(q.flight) >= mostFlight { // Metal itself would wait without an end
		w := q.flight[0]
		q.d.mu.Unlock()
		_ = w.wait() // the device keeps its fault
		q.d.mu.Lock()
	}
	if err := q.d.err; err != nil {
		return err
	}
	if q.open == nil {
		c, err := q.calls.NewCommands()
		if err != nil {
			return q.d.broken(err)
		}
		q.number++
		q.open = &work{queue: q, number: q.number, commands: c, done: make(chan struct{})}
	}
	q.open.count++
	return nil
}

// flush commits what was put together.
func (q *queue) flush() {
	w := q.open
	if w == nil || q.d.err != nil {
		return
	}
	if len(q.flight) == 0 {
		q.progress = time.Now()
	}
	q.open, q.flight = nil, append(q.flight, w)
	w.commands.Commit(q.event, w.number)
}

// settle ends works in order: those that are executed, and after a fault all.
func (q *queue) settle() {
	d := q.d
	for len(q.flight) > 0 {
		w := q.flight[0]
		over, err := w.commands.Done()
		if err = d.broken(err); err == nil && !over {
			return
		}
		q.flight, q.progress = q.flight[1:], time.Now()
		q.end(w, err)
	}
	if d.err != nil && q.open != nil {
		w := q.open
		q.open = nil
		q.end(w, d.err)
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
		q.d.spare[s.size] = append(q.d.spare[s.size], s.buffer)
	}
	w.staging = nil
	w.commands.Release()
	close(w.done)
}

// idle reports whether the queue has nothing to do, so that the host may use memory itself.
func (q *queue) idle() bool {
	q.settle()
	return q.open == nil && len(q.flight) == 0
}

// stage is a staging buffer of the open work.
func (q *queue) stage(n int64, dst []byte) (calls.Buffer, error) {
	d, size := q.d, int64(1)<<max(bits.Len64(uint64(n-1)), leastStaging)
	var b calls.Buffer
	if free := d.spare[size]; len(free) > 0 {
		b, d.spare[size] = free[len(free)-1], free[:len(free)-1]
	} else {
		var err error
		if b, err = d.calls.NewBuffer(size); err != nil {
			return nil, err
		}
	}
	q.open.staging = append(q.open.staging, staging{b, size, dst})
	return b, nil
}

// wait returns when a work is done. Where nothing ends for as long as the driver's patience, the device is given up.
func (w *work) wait() error {
	q, d := w.queue, w.queue.d
	d.mu.Lock()
	if q.open == w {
		q.flush()
	}
	d.mu.Unlock()
	for !w.finished() {
		reached := q.event.Wait(w.number, look)
		d.mu.Lock()
		if len(q.flight) > 0 && time.Since(q.progress) > d.patience {
			_ = d.broken(fmt.Errorf("%w: nothing was done in %v", core.ErrBackendLost, d.patience))
		}
		q.settle()
		d.mu.Unlock()
		if reached {
			runtime.Gosched() // its commands are done at any moment
		}
	}
	return w.err
}
