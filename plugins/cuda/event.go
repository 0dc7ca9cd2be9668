package cuda

import (
	"errors"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
)

// polling is how long an event is asked for before the thread sleeps: to be woken takes about as long.
const polling = 50 * time.Microsecond

// event is a place in a stream.
type event struct {
	queue *queue
	e     nv.Event
	timed bool
	last  string // what was started last before it
}

// newEvent takes an event that was given up, or makes one. The context is current.
func (d *device) newEvent(timed bool) (nv.Event, error) {
	k := kindOf(timed)
	d.mu.Lock()
	if n := len(d.events[k]) - 1; n >= 0 {
		e := d.events[k][n]
		d.events[k] = d.events[k][:n]
		d.mu.Unlock()
		return e, nil
	}
	d.mu.Unlock()
	return d.cuda.NewEvent(timed, true)
}

func kindOf(timed bool) int {
	if timed {
		return 1
	}
	return 0
}

// Record implements gpu.Queue.
func (q *queue) Record(timed bool) (gpu.Event, error) {
	d, e := q.device, &event{queue: q, timed: timed, last: q.last}
	err := d.enter()
	if err == nil {
		if e.e, err = d.newEvent(timed); err == nil {
			err = d.cuda.Record(e.e, q.stream)
		}
		leave()
	}
	if err != nil {
		return nil, q.failed("event", err)
	}
	return e, nil
}

// Await implements gpu.Queue.
func (q *queue) Await(x gpu.Event) error {
	e, ok := x.(*event)
	if !ok {
		return named("wait", errors.Join(core.ErrAttr, errors.New("an event of another backend")))
	}
	d := q.device
	err := d.enter()
	if err == nil {
		err = d.cuda.WaitEvent(q.stream, e.e)
		leave()
	}
	if err != nil {
		return q.failed("wait for an event", err)
	}
	return nil
}

// Done implements gpu.Event.
func (e *event) Done() (bool, error) {
	d := e.queue.device
	if err := d.enter(); err != nil {
		return false, e.failed(err)
	}
	done, err := d.cuda.EventDone(e.e)
	leave()
	return done, e.failed(err)
}

// Wait implements gpu.Event.
func (e *event) Wait() error {
	for began := time.Now(); time.Since(began) < polling; runtime.Gosched() {
		if done, err := e.Done(); done || err != nil {
			return err
		}
	}
	d := e.queue.device
	err := d.enter()
	if err == nil {
		err = d.cuda.SynchronizeEvent(e.e)
		leave()
	}
	return e.failed(err)
}

func (e *event) failed(err error) error { return named("event", suspect(e.last, err)) }

// Since implements gpu.Event.
func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	x, ok := earlier.(*event)
	if !ok || !e.timed || !x.timed || x.queue.device != e.queue.device {
		return 0, named("time between events", errors.Join(core.ErrAttr, errors.New("they do not measure, or are of different devices")))
	}
	var ms float32
	err := e.queue.device.do("time between events", func() (err error) {
		ms, err = e.queue.device.cuda.Elapsed(x.e, e.e)
		return err
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Release implements gpu.Event.
func (e *event) Release() {
	d, k := e.queue.device, kindOf(e.timed)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events[k] = append(d.events[k], e.e)
}
