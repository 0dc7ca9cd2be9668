package client

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

const (
	// idleBytes bounds the idle shared memory that is kept for reuse, and idleTime the time for which it is kept.
	idleBytes = 512 << 20
	idleTime  = 10 * time.Second
	// maxSegments bounds the segments of a stream: half the limit of the protocol.
	maxSegments = wire.MaxSegments / 2
)

// segment is memory that host and plugin share.
type segment struct {
	number uint64
	data   []byte
	kept   bool        // the plugin keeps the segment
	tensor op.TensorID // the tensor that was sent in the segment; 0: none, or the tensor was freed
	freed  bool        // the tensor was freed
	idle   bool        // unused, and kept for reuse
	since  time.Time   // time at which the segment became idle
}

// segments contains the shared memory of a stream: segments in use, and idle segments for reuse.
type segments struct {
	s *stream

	mu      sync.Mutex // guards the fields below, and the segments
	all     map[uint64]*segment
	free    map[int][]*segment // by size
	idle    int                // bytes of idle segments
	overdue int                // bytes that the plugin keeps for freed tensors
	last    uint64             // greatest number of a segment
	broken  bool               // no more segments are created, because the system refused one
	closed  bool
	timer   *time.Timer
}

// take returns a segment of at least n bytes, or nil if none is available.
func (g *segments) take(n int) *segment {
	size := wire.SegmentCapacity(n)
	g.mu.Lock()
	if l := g.free[size]; len(l) > 0 {
		x := l[len(l)-1]
		g.free[size] = l[:len(l)-1]
		g.idle -= size
		x.idle = false
		g.mu.Unlock()
		return x
	}
	refuse := g.broken || g.closed || len(g.all) >= maxSegments || g.overdue > overdueBytes
	g.mu.Unlock()
	if refuse {
		return nil
	}
	file, data, err := wire.NewSegment(size)
	if err != nil {
		g.mu.Lock()
		g.broken = true
		g.mu.Unlock()
		return nil
	}
	defer file.Close()
	return g.introduce(file, data)
}

// introduce sends a new segment to the plugin.
func (g *segments) introduce(file *os.File, data []byte) *segment {
	s := g.s
	if s.begin() != nil {
		wire.Unmap(data)
		return nil
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		s.mu.Unlock()
		wire.Unmap(data)
		return nil
	}
	g.last++
	x := &segment{number: g.last, data: data}
	if g.all == nil {
		g.all, g.free = map[uint64]*segment{}, map[int][]*segment{}
	}
	g.all[x.number] = x
	g.mu.Unlock()
	s.mu.Unlock()
	// Numbers increase on the wire, because only the caller of take creates segments.
	if err := s.fs.SendFile(wire.SegmentFrame(x.number, len(data)), file); err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.unmap(x)
		return nil
	}
	return x
}

// give keeps an unused segment for reuse.
func (g *segments) give(x *segment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.back(x)
	if g.closed {
		g.unmap(x)
		return
	}
	x.idle, x.since = true, time.Now()
	g.free[len(x.data)] = append(g.free[len(x.data)], x)
	g.idle += len(x.data)
	if g.timer == nil {
		g.timer = time.AfterFunc(idleTime, g.trim)
	}
}

// trim retires segments that have been idle for idleTime.
func (g *segments) trim() {
	g.mu.Lock()
	g.timer = nil
	var old []*segment
	for size, l := range g.free {
		kept := l[:0]
		for _, x := range l {
			if time.Since(x.since) >= idleTime {
				old = append(old, x)
				g.idle -= size
			} else {
				kept = append(kept, x)
			}
		}
		clear(l[len(kept):])
		g.free[size] = kept
	}
	if g.idle > 0 && !g.closed {
		g.timer = time.AfterFunc(idleTime, g.trim)
	}
	g.mu.Unlock()
	for _, x := range old {
		g.retire(x)
	}
}

// limitIdle retires the oldest idle segments while all idle segments together exceed idleBytes.
func (g *segments) limitIdle() {
	for {
		g.mu.Lock()
		if g.idle <= idleBytes {
			g.mu.Unlock()
			return
		}
		var oldest *segment
		for _, l := range g.free {
			if len(l) > 0 && (oldest == nil || l[0].since.Before(oldest.since)) {
				oldest = l[0]
			}
		}
		size := len(oldest.data)
		g.free[size] = g.free[size][1:]
		g.idle -= size
		g.mu.Unlock()
		g.retire(oldest)
	}
}

// retire releases a segment on both sides.
func (g *segments) retire(x *segment) {
	if g.s.begin() == nil {
		g.s.push(wire.RetireFrame(x.number))
		g.s.mu.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unmap(x)
}

// unmap unmaps a segment and removes it. The caller holds mu.
func (g *segments) unmap(x *segment) {
	g.back(x)
	if x.data != nil {
		wire.Unmap(x.data)
		x.data = nil
	}
	delete(g.all, x.number)
}

// keep records that the plugin keeps a segment.
func (g *segments) keep(x *segment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.kept = true
	if x.freed {
		g.overdue += len(x.data)
	}
	if g.closed {
		g.unmap(x)
	}
}

// close unmaps all segments except those that callers are still copying from or to.
func (g *segments) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
	for _, x := range g.all {
		if x.idle || x.kept {
			g.unmap(x)
		}
	}
	g.free, g.idle = nil, 0
}

// released handles the release of a segment that the plugin kept.
func (s *stream) released(number uint64) error {
	if s.shared == nil {
		return fmt.Errorf("release of segment %d: %w", number, core.ErrProtocol)
	}
	g := s.shared
	g.mu.Lock()
	x := g.all[number]
	if x == nil || !x.kept {
		g.mu.Unlock()
		return fmt.Errorf("release of segment %d, which the plugin does not have: %w", number, core.ErrProtocol)
	}
	g.mu.Unlock()
	g.give(x)
	return nil
}
