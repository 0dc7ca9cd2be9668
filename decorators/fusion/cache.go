package fusion

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/window"
)

// cache contains the plans of a device, and the structures of windows that were seen and have no plan yet.
type cache struct {
	config   *config
	volatile kinds

	mu       sync.Mutex         // guards what follows
	starts   map[uint64][]*plan // by the hash of the first node; the lists are immutable
	names    map[string]*plan
	order    *list.List // plans, the most recently used one first
	places   map[*plan]*list.Element
	made     int // plans so far
	occurred recentMap[uint64]
	kinds    recentMap[*variant] // by the hash without the attributes of sources
	changed  []*variant          // variants that have a structure, the oldest first
	formed   recentMap[int]      // number of programs by ops and types only
	discard  []core.ProgramID    // programs to be undefined

	counts sync.Mutex
	stats  Stats
}

func newCache(c *config, name string) *cache {
	return &cache{config: c, starts: map[uint64][]*plan{}, names: map[string]*plan{}, order: list.New(), places: map[*plan]*list.Element{},
		stats: Stats{Device: name, Unfused: map[string]int64{}}}
}

// recentMap is a bounded map of recently seen keys: entries that are not looked up between two fillings are dropped.
type recentMap[V any] struct{ fresh, old map[uint64]V }

const maxRecent = 1024

func (s *recentMap[V]) get(key uint64) (v V, ok bool) {
	if v, ok = s.fresh[key]; ok {
		return v, ok
	}
	if v, ok = s.old[key]; ok {
		s.put(key, v)
	}
	return v, ok
}

func (s *recentMap[V]) put(key uint64, v V) {
	if s.fresh == nil || len(s.fresh) >= maxRecent {
		s.old, s.fresh = s.fresh, make(map[uint64]V)
	}
	s.fresh[key] = v
}

// kinds is a set of hashes of nodes that are excluded from windows.
type kinds struct {
	set atomic.Pointer[map[uint64]bool]
}

const maxKinds = 256

func (k *kinds) has(kind uint64) bool {
	m := k.set.Load()
	return m != nil && (*m)[kind]
}

func (k *kinds) add(kind uint64) {
	m := map[uint64]bool{kind: true}
	if old := k.set.Load(); old != nil && len(*old) < maxKinds {
		for o := range *old {
			m[o] = true
		}
	}
	k.set.Store(&m)
}

// variant is a structure whose sources have varying attributes.
type variant struct{ first *plan } // to compare with, nil at first

const (
	maxForms   = 8    // greatest number of programs that differ only in attributes
	maxLifted  = 4096 // greatest size in bytes of a source that runs before its program
	maxChanged = 16   // greatest number of structures that are kept for comparison
)

// starting returns the plans whose first node has hash h.
func (c *cache) starting(h uint64) []*plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts[h]
}

// named returns the plan of a program.
func (c *cache) named(name string) *plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[name]
}

// match searches the list like for the plan of a window, by hash and by complete comparison, and returns the plan or nil.
func (c *cache) match(w *window.Window, like []*plan) *plan {
	key := w.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range like {
		if p.hash != key || p.gone || p.broken != "" || p.lifted == nil && p.values != w.Values {
			continue
		}
		if c.config.trust || p.Same(&w.Structure, p.lifted) {
			return p
		}
	}
	if c.config.always && w.Lives() {
		return c.enter(newPlan(w, nil))
	}
	return nil
}

// hit counts a run of a plan.
func (c *cache) hit(p *plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.runs++
	if at := c.places[p]; at != nil {
		c.order.MoveToFront(at)
	}
	c.count(func(s *Stats) { s.Windows++; s.Hits++; s.Fused += int64(len(p.Nodes)) })
}

const (
	mostQuiet = 50 // ticks without a call after which the beginning of a program is passed on
	seldom    = 16 // least ratio of runs to stalls; below it, the host is assumed to pause within the program regularly
)

// waits reports whether a stream keeps holding the beginning of p after quiet ticks without a call. A host that is only slow will submit
// the rest, and the program takes much less time and memory than its single nodes. For a host that pauses within p regularly, the nodes are
// passed on after one tick, and the two parts soon become programs.
func (c *cache) waits(p *plan, quiet int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if quiet < mostQuiet && p.runs >= seldom*p.stalls {
		return true
	}
	p.stalls++
	return false
}

