package tensor

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// state is the state that all handles on a tensor share.
type state struct {
	home     *queue // the queue that made it
	id       op.TensorID
	made     uint64 // command of home that made it
	last     uint64 // last command of home that used it; guarded by home
	size     int64  // bytes
	lent     bool   // somebody else releases it
	released atomic.Bool

	mu   sync.Mutex // guards uses
	uses []use
}

// use is the last command of a queue that used a tensor of another.
type use struct {
	queue *queue
	n     uint64
}

// claim returns true for the one caller that may release.
func (s *state) claim() bool { return !s.lent && s.released.CompareAndSwap(false, true) }

// use records that command n of q needs the tensor, and reports whether it exists. The caller holds q.
func (s *state) use(q *queue, n uint64) bool {
	if s.home == q {
		s.last = n
		return !s.released.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released.Load() {
		return false
	}
	for i := range s.uses {
		if s.uses[i].queue == q {
			s.uses[i].n = n
			return true
		}
	}
	s.uses = append(s.uses, use{q, n})
	return true
}

// others returns the uses by queues other than home.
func (s *state) others() []use {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

// settle orders q after all uses of a tensor that was claimed.
func (s *state) settle(q *queue) {
	if s.home != q {
		s.home.mu.Lock()
		n := max(s.made, s.last)
		s.home.mu.Unlock()
		q.follow(s.home, n)
	}
	for _, u := range s.others() {
		q.follow(u.queue, u.n)
	}
}

// free releases a tensor that was claimed. It uses a queue that has used the tensor, so that, if possible, no queue waits for one
// that it did not wait for before.
func (s *state) free() {
	q := s.home
	if others := s.others(); len(others) > 0 {
		if last := others[len(others)-1].queue; !last.closed.Load() {
			q = last
		}
	}
	q = q.live()
	s.settle(q)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(s.id)
	if len(q.dead) >= flushAt {
		q.flush()
	}
}

// lost holds the tensors that the garbage collector found. A cleanup must not wait for a queue, so the next caller frees them.
type lost struct {
	some atomic.Bool
	mu   sync.Mutex
	list []*state
}

// collect is called by the garbage collector.
func collect(s *state) {
	if !s.claim() {
		return
	}
	d := s.home.dev
	d.held.Add(-s.size)
	d.lost.mu.Lock()
	defer d.lost.mu.Unlock()
	d.lost.list = append(d.lost.list, s)
	d.lost.some.Store(true)
}

// sweep frees the tensors that the garbage collector found. The caller holds no queue.
func (d *device) sweep() {
	if !d.lost.some.Load() {
		return
	}
	d.lost.mu.Lock()
	list := d.lost.list
	d.lost.list = nil
	d.lost.some.Store(false)
	d.lost.mu.Unlock()
	for _, s := range list {
		s.free()
	}
}

// handle returns the Tensor for a desc that command n of q makes, and registers its release.
func (q *queue) handle(desc op.Desc, n uint64, s *scope) *Tensor {
	st := &state{home: q, id: desc.ID, made: n, size: int64(desc.Bytes())}
	t := &Tensor{queue: q, desc: desc, state: st, scope: s}
	q.dev.hold(st.size)
	t.cleanup = runtime.AddCleanup(t, collect, st)
	if s != nil {
		s.add(t)
	}
	return t
}
