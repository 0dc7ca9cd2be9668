package gpu

import (
	"slices"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// queue executes the work of one stream of the engine: a queue of the driver, and actions to call once it has reached certain places.
type queue struct {
	device *device
	tenant tenant
	buffer buffers // buffers of the executor
	single bool    // the executor runs a single node
	grown  int64   // bytes that single nodes lacked since the scratch memory was allocated

	mu      sync.Mutex // guards the fields below; memory is not allocated under it
	driver  Queue
	closed  bool
	seq     uint64 // number of works started
	last    *mark  // the newest
	open    []*mark
	frames  map[*plan]*frame
	arena   *block // scratch memory, shared by all plans that the queue runs
	running bool   // a plan is being started: the scratch memory stays
	staged  int64  // bytes uploaded since the last mark
	faults  faults
	// graphSteps is the number of steps of all device graphs.
	graphSteps int

	later   sync.Mutex // guards the fields below
	pending []pending
}

// pending is an action to call once the queue has passed a place.
type pending struct {
	seq uint64
	do  func()
}

var (
	_ engine.Queue[*block]        = (*queue)(nil)
	_ engine.Asynchronous[*block] = (*queue)(nil)
	_ engine.Checked              = (*queue)(nil)
)

func newQueue(d *device, driver Queue) *queue {
	q := &queue{device: d, driver: driver, frames: map[*plan]*frame{}}
	q.tenant.queue = q
	return q
}

// after registers do to be called when the queue has done all its present work. do may be called from any goroutine, and must not
// wait. The caller holds mu.
func (q *queue) after(do func()) {
	q.later.Lock()
	q.pending = append(q.pending, pending{q.seq, do})
	q.later.Unlock()
}

// passed runs the actions that waited for a place.
func (q *queue) passed(seq uint64) {
	q.later.Lock()
	defer q.later.Unlock()
	n := 0
	for n < len(q.pending) && q.pending[n].seq <= seq {
		q.pending[n].do()
		n++
	}
	q.pending = slices.Delete(q.pending, 0, n)
}

// record returns a mark of this place. The caller holds mu.
func (q *queue) record() (*mark, error) {
	if err := q.faults.collect(q); err != nil {
		return nil, err
	}
	if q.last != nil && q.last.seq == q.seq {
		return q.last, nil
	}
	e, err := q.driver.Record(false)
	if err != nil {
		return nil, q.device.fault(err)
	}
	q.last = &mark{queue: q, seq: q.seq, event: e}
	q.staged = 0
	if len(q.open) >= 64 {
		q.open = slices.DeleteFunc(q.open, func(m *mark) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.done
		})
	}
	q.open = append(q.open, q.last)
	return q.last, nil
}

// mark returns a mark of this place. It returns nil if the device is lost: then no work is in progress. A closed queue has reached the
// mark.
func (q *queue) mark() *mark {
	m, err := q.markWith(func() {})
	if err != nil {
		return nil
	}
	return m
}

// markWith returns a mark of this place and calls do before any other work is started.
func (q *queue) markWith(do func()) (*mark, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		do()
		return &mark{queue: q, done: true}, nil
	}
	m, err := q.record()
	if err == nil {
		do()
	}
	return m, err
}

// whenIdle calls do if the queue has done all its work. No work is started meanwhile.
func (q *queue) whenIdle(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	m, err := q.record()
	if err != nil {
		return
	}
	if done, err := m.reached(false); done && err == nil {
		do()
	}
}

// Record implements engine.Asynchronous.
func (q *queue) Record() (engine.Mark, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m, err := q.record()
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Await implements engine.Asynchronous.
func (q *queue) Await(em engine.Mark) error {
	m := em.(*mark)
	return m.before(func(e Event) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.seq++
		if err := q.driver.Await(e); err != nil {
			return q.device.fault(err)
		}
		return nil
	})
}

// Enqueue implements engine.Asynchronous. data has been read when it returns.
func (q *queue) Enqueue(d op.Desc, data []byte, done func()) (*block, error) {
	if err := q.device.dead(); err != nil {
		return nil, err
	}
	b, err := q.device.pool.alloc(&q.tenant, int64(len(data)), forTensor)
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(data) && err == nil; at += maxStaged {
		err = q.upload(d, b, at, data[at:min(len(data), at+maxStaged)])
	}
	if err != nil {
		q.device.pool.release(b)
		return nil, err
	}
	done()
	return b, nil
}

// upload copies a piece of the elements of d to b through staging memory.
func (q *queue) upload(d op.Desc, b *block, at int, data []byte) error {
	stage, err := q.stage(len(data))
	if err != nil {
		return err
	}
	if d.DType == dtype.Bool {
		for i, v := range data {
			stage.data[i] = min(v, 1)
		}
	} else {
		copy(stage.data, data)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	r := b.ref()
	r.Offset += int64(at)
	q.seq++
	err = q.driver.Upload(r, stage.data)
	q.after(stage.release)
	if q.staged += int64(len(data)); err == nil && q.staged >= markStaged {
		_, err = q.record()
	}
	if err != nil {
		return q.device.fault(err)
	}
	return nil
}

// stage returns staging memory of n bytes. If no such memory is free, it waits.
func (q *queue) stage(n int) (*stage, error) {
	for {
		if s := q.device.host.get(n); s != nil {
			return s, nil
		}
		q.mu.Lock()
		var oldest *mark
		for _, m := range q.open {
			m.mu.Lock()
			done := m.done
			m.mu.Unlock()
			if !done {
				oldest = m
				break
			}
		}
		if oldest == nil && q.last != nil && q.last.seq == q.seq { // other queues hold the memory
			q.mu.Unlock()
			return q.device.host.extra(n), nil
		}
		var err error
		if oldest == nil {
			oldest, err = q.record()
		}
		q.mu.Unlock()
		if err == nil {
			err = oldest.Wait()
		}
		if err != nil {
			return nil, err
		}
	}
}

// Fetch implements engine.Asynchronous.
func (q *queue) Fetch(dst []byte, _ op.Desc, b *block) error {
	if err := q.device.dead(); err != nil {
		return err
	}
	q.device.pool.touch(&q.tenant, b)
	q.mu.Lock()
	defer q.mu.Unlock()
	for at := 0; at < len(dst); at += maxStaged {
		part := dst[at:min(len(dst), at+maxStaged)]
		r := b.ref()
		r.Offset += int64(at)
		to := part
		s := q.device.host.get(len(part))
		if s != nil {
			to = s.data
		}
		q.seq++
		if err := q.driver.Download(to, r); err != nil {
			return q.device.fault(err)
		}
		if s != nil {
			q.after(func() {
				copy(part, s.data)
				s.release()
			})
		}
	}
	return nil
}

// Close implements engine.Queue.
func (q *queue) Close() {
	q.mu.Lock()
	_ = q.driver.Synchronize() // a fault belongs to the device, and the work that failed has reported it
	open, frames := q.open, q.frames
	q.closed, q.open, q.frames, q.last = true, nil, nil, nil
	arena := q.arena
	q.arena = nil
	q.mu.Unlock()
	for _, m := range open {
		_, _ = m.reached(true)
	}
	for p, f := range frames {
		f.close(q)
		p.forget(q)
	}
	q.passed(^uint64(0))
	if arena != nil {
		q.device.pool.release(arena)
	}
	q.faults.release(q)
	q.device.pool.leave(&q.tenant)
	q.device.closeQueue(q)
}
