package gpu

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/goburn/burn/core"
)

// pack moves the tensors of queue q from partly unused segments to segments of just the size that they need, and returns the old segments
// to the driver. Otherwise a few long-lived tensors would keep segments of many times their size. Graphs and frames notice that the tensors
// have moved, as they do when other tensors are bound. pack does nothing if it would return fewer than least bytes. It is called by the
// goroutine that executes the commands of q, holding no lock, and waits for q. A segment with a tensor that has another holder, or that
// another queue has used, is not emptied.
func (p *pool) pack(q *queue, least int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var from []sparse
	unused := int64(0)
	for s := range p.segments {
		if n, ok := p.movable(s, &q.tenant); ok && !s.small && n < s.memory.Bytes()-s.memory.Bytes()/nearlyFull {
			from = append(from, sparse{s, n})
			unused += s.memory.Bytes() - n
		}
	}
	if len(from) == 0 || unused-segmentGrain < least {
		return nil
	}
	slices.SortFunc(from, func(a, b sparse) int {
		return cmp.Or(cmp.Compare(a.used-a.segment.memory.Bytes(), b.used-b.segment.memory.Bytes()), cmp.Compare(a.segment.number, b.segment.number))
	})
	for len(from) > 0 {
		n, used := 0, int64(0)
		for ; n < len(from) && (n == 0 || used+from[n].used <= packed); n++ {
			used += from[n].used
		}
		if done, err := p.empty(q, from[:n], roundUp(used, segmentGrain)); !done || err != nil {
			return err
		}
		from = from[n:]
	}
	return nil
}

const (
	// nearlyFull: a segment is not emptied if at most 1/nearlyFull of its bytes are unused.
	nearlyFull = 8
	// packed bounds the bytes of a segment that pack creates, unless it empties a segment that holds more: the old and the new segment
	// exist at the same time for a moment.
	packed = largeSegment
)

// sparse is a segment to be emptied, and the number of bytes of its held blocks.
type sparse struct {
	segment *segment
	used    int64
}

// empty moves the held blocks of segments to a new segment, and frees the old segments. It returns false if there is no memory for the new
// segment.
func (p *pool) empty(q *queue, from []sparse, total int64) (done bool, err error) {
	if p.limit > 0 && p.stats.Reserved+total > p.limit {
		return false, nil
	}
	var m Memory
	if total > 0 {
		if m, err = p.device.Alloc(total); errors.Is(err, core.ErrOutOfMemory) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if err := copyAll(q, from, m); err != nil {
		if m != nil {
			p.device.Free(m)
		}
		return false, err
	}
	p.relocate(from, m, &q.tenant)
	return true, nil
}

const (
	// Memory is returned to the driver if calmRuns runs of programs have not used it and calmTime has passed.
	calmRuns = 32
	calmTime = 500 * time.Millisecond

	worthwhile = 256 << 20 // the least number of bytes that is returned
)

// calm returns memory to the driver that was unused in the last runs of programs. A few steps that ran node by node, for example for a
// batch of another size, may have allocated this memory, for which programs have no use. calm is called before a run of a program, under
// the conditions of pack.
func (p *pool) calm(q *queue) error {
	p.mu.Lock()
	p.runs++
	due := false
	if p.runs >= calmRuns && time.Since(p.began) >= p.calmTime {
		s := &p.stats
		due = s.Reserved-s.recent >= max(s.Reserved/4, worthwhile)
		p.runs, p.began, s.recent = 0, time.Now(), s.InUse+s.Scratch
		if due {
			p.tidied = 0
		}
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

// movable reports whether pack may empty a segment for queue t, and the bytes that are held in it.
func (p *pool) movable(s *segment, t *tenant) (held int64, ok bool) {
	for b := s.first; b != nil; b = b.after {
		switch {
		case b.free && (b.owner == t || b.owner == &p.any):
		case b.free || b.fixed || b.use != forTensor || !b.sole(t):
			return 0, false
		default:
			held += b.size
		}
	}
	return held, true
}

// copyAll copies the held blocks of segments to the beginning of m, and waits until the copies are complete.
func copyAll(q *queue, from []sparse, m Memory) error {
	at := int64(0)
	for _, x := range from {
		for b := x.segment.first; b != nil; b = b.after {
			if b.free {
				continue
			}
			q.seq++
			if err := q.driver.Copy(Ref{m, at}, b.ref(), b.size); err != nil {
				return q.device.fault(err)
			}
			at += b.size
		}
	}
	return q.device.fault(q.driver.Synchronize())
}

// relocate places the held blocks of segments at the beginning of a segment in m, which is nil if there are no blocks, and frees the old
// segments.
func (p *pool) relocate(from []sparse, m Memory, t *tenant) {
	var to *segment
	if m != nil {
		to = p.enter(m, false)
	}
	var blocks []*block
	at := int64(0)
	for _, x := range from {
		for b := x.segment.first; b != nil; {
			next := b.after
			if b.free {
				b.owner.of(x.segment).remove(b)
				p.recycle(b)
			} else {
				b.segment, b.offset = to, at
				at += b.size
				blocks = append(blocks, b)
			}
			b = next
		}
		p.leaveSegment(x.segment)
	}
	if m == nil {
		return
	}
	if at < m.Bytes() {
		rest := p.fresh()
		rest.segment, rest.offset, rest.size, rest.owner = to, at, m.Bytes()-at, t
		blocks = append(blocks, rest)
		t.of(to).put(rest)
	}
	to.first = blocks[0]
	for i, b := range blocks {
		b.before, b.after = nil, nil
		if i > 0 {
			b.before, blocks[i-1].after = blocks[i-1], b
		}
	}
}
