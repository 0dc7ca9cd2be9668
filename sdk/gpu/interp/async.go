package interp

import (
	"github.com/goburn/burn/sdk/gpu/ir"
)

// async holds the pending copies. A copy is executed when its thread waits for it, which is the latest time that ir allows.
type async struct {
	pending []pending
	groups  []int // by thread: number of groups that it has made
}

type pending struct {
	lane     int32
	group    int // number of the group in its thread
	in       *ir.Inst
	to, from int64
}

func (s *async) clear() {
	s.pending = s.pending[:0]
	clear(s.groups)
}

func (m *machine) asynchronous(in *ir.Inst) step {
	if m.async.groups == nil {
		m.async.groups = make([]int, m.n)
	}
	s := &m.async
	switch in.Op {
	case ir.AsyncCommit:
		return func(a *active) {
			for _, i := range a.lanes {
				s.groups[i]++
			}
		}
	case ir.AsyncWait:
		return func(a *active) { m.wait(a, int(in.Imm)) }
	}
	to, from := m.indices(in.Args[0]), m.indices(in.Args[1])
	return func(a *active) {
		for _, i := range a.lanes {
			p := pending{i, s.groups[i], in, to(i), from(i)}
			m.begin(p)
			s.pending = append(s.pending, p)
		}
	}
}

// begin checks a copy and marks its destination.
func (m *machine) begin(p pending) {
	w, size := int64(p.in.Width), int64(p.in.Type.Size())
	dst, src := m.shared[p.in.Ref], m.buffers[p.in.Ref2]
	if p.to < 0 || p.to > int64(dst.len)-w || p.to%w != 0 {
		m.fail(p.in, p.lane, "shared index %d of %d elements", p.to, dst.len)
	}
	if have := int64(len(src)) / size; p.from < 0 || p.from > have-w || (p.from+m.l.Args[p.in.Ref2].Offset/size)%w != 0 {
		m.fail(p.in, p.lane, "index %d of %d elements", p.from, have)
	}
	for k := range int(w) {
		m.writable(p.in, p.lane, dst.state, int(p.to)+k)
		dst.state[int(p.to)+k] = copying
		m.touch(p, k)
	}
}

// touch records element k of a copy in the race detector. A copy may read and write at any time from its start to its end.
func (m *machine) touch(p pending, k int) {
	if m.races != nil {
		m.races.ofBuffer(p.in.Ref2).read(p.in, m.races.of(p.lane), int(p.from)+k)
		m.races.ofShared(p.in.Ref).write(p.in, m.races.of(p.lane), int(p.to)+k)
	}
}

// wait executes the copies of all groups of each thread except the newest n.
func (m *machine) wait(a *active, n int) {
	s := &m.async
	waits := func(p pending) bool { return p.group < s.groups[p.lane]-n }
	if !a.full {
		in := make([]bool, m.n)
		for _, i := range a.lanes {
			in[i] = true
		}
		all := waits
		waits = func(p pending) bool { return in[p.lane] && all(p) }
	}
	keep := s.pending[:0]
	for _, p := range s.pending {
		if !waits(p) {
			keep = append(keep, p)
			continue
		}
		size := int64(p.in.Type.Size())
		copy(m.shared[p.in.Ref].data[p.to*size:][:int64(p.in.Width)*size], m.buffers[p.in.Ref2][p.from*size:])
		for k := range int(p.in.Width) {
			m.shared[p.in.Ref].state[int(p.to)+k] = written
			m.touch(p, k)
		}
	}
	s.pending = keep
}
