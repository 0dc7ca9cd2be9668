package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// PoolStats counts the memory that the pool of a device holds, and its operations.
type PoolStats struct {
	InUse    int64 // bytes that tensors and constants hold
	Peak     int64 // the peak of InUse
	Scratch  int64 // bytes that queues keep for temporaries
	Reserved int64 // bytes that are allocated from the driver
	Most     int64 // the peak of Reserved
	Segments int   // allocations of the driver
	// Requests is the number of blocks that were allocated, DriverAllocs and DriverFrees are the numbers of calls of the driver, and Moved
	// is the number of free blocks that were moved from one queue to other queues.
	Requests, DriverAllocs, DriverFrees, Moved int64

	held   [uses]held
	recent int64 // the peak of InUse and Scratch together in the last runs of programs
}

// held is the memory held for one use.
type held struct {
	blocks int
	bytes  int64
}

func (s *PoolStats) count(b *block, sign int64) {
	h := &s.held[b.use]
	h.blocks += int(sign)
	h.bytes += sign * b.size
	if b.use == forScratch {
		s.Scratch += sign * b.size
	} else {
		s.InUse += sign * b.size
		s.Peak = max(s.Peak, s.InUse)
	}
	s.recent = max(s.recent, s.InUse+s.Scratch)
}

// statistics returns the pool's counters at this moment.
func (p *pool) statistics() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// maxSizes is the greatest number of sizes of blocks that a report lists for each use.
const maxSizes = 4

// exhausted adds to err a report of the uses that hold the memory, and the remedies.
func (p *pool) exhausted(size int64, err error) error {
	free, total := p.device.MemoryInfo()
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s wanted; the device has %s, %s of it free", bytesText(size), bytesText(total), bytesText(free))
	if p.limit > 0 {
		fmt.Fprintf(&b, "; the limit is %s", bytesText(p.limit))
	}
	fmt.Fprintf(&b, "; %s are reserved:", bytesText(p.stats.Reserved))
	sizes, unused, largest := p.survey()
	for u, h := range p.stats.held {
		if h.blocks > 0 {
			fmt.Fprintf(&b, " %s in %d blocks of %v (%s),", bytesText(h.bytes), h.blocks, use(u), largestSizes(sizes[u]))
		}
	}
	fmt.Fprintf(&b, " %s unused in pieces of at most %s. Free tensors, take a smaller batch or a smaller type", bytesText(unused), bytesText(largest))
	if p.limit > 0 && free > size {
		b.WriteString(", or raise the limit")
	}
	return fmt.Errorf("%s: %w", b.String(), err)
}

// survey counts the held blocks by use and size, and the free memory. The caller holds mu.
func (p *pool) survey() (sizes [uses]map[int64]int, unused, largest int64) {
	for s := range p.segments {
		for b := s.first; b != nil; b = b.after {
			if b.free {
				unused += b.size
				largest = max(largest, b.size)
			} else if b.holders.Load() > 0 {
				if sizes[b.use] == nil {
					sizes[b.use] = map[int64]int{}
				}
				sizes[b.use][b.size]++
			}
		}
	}
	return sizes, unused, largest
}

// largestSizes lists the sizes that take the most memory.
func largestSizes(sizes map[int64]int) string {
	type line struct {
		size int64
		n    int
	}
	var lines []line
	for s, n := range sizes {
		lines = append(lines, line{s, n})
	}
	slices.SortFunc(lines, func(a, b line) int {
		if x, y := a.size*int64(a.n), b.size*int64(b.n); x != y {
			return int(min(max(y-x, -1), 1))
		}
		return int(min(max(b.size-a.size, -1), 1))
	})
	var texts []string
	for _, l := range lines[:min(len(lines), maxSizes)] {
		texts = append(texts, fmt.Sprintf("%d × %s", l.n, bytesText(l.size)))
	}
	if len(lines) > maxSizes {
		texts = append(texts, "...")
	}
	return strings.Join(texts, ", ")
}

// bytesText returns a number of bytes as text for people.
func bytesText(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(size), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