// see counts a window that was passed on unchanged. It returns a plan to be prepared if the window was seen often enough, else nil.
func (c *cache) see(w *window.Window) *plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := w.Key()
	nodes := len(w.Nodes)
	unfused := func(why string) *plan {
		c.count(func(s *Stats) { s.Windows++; s.Misses++; s.reason(why, nodes) })
		return nil
	}
	if nodes < 2 {
		return unfused(errShort.Error())
	}
	if !w.Lives() {
		return unfused(errDead.Error())
	}
	for _, p := range c.starts[w.Prefix[0]] {
		if p.hash == key && (p.lifted != nil || p.values == w.Values) && (c.config.trust || p.Same(&w.Structure, p.lifted)) {
			why := p.broken
			if why == "" {
				why = "its beginning was not held"
			}
			return unfused(why)
		}
	}
	exact := w.Exact()
	if _, seen := c.occurred.get(exact); !seen {
		c.occurred.put(exact, 1)
		if w.Values == 0 {
			return unfused("first occurrence")
		}
		return c.vary(w, key, unfused)
	}
	if !c.form(w) {
		return unfused("attributes have too many values")
	}
	unfused("second occurrence")
	return c.enter(newPlan(w, nil))
}

// form counts the programs that differ only in attributes, and reports whether another one is allowed.
func (c *cache) form(w *window.Window) bool {
	form := w.Form()
	forms, _ := c.formed.get(form)
	if forms >= maxForms {
		return false
	}
	c.formed.put(form, forms+1)
	return true
}

// vary examines a window at its first occurrence. If only the attributes of sources have changed repeatedly, it returns one plan for all
// values of these attributes. Large sources are excluded from windows from then on, because running them before the program would allocate
// memory early.
func (c *cache) vary(w *window.Window, key uint64, unfused func(string) *plan) *plan {
	v, ok := c.kinds.get(key)
	if !ok {
		c.kinds.put(key, &variant{})
		return unfused("first occurrence")
	}
	if v.first == nil {
		v.first = newPlan(w, nil)
		if c.changed = append(c.changed, v); len(c.changed) > maxChanged {
			c.changed[0].first = nil
			c.changed = c.changed[1:]
		}
		return unfused("attributes changed")
	}
	lifted := w.Changed(&v.first.Structure)
	if lifted == nil {
		return unfused("attributes changed")
	}
	large, left := false, len(w.Nodes)
	for i := range w.Nodes {
		if !lifted[i] {
			continue
		}
		left--
		if outputBytes(&w.Nodes[i]) > maxLifted {
			kind, _ := window.Hash(&w.Nodes[i], &c.config.hash)
			c.volatile.add(kind)
			large = true
		}
	}
	v.first = nil
	switch {
	case left < 2:
		return unfused(errShort.Error())
	case large:
		return unfused("split at a source whose attributes change")
	case !c.form(w):
		return unfused("attributes have too many values")
	}
	unfused("attributes changed")
	return c.enter(newPlan(w, lifted))
}

func outputBytes(n *op.Node) int {
	size := 0
	for _, d := range n.Outputs {
		size += d.Bytes()
	}
	return size
}

// enter adds a plan, and evicts the least recently used ones. The caller holds mu.
func (c *cache) enter(p *plan) *plan {
	c.made++
	p.name = p.label(c.made)
	start := p.prefix[0]
	c.starts[start] = append(c.starts[start][:len(c.starts[start]):len(c.starts[start])], p)
	c.names[p.name] = p
	c.places[p] = c.order.PushFront(p)
	c.count(func(s *Stats) { s.Programs++; s.Bytes += p.bytes })
	for c.order.Len() > 1 && (c.order.Len() > c.config.programs || c.bytes() > c.config.bytes) {
		c.evict(c.order.Back().Value.(*plan))
	}
	return p
}

func (c *cache) bytes() int64 {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.stats.Bytes
}

func (c *cache) evict(p *plan) {
	start := p.prefix[0]
	var rest []*plan
	for _, o := range c.starts[start] {
		if o != p {
			rest = append(rest, o)
		}
	}
	if c.starts[start] = rest; rest == nil {
		delete(c.starts, start)
	}
	c.order.Remove(c.places[p])
	delete(c.places, p)
	delete(c.names, p.name)
	p.gone = true
	if p.ready {
		c.discard = append(c.discard, p.id)
	}
	c.count(func(s *Stats) { s.Evictions++; s.Programs--; s.Bytes -= p.bytes })
}

// refuse prevents a plan from running again.
func (c *cache) refuse(p *plan, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.broken == "" && !p.gone {
		p.broken = why
		c.count(func(s *Stats) { s.Refused++ })
		if p.ready {
			p.ready = false
			c.discard = append(c.discard, p.id)
		}
	}
}

// settle records the result of preparing a plan.
func (c *cache) settle(p *plan, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		p.broken = err.Error()
		c.count(func(s *Stats) { s.Refused++ })
	case p.gone:
		c.discard = append(c.discard, p.id)
	default:
		p.ready = true
		c.count(func(s *Stats) { s.Compiled++ })
	}
}

// isMade reports whether the preparation of a plan has ended, and whether the plan may be run.
func (c *cache) isMade(p *plan) (made, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.ready || p.gone || p.broken != "", p.ready && !p.gone
}

// discarded returns the programs to be undefined, once.
func (c *cache) discarded() []core.ProgramID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.discard
	c.discard = nil
	return ids
}
