package emulated

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// queue executes its work in order, at once or on a goroutine. The first fault ends it: later work is not done, and later events
// report the fault.
type queue struct {
	device *device
	mu     sync.Mutex
	todo   []func() error
	more   sync.Cond
	closed bool
	wanted bool // a caller waits for the work
	err    error
}

func (d *device) OpenQueue() (gpu.Queue, error) {
	q := &queue{device: d}
	q.more.L = &q.mu
	if d.o.Background {
		go q.work()
	}
	return q, nil
}

func (q *queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.todo) == 0 || q.device.o.Lazy && !q.wanted && !q.closed {
			if q.closed {
				return
			}
			q.more.Wait()
		}
		f := q.todo[0]
		q.todo = q.todo[1:]
		q.mu.Unlock()
		err := f()
		q.mu.Lock()
		q.wanted = q.wanted && len(q.todo) > 0
		q.broken(err)
	}
}

// want makes a lazy queue execute the work that was started so far.
func (q *queue) want() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wanted = len(q.todo) > 0
	q.more.Signal()
}

// broken stores a fault if no earlier fault is stored.
func (q *queue) broken(err error) {
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
	}
}

// do runs f in order. After a fault it only returns the fault.
func (q *queue) do(f func() error) error {
	return q.always(func() error {
		if q.fault() != nil {
			return nil
		}
		return f()
	})
}

func (q *queue) fault() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// always runs f in order, even after a fault.
func (q *queue) always(f func() error) error {
	if q.device.o.Background {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.closed {
			return errors.New("emulated: the queue is closed")
		}
		q.todo = append(q.todo, f)
		q.more.Signal()
		return q.err
	}
	err := f()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.broken(err)
	return q.err
}

func (q *queue) Launch(l *gpu.Launch) error {
	d := q.device
	f, ok := l.Function.(function)
	if !ok {
		return fmt.Errorf("emulated: launch of %T", l.Function)
	}
	params := f.k.Arguments()
	if len(l.Args) != len(params) {
		return fmt.Errorf("emulated: kernel %s: %d arguments, want %d", f.k.Name, len(l.Args), len(params))
	}
	if d.o.Dry {
		return q.dry(l)
	}
	x := ir.Launch{Kernel: f.k, Grid: l.Grid, Args: make([]ir.Arg, len(l.Args)), Starts: l.Starts}
	slots := map[*memory]int{}
	var data [][]byte
	var bytes []int64
	for i, a := range l.Args {
		if !params[i].IsBuffer() {
			x.Args[i] = ir.Arg{Bits: a.Bits}
			continue
		}
		if _, err := d.at(a.Ref, 0); err != nil {
			return fmt.Errorf("kernel %s: %s: %w", f.k.Name, params[i].Name, err)
		}
		m := a.Ref.Memory.(*memory)
		slot, ok := slots[m]
		if !ok {
			all, err := d.at(gpu.Ref{Memory: m}, m.bytes)
			if err != nil {
				return err
			}
			slot = len(data)
			slots[m] = slot
			data, bytes = append(data, all), append(bytes, m.bytes)
		}
		x.Args[i] = ir.Arg{Slot: slot, Offset: a.Ref.Offset}
	}
	if err := ir.Check(x, bytes, limits(d.o.Target, d.o)); err != nil {
		return err
	}
	if err := apart(d.o.Target, x, params); err != nil {
		return err
	}
	if d.o.Launched != nil {
		if err := d.o.Launched(x); err != nil {
			return err
		}
	}
	x.Kernel = f.run
	return q.do(func() error {
		o := interp.Options{Order: d.o.Order, Seed: d.o.Seed, Workers: d.o.Workers, Races: d.o.Races, Subgroup: d.o.Target.Subgroup, Flush: d.o.Flush}
		if d.o.Run != nil {
			return d.o.Run(x, data, o)
		}
		return interp.Run(x, data, o)
	})
}

