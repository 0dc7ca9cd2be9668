package gpu

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
)

// need finds a block when no free block fits. It tries in this order: blocks of other queues whose work is done; the scratch memory of the
// queue, if its single nodes need much memory; the pieces that tidy joins; a new segment. If memory is short, it then releases cached
// memory, takes free blocks of other queues and orders t's work after the work of these queues, and last waits for all queues and returns
// unused segments to the driver.
func (p *pool) need(t *tenant, size int64) (*block, error) {
	if err := p.collect(false); err != nil {
		return nil, err
	}
	p.adopt(t)
	if b := p.takeAny(t, size); b != nil {
		return b, nil
	}
	if q := t.queue; q != nil && q.lends(size) && q.vacate() {
		if b := p.takeAny(t, size); b != nil {
			return b, nil
		}
	}
	if err := p.tidy(t, size); err != nil {
		return nil, err
	}
	if b := p.takeAny(t, size); b != nil {
		return b, nil
	}
	b, err := p.grow(t, size)
	for _, free := range []func(t *tenant) error{p.spend, p.steal, p.drain} {
		if !errors.Is(err, core.ErrOutOfMemory) {
			return b, err
		}
		if err := free(t); err != nil {
			return nil, err
		}
		if b := p.takeAny(t, size); b != nil {
			return b, nil
		}
		b, err = p.grow(t, size)
	}
	if errors.Is(err, core.ErrOutOfMemory) {
		err = p.exhausted(size, err)
	}
	return b, err
}

func (p *pool) spend(*tenant) error {
	p.reclaim()
	return nil
}

// drain waits for all queues and frees unused segments.
func (p *pool) drain(*tenant) error {
	_, err := p.trim()
	return err
}

// maxTidy bounds how often tidy empties the pool until calm has returned memory: a loop that runs node by node must not do so in every
// round.
const maxTidy = 8

// tidy creates a large block for a single node, or room for such a block, from smaller pieces of unused memory, if these amount to at least
// its size.
func (p *pool) tidy(t *tenant, size int64) error {
	q := t.queue
	if q == nil || !q.single || size < worthwhile {
		return nil
	}
	p.mu.Lock()
	s := &p.stats
	due := p.tidied < maxTidy && s.Reserved-s.InUse-s.Scratch >= size
	if due {
		p.tidied++
	}
	p.mu.Unlock()
	if !due {
		return nil
	}
	if _, err := p.trim(); err != nil {
		return err
	}
	return p.pack(q, largeSegment)
}

// makeRoom returns unused memory to the driver before n bytes are allocated. It does so if n is large, no free block has that size, and at
// least n/4 bytes are unused. Memory that a step allocated while it ran node by node is of no use as the scratch memory of the program that
// the step became. makeRoom waits for all queues, which a queue whose scratch memory grows can afford.
func (p *pool) makeRoom(t *tenant, n int64) error {
	p.mu.Lock()
	unused := p.stats.Reserved - p.stats.InUse - p.stats.Scratch
	enough := n <= largeSegment || unused < n/4 || t.kind(false).find(n) != nil || p.any.kind(false).find(n) != nil
	p.mu.Unlock()
	if enough {
		return nil
	}
	if _, err := p.trim(); err != nil {
		return err
	}
	return p.pack(t.queue, largeSegment)
}

