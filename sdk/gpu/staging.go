package gpu

import (
	"math/bits"
	"sync"
)

const (
	maxStaged  = 8 << 20  // bytes of one piece of a copy
	markStaged = 16 << 20 // bytes of uploads after which a queue is marked, so that their staging memory can be reused
	minStaged  = 4 << 10
)

// host is a cache of staging memory for copies to and from a device.
type host struct {
	device Device
	limit  int64

	mu    sync.Mutex // guards the fields below
	free  [32][]*stage
	bytes int64 // bytes of all stages except extra stages
}

// stage is staging memory for one copy.
type stage struct {
	host   *host
	data   []byte // memory of the requested length
	all    []byte
	pinned bool
	extra  bool // beyond the limit, not cached
}

func stageClass(n int) int { return bits.Len(uint(max(n, minStaged) - 1)) }

// get returns a stage of n bytes, nil if the limit is reached.
func (h *host) get(n int) *stage {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := stageClass(n)
	if k := len(h.free[c]) - 1; k >= 0 {
		s := h.free[c][k]
		h.free[c] = h.free[c][:k]
		s.data = s.all[:n]
		return s
	}
	size := int64(1) << c
	if h.bytes+size > h.limit {
		return nil
	}
	h.bytes += size
	s := &stage{host: h}
	if b, err := h.device.HostAlloc(int(size)); err == nil {
		s.all, s.pinned = b, true
	} else {
		s.all = make([]byte, size)
	}
	s.data = s.all[:n]
	return s
}

// extra returns a stage beyond the limit.
func (h *host) extra(n int) *stage {
	b := make([]byte, n)
	return &stage{host: h, data: b, all: b, extra: true}
}

// release returns a stage to the cache.
func (s *stage) release() {
	if s.extra {
		return
	}
	h := s.host
	h.mu.Lock()
	defer h.mu.Unlock()
	c := stageClass(len(s.all))
	h.free[c] = append(h.free[c], s)
}

// close frees all stages, none of which is in use.
func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.free {
		for _, s := range h.free[c] {
			if s.pinned {
				h.device.HostFree(s.all)
			}
		}
		h.free[c] = nil
	}
	h.bytes = 0
}
