package shared

import (
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// marked is an asynchronous queue: its Execute only starts the work.
type marked struct {
	*queue

	life   sync.RWMutex // held for reading while a mark is waited for, and for writing by Close
	closed bool

	mu      sync.Mutex
	fetches []fetch // copies that a mark may still wait for
	last    uint64  // number of the last recorded mark
}

// fetch is memory that the library may write to until it reaches a mark with a number above after.
type fetch struct {
	after uint64
	dst   []byte
}

var _ engine.Asynchronous[uintptr] = (*marked)(nil)

// mark is a position in a marked queue.
type mark struct {
	q    *marked
	at   uint64
	once sync.Once
	err  error
}

// Record implements engine.Asynchronous.
func (q *marked) Record() (engine.Mark, error) {
	defer q.reset()
	at := place[uint64](&q.arena, 0)
	if err := q.call(q.device.api.record, q.handle, addressOf(at)); err != nil {
		return nil, err
	}
	q.mu.Lock()
	q.last = *at
	q.mu.Unlock()
	return &mark{q: q, at: *at}, nil
}

// Await implements engine.Asynchronous. If the queue is closed, there is nothing to wait for.
func (q *marked) Await(em engine.Mark) error {
	m, ok := em.(*mark)
	if !ok {
		return fmt.Errorf("mark of another backend: %w", core.ErrAttr)
	}
	m.q.life.RLock()
	defer m.q.life.RUnlock()
	if m.q.closed {
		return nil
	}
	return q.call(q.device.api.await, q.handle, m.q.handle, uintptr(m.at))
}

// Wait implements engine.Mark.
func (m *mark) Wait() error {
	m.once.Do(func() {
		m.q.life.RLock()
		defer m.q.life.RUnlock()
		if m.q.closed {
			m.err = core.ErrClosed
			return
		}
		c := borrow()
		defer c.release()
		m.err = c.call(m.q.device.api.wait, m.q.handle, uintptr(m.at))
		m.q.mu.Lock()
		defer m.q.mu.Unlock()
		m.q.fetches = slices.DeleteFunc(m.q.fetches, func(f fetch) bool { return f.after < m.at })
	})
	return m.err
}

// Enqueue implements engine.Asynchronous.
func (q *marked) Enqueue(d op.Desc, data []byte, done func()) (uintptr, error) {
	defer q.reset()
	loan, withdraw := q.lend(data, done)
	value, err := q.get("value", q.device.api.enqueue, q.handle, q.desc(d), loan)
	if err != nil {
		withdraw()
	}
	return value, err
}

// Fetch implements engine.Asynchronous.
func (q *marked) Fetch(dst []byte, d op.Desc, value uintptr) error {
	defer q.reset()
	q.mu.Lock()
	q.fetches = append(q.fetches, fetch{q.last, dst})
	q.mu.Unlock()
	return q.call(q.device.api.fetch, q.handle, q.desc(d), value, dataOf(dst), uintptr(len(dst)))
}

// Close implements engine.Queue. It waits until no goroutine waits for a mark.
func (q *marked) Close() {
	q.life.Lock()
	defer q.life.Unlock()
	q.closed = true
	q.queue.Close()
	q.fetches = nil
}
