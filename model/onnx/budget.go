package onnx

import (
	"fmt"
	"math"
	"math/bits"
	"runtime/debug"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/machine"
)

// budget accounts for the host and device memory that a model and its sessions allocate on behalf of a file, against
// Options.MaxHostBytes. Memory is counted before it is allocated. A budget is safe for concurrent use.
type budget struct {
	limit int64

	mu   sync.Mutex
	used int64
}

// take adds n bytes to the count, or returns an error that wraps core.ErrOutOfMemory.
func (b *budget) take(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return fmt.Errorf("%d bytes are needed on the host, %d of %d (Options.MaxHostBytes) are taken: %w", n, b.used, b.limit, core.ErrOutOfMemory)
	}
	b.used += n
	return nil
}

// give subtracts n bytes from the count.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// HostLimit returns the default of Options.MaxHostBytes in bytes: three quarters of the memory that the machine, its container or
// a system limit allows this process, and no more than GOMEMLIMIT.
func HostLimit() int64 {
	total := machine.Memory()
	if total <= 0 {
		total = 8 << 30
	}
	limit := total / 4 * 3
	if soft := debug.SetMemoryLimit(-1); soft > 0 { // the soft limit of the Go runtime, GOMEMLIMIT
		limit = min(limit, soft)
	}
	return limit
}

// nodeBytes is the approximate memory of one node of a traced program.
const nodeBytes = 1 << 10

// volume returns the product of counts, or math.MaxInt64 if the product overflows. Negative counts count as zero.
func volume(counts ...int) int64 {
	n := uint64(1)
	for _, c := range counts {
		hi, lo := bits.Mul64(n, uint64(max(c, 0)))
		if hi != 0 || lo > math.MaxInt64 {
			n = math.MaxInt64
			continue
		}
		n = lo
	}
	return int64(n)
}

// take counts n bytes until the trace ends. To make room, it forgets plans that no run uses.
func (t *tracer) take(n int64) {
	t.charge(n)
	t.held += n
}

func (t *tracer) charge(n int64) {
	for {
		err := t.s.model.budget.take(n)
		if err == nil {
			return
		}
		var gone trash
		t.s.mu.Lock()
		forgot := t.s.forget(t.s.oldest(func(q *plan) bool { return q.users == 0 }), &gone)
		t.s.mu.Unlock()
		gone.empty()
		if !forgot {
			t.throw(err)
		}
	}
}

// takeFor counts n bytes for the content of d: until the session closes if d is shared, else until the trace ends or, if the plan
// keeps d, until the plan is forgotten.
func (t *tracer) takeFor(d *data, n int64) {
	if d.shared {
		t.charge(n)
		t.s.held += n
		return
	}
	t.take(n)
	d.taken += n
}

// scratch counts the working memory of a conversion (elements of size bytes each) until the node is done.
func (t *tracer) scratch(size int, elements ...int) {
	n := volume(int(volume(elements...)), size)
	if len(t.frames) == 0 {
		t.take(n)
		return
	}
	t.charge(n)
	t.frames[len(t.frames)-1].scratch += n
}

// endScratch releases the working memory that the innermost conversion has counted.
func (t *tracer) endScratch() {
	f := t.frames[len(t.frames)-1]
	t.s.model.budget.give(f.scratch)
	f.scratch = 0
}

// share turns d into a constant of the session and moves the memory counted for d from the trace to the session.
func (t *tracer) share(d *data) {
	d.shared = true
	t.held -= d.taken
	t.s.held += d.taken
	d.taken = 0
}

// leaveBudget releases the bytes that were counted for data without references after the trace, and charges the other bytes to the plan.
// The caller holds mu.
func (t *tracer) leaveBudget() {
	stays := t.stays
	for _, d := range t.made {
		if d.kept && !d.shared {
			stays += d.taken
		}
	}
	stays = min(stays, t.held)
	for _, f := range t.frames { // frames of a conversion that failed
		t.held += f.scratch
		f.scratch = 0
	}
	t.now.plan.held += stays
	t.s.model.budget.give(t.held - stays)
	t.held, t.stays = 0, 0
}

// within checks a tensor of these dimensions against the limits. A dimension of 0 counts as 1, because it could otherwise hide other
// dimensions that are too large.
func (t *tracer) within(d dtype.DType, dims ...int) {
	s := shape.Shape(dims).Clone()
	for i := range s {
		if s[i] == 0 {
			s[i] = 1
		}
	}
	if err := s.Check(); err != nil {
		t.throw(err)
	}
	t.fits(op.Desc{DType: d, Shape: s})
}

// reserve checks like within, and counts eight bytes of scratch for each element, before the numbers are computed on the host.
func (t *tracer) reserve(d dtype.DType, dims ...int) {
	t.within(d, dims...)
	t.scratch(8, dims...)
}