// apart returns an error if a launch passes the same memory for two parameters and the kernel writes through one of them, but the hardware
// does not allow this. The ends of buffers are not known, so only buffers that begin at the same address are found.
func apart(t template.Target, l ir.Launch, params []ir.Param) error {
	if !t.Apart {
		return nil
	}
	for i, p := range params {
		for k, q := range params {
			if i != k && p.IsBuffer() && q.IsBuffer() && q.Access != ir.Read && l.Args[i] == l.Args[k] {
				return fmt.Errorf("emulated: kernel %s: %s and %s are the same memory", l.Kernel.Name, p.Name, q.Name)
			}
		}
	}
	return nil
}

func (q *queue) Copy(dst, src gpu.Ref, bytes int64) error {
	to, err := q.device.at(dst, bytes)
	from, err2 := q.device.at(src, bytes)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if dst.Memory == src.Memory && dst.Offset < src.Offset+bytes && src.Offset < dst.Offset+bytes {
		return fmt.Errorf("emulated: a copy of %d bytes from %d to %d of the same memory", bytes, src.Offset, dst.Offset)
	}
	return q.do(func() error { copy(to, from); return nil })
}

func (q *queue) Fill(dst gpu.Ref, bytes int64, pattern uint32, width int) error {
	to, err := q.device.at(dst, bytes)
	if err != nil {
		return err
	}
	if width != 1 && width != 2 && width != 4 || bytes%int64(width) != 0 || dst.Offset%int64(width) != 0 {
		return fmt.Errorf("emulated: fill of %d bytes with %d", bytes, width)
	}
	return q.do(func() error {
		for i := range to { // empty on a dry device
			to[i] = byte(pattern >> (8 * (i % width)))
		}
		return nil
	})
}

func (q *queue) Upload(dst gpu.Ref, src []byte) error {
	to, err := q.device.at(dst, int64(len(src)))
	if err != nil {
		return err
	}
	return q.do(func() error { copy(to, src); return nil })
}

func (q *queue) Download(dst []byte, src gpu.Ref) error {
	from, err := q.device.at(src, int64(len(dst)))
	if err != nil {
		return err
	}
	return q.do(func() error {
		clear(dst[copy(dst, from):])
		return nil
	})
}

// event is reached when done is closed.
type event struct {
	q     *queue
	done  chan struct{}
	timed bool

	mu       sync.Mutex
	at       time.Time
	err      error
	released bool
}

func (q *queue) Record(timed bool) (gpu.Event, error) {
	e := &event{q: q, done: make(chan struct{}), timed: timed}
	_ = q.always(func() error { // the event reports a fault
		err := q.fault()
		e.mu.Lock()
		e.at, e.err = time.Now(), err
		e.mu.Unlock()
		close(e.done)
		return nil
	})
	return e, nil
}

func (q *queue) Await(x gpu.Event) error {
	e, ok := x.(*event)
	if !ok || e.gone() {
		return errors.New("emulated: an event that was released, or is of another backend")
	}
	return q.always(func() error {
		e.q.want()
		<-e.done
		return nil
	})
}

func (q *queue) Synchronize() error {
	e, err := q.Record(false)
	if err != nil {
		return err
	}
	defer e.Release()
	return e.Wait()
}

func (q *queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.more.Signal()
	q.mu.Unlock()
}

func (e *event) gone() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.released
}

var errReleased = errors.New("emulated: the event was released")

func (e *event) Done() (bool, error) {
	if e.gone() {
		return false, errReleased
	}
	select {
	case <-e.done:
		return true, e.err
	default:
		e.q.want()
		return false, nil
	}
}

func (e *event) Wait() error {
	if e.gone() {
		return errReleased
	}
	e.q.want()
	<-e.done
	return e.err
}

func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	x, ok := earlier.(*event)
	if !ok || !e.timed || !x.timed || x.q != e.q {
		return 0, errors.New("emulated: events that do not measure, or of different queues")
	}
	for _, v := range []*event{e, x} {
		if done, err := v.Done(); !done || err != nil {
			return 0, errors.Join(err, errors.New("emulated: an event that was not reached"))
		}
	}
	return e.at.Sub(x.at), nil
}

func (e *event) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released {
		panic("emulated: the event was released before")
	}
	e.released = true
}
