package router

import (
	"sync/atomic"
	"time"
)

// Stats counts the work of a router, over all of its open devices.
type Stats struct {
	Members []MemberStats
	Links   []LinkStats // the links that were used, in the order of members
}

// MemberStats counts the work of one member.
type MemberStats struct {
	Spec      string
	Nodes     int64 // nodes that ran there outside programs
	Programs  int64 // runs of programs, or of parts of programs
	Fallbacks int64 // nodes that ran there but preferred another member; nodes of programs count once, when they are placed
	// Time is the time for which the member worked, all streams together, while a profile of the device was recorded
	// (core.Profiling).
	Time time.Duration
	Lost error // why the member is lost, else nil
}

// LinkStats counts the transfers from one member to another.
type LinkStats struct {
	From, To string
	Tensors  int64
	Bytes    int64
	Peer     bool // copies by core.PeerCopy, not through the host
}

// link counts the transfers from one member to another.
type link struct {
	peer           bool
	tensors, bytes atomic.Int64
}

func (k *link) count(bytes int) {
	k.tensors.Add(1)
	k.bytes.Add(int64(bytes))
}

// Stats returns the counts so far. It may be called at any time.
func (r *Router) Stats() Stats {
	st := Stats{Members: make([]MemberStats, len(r.places))}
	for i, p := range r.places {
		st.Members[i].Spec = p.Spec
	}
	links := make([]LinkStats, len(r.places)*len(r.places))
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.devices {
		for i, m := range d.members {
			s := &st.Members[i]
			s.Nodes += m.nodes.Load()
			s.Programs += m.runs.Load()
			s.Fallbacks += m.fallbacks.Load()
			s.Time += time.Duration(m.busy.Load())
			if err := m.Gone(); err != nil {
				s.Lost = err
			}
			for k := range d.members {
				l, s := &d.links[i][k], &links[i*len(r.places)+k]
				s.From, s.To, s.Peer = m.Spec, d.members[k].Spec, l.peer
				s.Tensors += l.tensors.Load()
				s.Bytes += l.bytes.Load()
			}
		}
	}
	for _, l := range links {
		if l.Tensors > 0 {
			st.Links = append(st.Links, l)
		}
	}
	return st
}
