package program

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// Expansions caches, for each node that was expanded, the nodes that replace it. The key is everything that an expansion depends on: the
// structure of the node, which operands are the same tensor, and which of them are dropped. The seed and counter of a random draw, which
// change each time, are not part of the key. When a cached expansion is used, its seeds and counters are changed by the difference between
// the seed and counter of the node and those of the cached node. The cache is bounded, and safe for concurrent use.
type Expansions struct {
	memo  Memo[*expanded]
	known [1024]atomic.Bool // by op code: whether an expansion of the op was ever added
}

// expanded contains the nodes that replace a node.
type expanded struct {
	*Sequence
	seed, counter int // seed and counter of the node, if it draws
}

// find returns the expansion of a node, nil if it is not in the cache.
func (x *Expansions) find(n *op.Node, in []op.Desc) *expanded {
	if x == nil || int(n.Op) >= len(x.known) || !x.known[n.Op].Load() {
		return nil
	}
	var buffer [256]byte
	s, _ := x.memo.Get(appendUse(buffer[:0], n, in))
	return s
}

// add adds an expansion to the cache.
func (x *Expansions) add(n *op.Node, in []op.Desc, nodes []op.Node, free []op.TensorID) {
	if x == nil || int(n.Op) >= len(x.known) {
		return
	}
	var given [8]op.TensorID
	ids := append(given[:0], n.Inputs...)
	for _, d := range n.Outputs {
		ids = append(ids, d.ID)
	}
	s := NewSequence(ids, nodes, free, nil)
	x.memo.Put(appendUse(nil, n, in), &expanded{s, n.Attrs.Int("seed"), n.Attrs.Int("counter")}, s.Bytes())
	x.known[n.Op].Store(true)
}

// appendUse appends a key of a node, of its Drop and of which operands are the same tensor.
func appendUse(b []byte, n *op.Node, in []op.Desc) []byte {
	m := *n
	if op.Draws(n.Op) {
		var buffer [8]op.Attr
		m.Attrs = buffer[:0]
		for i := range n.Attrs {
			if !isState(n.Attrs[i].Name) {
				m.Attrs = append(m.Attrs, n.Attrs[i])
			}
		}
	}
	b = op.AppendKey(b, &m, in)
	b = binary.AppendUvarint(b, n.Drop)
	return AppendAliases(b, n.Inputs)
}

// AppendAliases appends, for each id, its distance from the first position in ids that has the same id: 0 if this is the first one.
func AppendAliases(b []byte, ids []op.TensorID) []byte {
	for i, id := range ids {
		first := 0
		for ids[first] != id {
			first++
		}
		b = binary.AppendUvarint(b, uint64(i-first))
	}
	return b
}

// isState reports whether an attribute of a draw changes with each draw.
func isState(name string) bool { return name == "seed" || name == "counter" }

// append appends the nodes of an expansion of n.
func (x *expanded) append(to []op.Node, n *op.Node, next func() op.TensorID) (nodes []op.Node, free []op.TensorID) {
	var given [8]op.TensorID
	ids := append(given[:0], n.Inputs...)
	for i := range n.Outputs {
		ids = append(ids, n.Outputs[i].ID)
	}
	nodes, _, free = x.Append(to, ids, next)
	if op.Draws(n.Op) {
		for i := len(to); i < len(nodes); i++ {
			x.move(&nodes[i], n)
		}
	}
	return nodes, free
}

// move changes the seed and counter of draw m, a node of the expansion, by the difference between the seed and counter of n and those of
// the original node.
func (x *expanded) move(m, n *op.Node) {
	if !op.Draws(m.Op) {
		return
	}
	m.Attrs = slices.Clone(m.Attrs)
	for i := range m.Attrs {
		switch a := &m.Attrs[i]; a.Name {
		case "seed":
			*a = op.Int("seed", int(a.Value.Int())+n.Attrs.Int("seed")-x.seed)
		case "counter":
			*a = op.Int("counter", int(a.Value.Int())+n.Attrs.Int("counter")-x.counter)
		}
	}
}
