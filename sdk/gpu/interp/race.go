package interp

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// races detects two accesses of different threads to one element that no barrier orders, unless both are reads or both are atomics.
type races struct {
	m          *machine
	block      int32 // number of the block, from 1
	epoch      int32 // number of barriers that the block has passed
	sub        []int32
	shared     []*cells
	buffers    []*cells // cells by parameter
	slots      map[int]*cells
	collective int32
}

// event is an access. Thread numbers from Kernel.Threads on mean all threads of a subgroup that execute an instruction
// together.
type event struct{ block, thread, group, epoch, sub int32 }

// cell holds accesses to some bytes: the last write, and a subset of the reads and atomics with which later accesses may race. An access
// that conflicts with any of the reads and atomics also conflicts with an access in the subset.
type cell struct {
	write         event
	reads, atomic [2]event
}

type cells struct {
	r    *races
	name string
	list []cell
	// An element consists of per cells. The first element begins skip cells after the beginning.
	per, skip int
}

func newRaces(m *machine) *races {
	r := &races{m: m, sub: make([]int32, (m.n+m.sub-1)/m.sub), slots: map[int]*cells{}}
	for _, s := range m.k.Shared {
		r.shared = append(r.shared, &cells{r, s.Name, make([]cell, s.Len), 1, 0})
	}
	grain := map[int]int{}
	for i, p := range m.k.Params {
		slot := m.l.Args[i].Slot
		if size := p.Type.Size(); p.IsBuffer() && (grain[slot] == 0 || size < grain[slot]) {
			grain[slot] = size
		}
	}
	for i, p := range m.k.Params {
		r.buffers = append(r.buffers, nil)
		if !p.IsBuffer() {
			continue
		}
		a := m.l.Args[i]
		g := grain[a.Slot]
		if r.slots[a.Slot] == nil {
			r.slots[a.Slot] = &cells{list: make([]cell, len(m.slots[a.Slot])/g)}
		}
		r.buffers[i] = &cells{r, p.Name, r.slots[a.Slot].list, p.Type.Size() / g, int(a.Offset) / g}
	}
	return r
}

func (r *races) ofShared(i int32) *cells {
	if r == nil {
		return nil
	}
	return r.shared[i]
}

func (r *races) ofBuffer(i int32) *cells {
	if r == nil {
		return nil
	}
	return r.buffers[i]
}

func (r *races) begin(block int) {
	r.block, r.epoch = int32(block)+1, 0
	clear(r.sub)
	for _, s := range r.shared {
		clear(s.list)
	}
}

func (r *races) barrier() { r.epoch++ }

func (r *races) subgroupBarrier(a *active) {
	for i := 0; i < len(a.lanes); i += r.m.sub {
		r.sub[int(a.lanes[i])/r.m.sub]++
	}
}

// of returns an access by a thread at this moment.
func (r *races) of(thread int32) event {
	group := thread / int32(r.m.sub)
	return event{r.block, thread, group, r.epoch, r.sub[group]}
}

// together returns one event for an access by all threads of a subgroup. It is not ordered with the accesses of single threads of the
// subgroup.
func (r *races) together(group int32) event {
	r.collective++
	return event{r.block, int32(r.m.n) + r.collective, group, r.epoch, r.sub[group]}
}

// before reports whether e is ordered before now.
func (e event) before(now event) bool {
	if e.block == 0 {
		return true
	}
	return e.block == now.block && (e.thread == now.thread || e.epoch != now.epoch || e.group == now.group && e.sub != now.sub)
}

// add adds now to a set of events. Among three unordered events it keeps two of different blocks, or else of different subgroups. Any
// access that conflicts with the third also conflicts with one of these.
func add(set *[2]event, now event) {
	switch a, b := &set[0], &set[1]; {
	case a.before(now):
		*a = now
		if b.before(now) {
			*b = event{}
		}
	case b.before(now):
		*b = now
	case a.block == b.block && (a.block != now.block || a.group == b.group && a.group != now.group):
		*b = now
	}
}

func (c *cells) read(in *ir.Inst, now event, at int) {
	list := c.of(at)
	for k := range list {
		cell := &list[k]
		c.conflict(in, at, now, &cell.write, "written")
		c.conflict(in, at, now, &cell.atomic[0], "changed atomically")
		c.conflict(in, at, now, &cell.atomic[1], "changed atomically")
		add(&cell.reads, now)
	}
}

func (c *cells) write(in *ir.Inst, now event, at int) {
	list := c.of(at)
	for k := range list {
		cell := &list[k]
		c.conflict(in, at, now, &cell.write, "written")
		for i := range cell.reads {
			c.conflict(in, at, now, &cell.reads[i], "read")
			c.conflict(in, at, now, &cell.atomic[i], "changed atomically")
		}
		cell.write = now
	}
}

func (c *cells) change(in *ir.Inst, now event, at int) {
	list := c.of(at)
	for k := range list {
		cell := &list[k]
		c.conflict(in, at, now, &cell.write, "written")
		c.conflict(in, at, now, &cell.reads[0], "read")
		c.conflict(in, at, now, &cell.reads[1], "read")
		add(&cell.atomic, now)
	}
}

// of returns the cells of an element.
func (c *cells) of(at int) []cell { return c.list[c.skip+at*c.per:][:c.per] }

func (c *cells) conflict(in *ir.Inst, at int, now event, other *event, what string) {
	if other.block != 0 && !other.before(now) {
		m := c.r.m
		m.fail(in, m.thread(now), "race: element %d of %s was %s by %s, with no barrier between", at, c.name, what, m.who(*other))
	}
}

// thread returns the thread of an event, or -1 for an access by several threads.
func (m *machine) thread(e event) int32 {
	if int(e.thread) >= m.n {
		return -1
	}
	return e.thread
}

func (m *machine) who(e event) string {
	if m.thread(e) < 0 {
		return fmt.Sprintf("subgroup %d of block number %d", e.group, e.block-1)
	}
	return fmt.Sprintf("thread %d of block number %d", e.thread, e.block-1)
}
