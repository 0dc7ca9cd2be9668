package streams

import (
	"errors"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

// polling is the time for which an event is polled before the thread sleeps: waking up takes about as long.
const polling = 50 * time.Microsecond

// event is a place in a stream.
type event struct {
	queue *Queue
	e     Event
	timed bool
	last  string // the last work that was started before the event
}

// newEvent returns an event that was released, or else a new event. The context is current.
func (d *GPU) newEvent(timed bool) (Event, error) {
	k := kindOf(timed)
	d.mu.Lock()
	if n := len(d.events[k]) - 1; n >= 0 {
		e := d.events[k][n]
		d.events[k] = d.events[k][:n]
		d.mu.Unlock()
		return e, nil
	}
	d.mu.Unlock()
	return d.calls.NewEvent(timed, true)
}

func kindOf(timed bool) int {
	if timed {
		return 1
	}
	return 0
}

// Record implements gpu.Queue.
func (q *Queue) Record(timed bool) (gpu.Event, error) {
	d, e := q.device, &event{queue: q, timed: timed, last: q.last}
	err := d.Enter()
	if err == nil {
		if e.e, err = d.newEvent(timed); err == nil {
			err = d.calls.Record(e.e, q.stream)
		}
		Leave()
	}
	if err != nil {
		return nil, q.failed("event", err)
	}
	return e, nil
}

// Await implements gpu.Queue.
func (q *Queue) Await(x gpu.Event) error {
	e, ok := x.(*event)
	if !ok {
		return Named(q.device.name, "wait", errors.Join(core.ErrAttr, errors.New("an event of another backend")))
	}
	d := q.device
	err := d.Enter()
	if err == nil {
		err = d.calls.WaitEvent(q.stream, e.e)
		Leave()
	}
	if err != nil {
		return q.failed("wait for an event", err)
	}
	return nil
}

// Done implements gpu.Event.
func (e *event) Done() (bool, error) {
	d := e.queue.device
	if err := d.Enter(); err != nil {
		return false, e.failed(err)
	}
	done, err := d.calls.EventDone(e.e)
	Leave()
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
	err := d.Enter()
	if err == nil {
		err = d.calls.SynchronizeEvent(e.e)
		Leave()
	}
	return e.failed(err)
}

func (e *event) failed(err error) error {
	return Named(e.queue.device.name, "event", suspect(e.last, err))
}

// Since implements gpu.Event.
func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	x, ok := earlier.(*event)
	if !ok || !e.timed || !x.timed || x.queue.device != e.queue.device {
		return 0, Named(e.queue.device.name, "time between events", errors.Join(core.ErrAttr, errors.New("they do not measure, or are of different devices")))
	}
	var ms float32
	err := e.queue.device.Do("time between events", func() (err error) {
		ms, err = e.queue.device.calls.Elapsed(x.e, e.e)
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
