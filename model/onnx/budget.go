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

// budget counts the memory that a model and its sessions take for what a file asks for: Options.MaxHostBytes. Memory is
// counted before it is allocated. The zero limit means that of Options. It is safe for concurrent use.
type budget struct {
	limit int64

	mu   sync.Mutex
	used int64
}

// take counts n more bytes, or reports an error that wraps core.ErrOutOfMemory.
func (b *budget) take(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return fmt.Errorf("%d bytes are needed on the host, %d of %d (Options.MaxHostBytes) are taken: %w", n, b.used, b.limit, core.ErrOutOfMemory)
	}
	b.used += n
	return nil
}

// give ends the use of n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// HostLimit is the default of Options.MaxHostBytes: three quarters of the memory in bytes that this process may have, by the machine, its
// container or a limit of the system, and no more than GOMEMLIMIT.
func HostLimit() int64 {
	total := machine.Memory()
	if total <= 0 {
		total = 8 << 30
	}
	limit := total / 4 * 3
	if soft := debug.SetMemoryLimit(-1); soft > 0 { // of the Go runtime, GOMEMLIMIT
		limit = min(limit, soft)
	}
	return limit
}

// nodeBytes is about what a node of a traced program takes.
const nodeBytes = 1 << 10

// volume is the product of counts, or the greatest integer where that is more. Negative counts are zero.
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

// take counts n bytes for as long as the trace goes on. To make room for them, plans that no run uses are forgotten.
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

// takeFor counts n bytes of the content of d: for as long as the session lasts where d is shared, else while the trace goes
// on or the plan has d.
func (t *tracer) takeFor(d *data, n int64) {
	if d.shared {
		t.charge(n)
		t.s.held += n
		return
	}
	t.take(n)
	d.taken += n
}

// scratch counts memory that a conversion works with, until the node is done: elements of size bytes each.
func (t *tracer) scratch(size int, elements ...int) {
	n := volume(int(volume(elements...)), size)
	if len(t.frames) == 0 {
		t.take(n)
		return
	}
	t.charge(n)
	t.frames[len(t.frames)-1].scratch += n
}

// endScratch ends the use of what the innermost conversion worked with.
func (t *tracer) endScratch() {
	f := t.frames[len(t.frames)-1]
	t.s.model.budget.give(f.scratch)
	f.scratch = 0
}

// share makes d a constant of the session, with the memory that is counted for it.
func (t *tracer) share(d *data) {
	d.shared = true
	t.held -= d.taken
	t.s.held += d.taken
	d.taken = 0
}

// leaveBudget ends the use of what nothing refers to after the trace, and leaves the rest to the plan. It is called with
// mu held.
func (t *tracer) leaveBudget() {
	stays := t.stays
	for _, d := range t.made {
		if d.kept && !d.shared {
			stays += d.taken
		}
	}
	stays = min(stays, t.held)
	for _, f := range t.frames { // of a conversion that failed
		t.held += f.scratch
		f.scratch = 0
	}
	t.now.plan.held += stays
	t.s.model.budget.give(t.held - stays)
	t.held, t.stays = 0, 0
}

// within checks that a tensor of these dimensions is within the limits. Dimensions of 0 do not make up for others.
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

// room is within for numbers that are made on the host, eight bytes each, before they are.
func (t *tracer) room(d dtype.DType, dims ...int) {
	t.within(d, dims...)
	t.scratch(8, dims...)
}
