package tensor

import (
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// faults maps tensors to errors. It contains each tensor that does not exist on the device because the command that creates it was refused.
type faults struct {
	n  atomic.Int64
	mu sync.Mutex
	of map[op.TensorID]error
}

// some reports whether f contains a tensor.
func (f *faults) some() bool { return f.n.Load() > 0 }

func (f *faults) set(id op.TensorID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[op.TensorID]error{}
	}
	f.of[id] = err
	f.n.Store(int64(len(f.of)))
}

// get returns the error of id, or nil if id is not in f.
func (f *faults) get(id op.TensorID) error {
	if !f.some() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[id]
}

// forget removes id, and reports whether it was in f.
func (f *faults) forget(id op.TensorID) bool {
	if !f.some() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.of[id]; !ok {
		return false
	}
	delete(f.of, id)
	f.n.Store(int64(len(f.of)))
	return true
}

// first returns the error of the first of ids that is in f, or nil if none is.
func (f *faults) first(ids []op.TensorID) error {
	if !f.some() {
		return nil
	}
	for _, id := range ids {
		if err := f.get(id); err != nil {
			return err
		}
	}
	return nil
}

// fail marks the outputs of n with err and releases the operands that n drops. The caller holds mu.
func (q *queue) fail(n *op.Node, err error) {
	for _, o := range n.Outputs {
		q.dev.faults.set(o.ID, err)
	}
	for k, id := range n.Inputs {
		if k < 64 && n.Drop>>k&1 != 0 {
			q.dead = append(q.dead, id)
		}
	}
}

// sieve removes from the queue the nodes that have an operand that does not exist, and the frees of tensors that do not exist.
// The caller holds mu.
func (q *queue) sieve() {
	good := q.pending[:0]
	for i := range q.pending {
		n := q.pending[i]
		if err := q.dev.faults.first(n.Inputs); err != nil {
			q.fail(&n, err)
			continue
		}
		good = append(good, n)
	}
	clear(q.pending[len(good):])
	q.pending = good
	q.sieveDead()
}

func (q *queue) sieveDead() {
	known := q.dead[:0]
	for _, id := range q.dead {
		if !q.dev.faults.forget(id) {
			known = append(known, id)
		}
	}
	q.dead = known
}

// refuse drops the queued nodes, which the device refused with err, and submits the frees again without them. The caller holds
// mu.
func (q *queue) refuse(err error) {
	q.complain(err)
	for i := range q.pending {
		q.fail(&q.pending[i], err)
	}
	clear(q.pending)
	q.pending = q.pending[:0]
	q.sieveDead()
	if len(q.dead) > 0 {
		_ = q.stream.Submit(nil, q.dead) // if this is refused too, the device is lost and has no tensors
	}
	q.dead = q.dead[:0]
}
