package window

import "slices"

// Marks makes the windows of a loop end at the same positions in each iteration, for loops in which only size limits end windows. When a
// limit ends a window, it stores a mark: a hash of the last nodes of the stream. Wherever that hash occurs again, a window ends too.
//
// Proof: let a stream repeat after P nodes, and let all positions of an iteration have different preceding nodes. A limit adds a mark only
// where two marks are further apart than the limit. So after one iteration there are no such gaps, and there are P/maxNodes marks, rounded
// up. From then on only marks end windows, at the same positions of every iteration. If several positions of an iteration have the same
// hash, more windows end, but again at the same positions of every iteration.
//
// If a mark occurs again within the nodes that its hash covers, the loop has few nodes: then a window consists of many iterations.
type Marks struct {
	last  [memory]uint64 // ring of the hashes of the last nodes
	at    int
	hash  uint64           // combined hash of all entries of last
	set   [maxMarks]uint64 // hashes of marks; 0: none
	seen  [maxMarks]int    // position, in nodes, at which each mark was set or last occurred
	next  int
	few   [256]uint8 // number of marks by their lowest byte
	count int        // number of nodes
	begun int        // position at which a window of many short iterations began
}

const (
	memory    = 64 // number of nodes that a mark covers
	maxMarks  = 64
	manyNodes = 512 // number of nodes in a window of many short iterations
	base      = 0x9e3779b97f4a7c15
)

// basePower is base to the power of memory.
var basePower = func() uint64 {
	p := uint64(1)
	for range memory {
		p *= base
	}
	return p
}()

// Pass adds the next node and reports whether a window ends after it.
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

// ends reports whether a window ends at mark i.
func (m *Marks) ends(i int) bool {
	short := m.count-m.seen[i] < memory && m.count-m.begun < manyNodes
	if m.seen[i] = m.count; !short {
		m.begun = m.count
	}
	return !short
}

// Leave adds a mark at the current position.
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
	m.next = (m.next + 1) % maxMarks
	m.few[byte(h)]++
}
