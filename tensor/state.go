package tensor

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// state is the state that all handles on a tensor share.
type state struct {
	home     *queue // the queue that created the tensor
	id       op.TensorID
	made     uint64 // command of home that created the tensor
	last     uint64 // last command of home that used the tensor; guarded by home.mu
	size     int64  // bytes
	lent     bool   // set if another owner releases the tensor
	released atomic.Bool

	mu   sync.Mutex // guards uses
	uses []use
}

// use is the last command of a queue that used a tensor of another queue.
type use struct {
	queue *queue
	n     uint64
}

// claim returns true to one caller only, which must release the tensor.
func (s *state) claim() bool { return !s.lent && s.released.CompareAndSwap(false, true) }

// use records that command n of q uses the tensor, and reports whether the tensor exists. The caller holds q.mu.
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

// others returns the uses by the queues other than home.
func (s *state) others() []use {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

// settle orders q after all uses of a claimed tensor.
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

// free releases a claimed tensor. It queues the release on a queue that has used the tensor, so that, if possible, no queue has
// to wait for another that it has not waited for before.
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

// lost holds the tensors whose handles the garbage collector found unreachable. A cleanup must not wait for a queue; therefore
// the next call of sweep frees them.
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

// sweep frees the tensors whose handles the garbage collector found unreachable. The caller holds no queue.
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

// handle returns the Tensor in scope s for the tensor desc that command n of q creates, and registers its release.
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
