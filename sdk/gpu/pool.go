package gpu

import (
	"sync"
	"time"
)

// pool allocates memory of a device. A queue may immediately reuse a block that it released, because its later work runs after its earlier
// work. Another queue may use the block once an event says that the work is done. The driver allocates only segments. Callers hold no
// queue's lock.
type pool struct {
	device Device
	limit  int64 // bytes of all segments; 0: no limit
	// queues returns the open queues.
	queues func() []*queue
	// reclaim releases memory that is only cached, and reports whether it released any.
	reclaim  func() bool
	calmTime time.Duration // the constant calmTime, except in tests

	mu       sync.Mutex // guards the fields below, and blocks
	any      tenant     // tenant whose free blocks every queue may take
	segments map[*segment]struct{}
	deferred []*block // released blocks that several queues have used
	waiting  []batch
	stats    PoolStats
	numbers  int       // number of segments that were allocated
	structs  []*block  // unused block structs
	runs     int       // runs of programs since stats.recent was reset
	began    time.Time // time of that reset
	tidied   int       // times that the pool was emptied for a large block
}

// tenant is a queue as the pool sees it.
type tenant struct {
	queue  *queue // nil: the pool's own tenant
	closed bool
	bins   [2]bins // free blocks that the queue may take: of segments for small blocks, and of other segments
}

func (t *tenant) of(s *segment) *bins { return t.kind(s.small) }

func (t *tenant) kind(small bool) *bins {
	if small {
		return &t.bins[0]
	}
	return &t.bins[1]
}

// batch holds blocks that become free once the marks are reached.
type batch struct {
	marks  []*mark
	blocks []*block
}

const (
	smallBlock   = 1 << 20 // the largest block of a segment for small blocks
	smallSegment = 4 << 20
	largeSegment = 64 << 20
	segmentGrain = 2 << 20
)

func newPool(d Device, limit int64) *pool {
	return &pool{device: d, limit: limit, segments: map[*segment]struct{}{}, queues: func() []*queue { return nil }, reclaim: func() bool { return false }, calmTime: calmTime}
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// alloc returns a block of at least n bytes for the work of a queue, with one holder.
func (p *pool) alloc(t *tenant, n int64, u use) (*block, error) {
	size := max(grain, roundUp(n, grain))
	p.mu.Lock()
	b := p.take(t, size)
	if b == nil {
		p.mu.Unlock()
		var err error
		if b, err = p.need(t, size); err != nil {
			return nil, err
		}
		p.mu.Lock()
	}
	b.asked, b.use = n, u
	p.stats.Requests++
	p.stats.count(b, 1)
	p.mu.Unlock()
	b.holders.Store(1)
	return b, nil
}

// take returns a free block that t may use, or nil if there is no such block. The caller holds mu.
func (p *pool) take(t *tenant, size int64) *block {
	small := size <= smallBlock
	for _, from := range [2]*tenant{t, &p.any} {
		if b := from.kind(small).find(size); b != nil {
			from.kind(small).remove(b)
			p.cut(from, b, size)
			b.owner = t
			return b
		}
	}
	return nil
}

// takeAny is like take, but also looks for small blocks in segments for large blocks.
func (p *pool) takeAny(t *tenant, size int64) *block {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.take(t, size)
	if b == nil && size <= smallBlock {
		if b = t.kind(false).find(size); b != nil {
			t.kind(false).remove(b)
			p.cut(t, b, size)
			b.owner = t
		}
	}
	return b
}

// cut splits off the part of b beyond size as a free block.
func (p *pool) cut(from *tenant, b *block, size int64) {
	if b.size == size {
		return
	}
	rest := p.fresh()
	rest.segment, rest.offset, rest.size, rest.owner = b.segment, b.offset+size, b.size-size, from
	rest.before, rest.after = b, b.after
	if b.after != nil {
		b.after.before = rest
	}
	b.after, b.size = rest, size
	from.of(b.segment).put(rest)
}

func (p *pool) fresh() *block {
	if n := len(p.structs) - 1; n >= 0 {
		b := p.structs[n]
		p.structs = p.structs[:n]
		return b
	}
	return new(block)
}

// release removes a holder. With the last holder, the block becomes free.
func (p *pool) release(b *block) {
	if b.holders.Add(-1) > 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.count(b, -1)
	if b.shared.Load() {
		p.deferred = append(p.deferred, b)
		return
	}
	p.put(b.owner, b)
}

// put makes b free for t, or for all queues if t is closed, and joins b with its free neighbours. The caller holds mu.
func (p *pool) put(t *tenant, b *block) {
	if t.closed {
		t = &p.any
	}
	b.owner, b.others, b.fixed = t, b.others[:0], false
	b.shared.Store(false)
	if a := b.after; a != nil && a.free && a.owner == t {
		t.of(b.segment).remove(a)
		p.join(b, a)
	}
	if a := b.before; a != nil && a.free && a.owner == t {
		t.of(b.segment).remove(a)
		p.join(a, b)
		b = a
	}
	t.of(b.segment).put(b)
}

// join merges b, the neighbour after a, into a.
func (p *pool) join(a, b *block) {
	a.size += b.size
	a.after = b.after
	if b.after != nil {
		b.after.before = a
	}
	p.recycle(b)
}

// recycle keeps an unused block struct.
func (p *pool) recycle(b *block) {
	b.segment, b.owner, b.before, b.after, b.others = nil, nil, nil, nil, nil
	if len(p.structs) < 1024 {
		p.structs = append(p.structs, b)
	}
}

// fix keeps a held block where it is until it is released.
func (p *pool) fix(b *block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.fixed = true
}

// touch records that queue t uses b.
func (p *pool) touch(t *tenant, b *block) {
	if b.owner == t {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range b.others {
		if o == t {
			return
		}
	}
	b.others = append(b.others, t)
	b.shared.Store(true)
}

// move transfers the free blocks of tenant from to tenant to. The caller holds mu.
func (p *pool) move(from, to *tenant) {
	for i := range from.bins {
		for l := from.bins[i].any(); l != nil; l = from.bins[i].any() {
			from.bins[i].remove(l)
			p.put(to, l)
			p.stats.Moved++
		}
	}
}

// leave makes the free blocks of a queue available to all queues. The work of the queue must be done.
func (p *pool) leave(t *tenant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.move(t, &p.any)
	t.closed = true
}

// relabel changes the use of a held block.
func (p *pool) relabel(b *block, u use) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.count(b, -1)
	b.use = u
	p.stats.count(b, 1)
}
