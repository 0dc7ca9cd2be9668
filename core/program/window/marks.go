package window

import "slices"

// Marks makes windows of a loop end at the same places in each round where nothing else ends them.
//
// A window that is ended by a limit leaves a mark: a hash of the last nodes, in whichever windows they were. Where that hash
// occurs again, a window ends too. Let a stream repeat after P nodes, and let the places of a round differ in the nodes
// before them. A limit leaves marks as long as somewhere in a round two marks are further apart than the limit, each of them
// between those two; so after one round there are none such, and there are P/mostNodes marks, rounded up. From then on
// windows end at marks alone, and these are at the same places of every round. Where places of a round look alike, more
// windows end, at the same places of every round as well.
//
// A mark that comes again within the nodes that it knows is in a loop of few nodes: there, windows are many rounds.
type Marks struct {
	last  [memory]uint64 // hashes of the last nodes, a ring
	at    int
	hash  uint64            // of all in last
	set   [mostMarks]uint64 // 0: none
	seen  [mostMarks]int    // when each mark was left or passed, in nodes
	next  int
	few   [256]uint8 // marks by their lowest byte
	count int        // nodes
	begun int        // when a window began to be rounds of few nodes
}

const (
	memory    = 64 // nodes that a mark knows
	mostMarks = 64
	manyNodes = 512 // of a window of short rounds
	base      = 0x9e3779b97f4a7c15
)

// basePower is base to the power memory.
var basePower = func() uint64 {
	p := uint64(1)
	for range memory {
		p *= base
	}
	return p
}()

// Pass notes the next node and reports whether a window ends behind it.
func (m *Marks) Pass(kind uint64) bool {
	old := m.last[m.at]
	m.last[m.at] = kind
	m.at = (m.at + 1) % memory
	m.hash = m.hash*base + kind - old*basePower
	m.count++
	h := mix(m.hash, 0)
	if m.few[byte(h)] == 0 {
		return false
	}
	for i, s := range m.set {
		if s == h {
			return m.ends(i)
		}
	}
	return false
}

// ends decides at a mark.
func (m *Marks) ends(i int) bool {
	short := m.count-m.seen[i] < memory && m.count-m.begun < manyNodes
	if m.seen[i] = m.count; !short {
		m.begun = m.count
	}
	return !short
}

// Leave makes a mark here.
func (m *Marks) Leave() {
	h := mix(m.hash, 0)
	m.begun = m.count
	if i := slices.Index(m.set[:], h); i >= 0 {
		m.seen[i] = m.count
		return
	}
	if old := m.set[m.next]; old != 0 {
		m.few[byte(old)]--
	}
	m.set[m.next], m.seen[m.next] = h, m.count
	m.next = (m.next + 1) % mostMarks
	m.few[byte(h)]++
}