// collect frees blocks that several queues have used, once all of these queues have done their work. If wait is set, it waits for this
// work.
func (p *pool) collect(wait bool) error {
	p.mu.Lock()
	blocks := p.deferred
	p.deferred = nil
	p.mu.Unlock()
	if len(blocks) > 0 {
		users := map[*tenant]bool{}
		for _, b := range blocks {
			users[b.owner] = true
			for _, o := range b.others {
				users[o] = true
			}
		}
		x := batch{blocks: blocks}
		for u := range users {
			if m := u.queue.mark(); m != nil {
				x.marks = append(x.marks, m)
			}
		}
		p.mu.Lock()
		p.waiting = append(p.waiting, x)
		p.mu.Unlock()
	}
	p.mu.Lock()
	waiting := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	var open []batch
	for _, x := range waiting {
		done := true
		for _, m := range x.marks {
			ok, err := m.reached(wait)
			if err != nil {
				return err
			}
			done = done && ok
		}
		if !done {
			open = append(open, x)
			continue
		}
		p.mu.Lock()
		for _, b := range x.blocks {
			p.put(&p.any, b)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.waiting = append(p.waiting, open...)
	p.mu.Unlock()
	return nil
}

// adopt makes the free blocks of other queues available to all, if the work of these queues is done.
func (p *pool) adopt(t *tenant) {
	for _, q := range p.queues() {
		if &q.tenant == t || !p.has(&q.tenant) {
			continue
		}
		q.whenIdle(func() {
			p.mu.Lock()
			p.move(&q.tenant, &p.any)
			p.mu.Unlock()
		})
	}
}

func (p *pool) has(t *tenant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.bins[0].bytes+t.bins[1].bytes > 0
}

// steal moves free blocks of other queues to t, and orders t's later work after the work of these queues.
func (p *pool) steal(t *tenant) error {
	if t.queue == nil {
		return nil
	}
	for _, q := range p.queues() {
		if &q.tenant == t || !p.has(&q.tenant) {
			continue
		}
		m, err := q.markWith(func() {
			p.mu.Lock()
			p.move(&q.tenant, t)
			p.mu.Unlock()
		})
		if err != nil {
			return err
		}
		if err := t.queue.Await(m); err != nil {
			return err
		}
	}
	return nil
}

// grow allocates a segment and returns its first block.
func (p *pool) grow(t *tenant, size int64) (*block, error) {
	sizes := []int64{smallSegment, size}
	if size > smallBlock {
		sizes = []int64{largeSegment, roundUp(size, segmentGrain), size}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, n := range sizes {
		if n < size || p.limit > 0 && p.stats.Reserved+n > p.limit {
			continue
		}
		var m Memory
		if m, err = p.device.Alloc(n); err != nil {
			if errors.Is(err, core.ErrOutOfMemory) {
				continue
			}
			return nil, err
		}
		s := p.enter(m, size <= smallBlock && n == smallSegment)
		b := p.fresh()
		b.segment, b.offset, b.size, b.owner = s, 0, n, t
		s.first = b
		p.cut(t, b, size)
		return b, nil
	}
	if err == nil {
		err = fmt.Errorf("the limit is %s: %w", bytesText(p.limit), core.ErrOutOfMemory)
	}
	return nil, err
}

// enter adds a segment. The caller holds mu.
func (p *pool) enter(m Memory, small bool) *segment {
	p.numbers++
	s := &segment{memory: m, number: p.numbers, small: small}
	p.segments[s] = struct{}{}
	p.stats.DriverAllocs++
	p.stats.Segments++
	p.stats.Reserved += m.Bytes()
	p.stats.Most = max(p.stats.Most, p.stats.Reserved)
	return s
}

// leaveSegment returns a segment to the driver. The caller holds mu.
func (p *pool) leaveSegment(s *segment) {
	delete(p.segments, s)
	p.device.Free(s.memory)
	p.stats.DriverFrees++
	p.stats.Segments--
	p.stats.Reserved -= s.memory.Bytes()
}

// trim waits for all queues and returns unused segments to the driver. It returns their size in bytes.
func (p *pool) trim() (freed int64, err error) {
	for _, q := range p.queues() {
		m, err := q.markWith(func() {
			p.mu.Lock()
			p.move(&q.tenant, &p.any)
			p.mu.Unlock()
		})
		if err == nil {
			_, err = m.reached(true)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := p.collect(true); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.segments {
		if b := s.first; s.whole() && b.owner == &p.any {
			p.any.of(s).remove(b)
			p.leaveSegment(s)
			freed += b.size
		}
	}
	return freed, nil
}

// close frees all segments. Nothing may use them any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.segments {
		p.device.Free(s.memory)
	}
	clear(p.segments)
}
