package client

import (
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// overdueBytes bounds the shared memory of a stream that the plugin keeps for freed tensors. A plugin keeps some of this memory for a
// while, because pending work or other tensors use it. Beyond the bound, tensors are copied.
const overdueBytes = 512 << 20

// loans maps tensors to the segments of a device's streams in which they were sent. It belongs to the device because a tensor can be freed
// on any stream.
type loans struct {
	open atomic.Int64 // number of entries of by
	mu   sync.Mutex
	by   map[op.TensorID]loan
}

type loan struct {
	g *segments
	x *segment
}

func (l *loans) put(id op.TensorID, lent loan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[op.TensorID]loan{}
	}
	l.by[id] = lent
	l.open.Store(int64(len(l.by)))
}

// take removes the segment of a tensor and returns it.
func (l *loans) take(id op.TensorID) (loan, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lent, ok := l.by[id]
	delete(l.by, id)
	l.open.Store(int64(len(l.by)))
	return lent, ok
}

// freed records that tensors are freed: segments that the plugin keeps for them are overdue.
func (l *loans) freed(ids []op.TensorID) {
	if l.open.Load() == 0 {
		return
	}
	for _, id := range ids {
		if lent, ok := l.take(id); ok {
			lent.g.freed(lent.x, id)
		}
	}
}

// lend records that the tensor is sent in x.
func (g *segments) lend(x *segment, id op.TensorID) {
	g.mu.Lock()
	x.tensor = id
	g.mu.Unlock()
	g.s.d.loans.put(id, loan{g, x})
}

// freed records that the tensor that was sent in x is freed.
func (g *segments) freed(x *segment, id op.TensorID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.tensor != id {
		return
	}
	x.tensor, x.freed = 0, true
	if x.kept {
		g.overdue += len(x.data)
	}
}

// back clears the records of x. The caller holds mu.
func (g *segments) back(x *segment) {
	if x.kept && x.freed {
		g.overdue -= len(x.data)
	}
	if x.tensor != 0 {
		g.s.d.loans.take(x.tensor)
	}
	x.tensor, x.kept, x.freed = 0, false, false
}
