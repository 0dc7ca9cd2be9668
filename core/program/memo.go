package program

import (
	"sync"

	"github.com/goburn/burn/core/op"
)

// Memo is a bounded cache of values by structure. It drops entries that are not looked up while it fills up twice. The zero Memo is empty.
// It is safe for concurrent use.
type Memo[V any] struct {
	mu         sync.Mutex
	fresh, old map[string]entry[V]
	bytes      int // size of fresh
}

type entry[V any] struct {
	value V
	bytes int
}

// memoBytes is the size at which a Memo is full. A model that runs op by op needs a few hundred entries of about 1 KiB.
const memoBytes = 2 << 20

// Get returns the entry of a key.
func (m *Memo[V]) Get(key []byte) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.fresh[string(key)]
	if ok {
		return e.value, true
	}
	if e, ok = m.old[string(key)]; ok {
		m.put(string(key), e)
	}
	return e.value, ok
}

// Put adds an entry of the given size in bytes.
func (m *Memo[V]) Put(key []byte, v V, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(string(key), entry[V]{v, bytes + len(key)})
}

func (m *Memo[V]) put(key string, e entry[V]) {
	if m.fresh == nil || m.bytes > memoBytes {
		m.old, m.fresh, m.bytes = m.fresh, map[string]entry[V]{}, 0
	}
	m.fresh[key] = e
	m.bytes += e.bytes
}

// Sequence contains nodes with numbers in place of tensor ids. The given tensors have the first numbers, the results of the nodes the next
// ones. It is immutable.
type Sequence struct {
	nodes   []op.Node // of Inputs only the length has a meaning; ids are zero
	in, out []int32   // numbers of the tensors that are operands, and of the results
	free    []int32   // tensors that no Drop bit releases
	given   int
	made    int // total count of numbers
	results []int32
}

// NewSequence returns the sequence of nodes. given are the tensors that exist before it, and free are the tensors that the caller must free
// because no Drop bit of the nodes releases them. Results returns the numbers of results, with -1 for an id of zero.
func NewSequence(given []op.TensorID, nodes []op.Node, free, results []op.TensorID) *Sequence {
	s := &Sequence{given: len(given), made: len(given), nodes: make([]op.Node, len(nodes))}
	numbers := make(map[op.TensorID]int32, len(given)+len(nodes))
	number := func(id op.TensorID) int32 {
		at, ok := numbers[id]
		if !ok {
			at = int32(s.made)
			numbers[id] = at
			s.made++
		}
		return at
	}
	for i, id := range given {
		if _, twice := numbers[id]; !twice {
			numbers[id] = int32(i)
		}
	}
	for i := range nodes {
		n := nodes[i]
		for _, id := range n.Inputs {
			s.in = append(s.in, number(id))
		}
		n.Inputs, n.Outputs = nil, append([]op.Desc(nil), n.Outputs...)
		for k := range n.Outputs {
			d := &n.Outputs[k]
			s.out = append(s.out, number(d.ID))
			d.ID, d.Shape = 0, d.Shape.Clone()
		}
		s.nodes[i] = n
		s.nodes[i].Inputs = make([]op.TensorID, len(nodes[i].Inputs)) // only the number of inputs matters
	}
	for _, id := range free {
		s.free = append(s.free, number(id))
	}
	for _, id := range results {
		at := int32(-1)
		if id != 0 {
			at = number(id)
		}
		s.results = append(s.results, at)
	}
	return s
}

// Results returns the numbers of the results that were passed to NewSequence.
func (s *Sequence) Results() []int32 { return s.results }

// Bytes returns the approximate size of s in memory.
func (s *Sequence) Bytes() int { return 256 + 256*len(s.nodes) + 8*(len(s.in)+2*len(s.out)) }

// Append appends the nodes to a list. given are the tensors that exist; next returns ids for the others. ids contains all tensors by
// number, and free the tensors that no Drop bit of the nodes releases.
func (s *Sequence) Append(to []op.Node, given []op.TensorID, next func() op.TensorID) (nodes []op.Node, ids, free []op.TensorID) {
	memory := make([]op.TensorID, s.made+len(s.in)+len(s.free))
	ids, in := memory[:s.made:s.made], memory[s.made:]
	for i := copy(ids, given); i < s.made; i++ {
		ids[i] = next()
	}
	for i, number := range s.in {
		in[i] = ids[number]
	}
	rest := in[len(s.in):]
	out := make([]op.Desc, 0, len(s.out))
	for i := range s.nodes {
		n := s.nodes[i]
		k := len(n.Inputs)
		n.Inputs, in = in[:k:k], in[k:]
		from := len(out)
		out = append(out, n.Outputs...)
		n.Outputs = out[from:len(out):len(out)]
		for j := range n.Outputs {
			n.Outputs[j].ID = ids[s.out[from+j]]
		}
		to = append(to, n)
	}
	for i, number := range s.free {
		rest[i] = ids[number]
	}
	if len(rest) == 0 {
		return to, ids, nil
	}
	return to, ids, rest
}
