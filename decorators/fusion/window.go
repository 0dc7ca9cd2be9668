package fusion

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// Limits of a window.
const (
	mostNodes = 4096
	mostAttrs = 4 << 20 // bytes
)

// structure is the computation of nodes, with numbers instead of ids: tensors are numbered in the order in which the nodes first
// name them. Two windows of one structure are the same program.
type structure struct {
	nodes []op.Node // Inputs, Outputs and Drop are not looked at
	from  []int32   // of each node the place of its first operand in args
	args  []int32   // numbers of operands
	first []int32   // of each node the number of its first result
	types []op.Desc // by number; the id is not looked at
	maker []int32   // by number the node that computes it, outside for a tensor from before the window
	dead  []uint64  // by number a bit: it was freed
}

const outside = -1

func (s *structure) isDead(local int32) bool { return s.dead[local>>6]>>(local&63)&1 != 0 }

// operands returns the numbers that node i reads.
func (s *structure) operands(i int) []int32 {
	to := len(s.args)
	if i+1 < len(s.from) {
		to = int(s.from[i+1])
	}
	return s.args[s.from[i]:to]
}

// window holds the nodes of a stream since the last boundary.
type window struct {
	structure
	ids    []op.TensorID // by number
	prefix []uint64      // hash after each node, without attributes of sources
	values uint64        // hash of the attributes of sources
	drew   bool          // there is a draw
	begin  drawState     // of the first draw
	passed int           // nodes that the stream below has

	batches []batch // of nodes that are held
	frees   []op.TensorID

	attrs int    // bytes
	live  int64  // bytes of results that are alive
	odd   string // why it cannot become a program
	table idTable
	find  func(op.TensorID) (op.Desc, bool)
	hooks *hooks
}

// batch is the end of one Submit.
type batch struct{ nodes, frees int }

func (w *window) reset() {
	clear(w.nodes)
	clear(w.types)
	w.nodes, w.from, w.args, w.first, w.types = w.nodes[:0], w.from[:0], w.args[:0], w.first[:0], w.types[:0]
	w.maker, w.dead, w.ids, w.prefix = w.maker[:0], w.dead[:0], w.ids[:0], w.prefix[:0]
	w.batches, w.frees = w.batches[:0], w.frees[:0]
	w.values, w.drew, w.passed, w.attrs, w.live, w.odd = 0, false, 0, 0, 0, ""
	w.table.clear()
}

// number assigns the next number to a tensor and returns it.
func (w *window) number(id op.TensorID, d *op.Desc, maker int) int32 {
	local := int32(len(w.ids))
	w.ids = append(w.ids, id)
	w.types = append(w.types, *d)
	w.maker = append(w.maker, int32(maker))
	if local&63 == 0 {
		w.dead = append(w.dead, 0)
	}
	w.table.put(id, local)
	return local
}

// add appends a node with the hashes kind and values from hashNode.
func (w *window) add(n *op.Node, kind, values uint64) {
	at := len(w.nodes)
	w.nodes = append(w.nodes, *n)
	w.from = append(w.from, int32(len(w.args)))
	h := kind
	if at > 0 {
		h = mix(w.prefix[at-1], kind)
	}
	if draws(n) {
		if !w.drew {
			w.drew, w.begin = true, stateOf(n)
		}
		if s := stateOf(n).past(w.begin); !w.hooks.attrs {
			h = mix(mix(h, uint64(s.seed)), uint64(s.counter))
		}
	}
	for _, id := range n.Inputs {
		local, ok := w.table.get(id)
		if !ok {
			d, known := w.find(id)
			if !known {
				w.odd = "a tensor that is not known"
			}
			local = w.number(id, &d, outside)
			if !w.hooks.types {
				h = hashType(h, &d)
			}
		} else if w.isDead(local) {
			w.odd = "a tensor is used after it was freed"
		}
		w.args = append(w.args, local)
		if !w.hooks.operands {
			h = mix(h, uint64(local)+1)
		}
	}
	w.first = append(w.first, int32(len(w.ids)))
	for i := range n.Outputs {
		d := &n.Outputs[i]
		if _, ok := w.table.get(d.ID); ok {
			w.odd = "a tensor is made twice"
		}
		w.number(d.ID, d, at)
		w.live += int64(d.Bytes())
	}
	if values != 0 {
		w.values = mix(w.values, values)
	}
	w.prefix = append(w.prefix, h)
	if n.Drop != 0 {
		for k, id := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 {
				w.free(id)
			}
		}
	}
	if len(n.Attrs) > 0 {
		w.attrs += sizeOf(n.Attrs)
	}
}

// free records that a tensor was freed, and reports whether the window knows it.
func (w *window) free(id op.TensorID) bool {
	local, ok := w.table.get(id)
	if !ok {
		return false
	}
	if w.isDead(local) {
		w.odd = "a tensor is freed twice"
	}
	w.dead[local>>6] |= 1 << (local & 63)
	if w.maker[local] != outside {
		w.live -= int64(w.types[local].Bytes())
	}
	return true
}

// key returns the hash of everything except the attributes of sources, including which tensors live on.
func (w *window) key() uint64 {
	h := w.prefix[len(w.prefix)-1]
	for _, word := range w.dead {
		h = mix(h, word)
	}
	return h
}

// lives reports whether a result lives on.
func (s *structure) lives() bool {
	for local, maker := range s.maker {
		if maker != outside && !s.isDead(int32(local)) {
			return true
		}
	}
	return false
}

// clone copies the structure, for a plan.
func (s *structure) clone() structure {
	c := structure{nodes: slices.Clone(s.nodes), from: slices.Clone(s.from), args: slices.Clone(s.args), first: slices.Clone(s.first),
		types: slices.Clone(s.types), maker: slices.Clone(s.maker), dead: slices.Clone(s.dead)}
	for i := range c.nodes {
		c.nodes[i].Inputs, c.nodes[i].Outputs, c.nodes[i].Drop = nil, nil, 0
	}
	for i := range c.types {
		c.types[i].ID, c.types[i].Shape = 0, c.types[i].Shape.Clone()
	}
	return c
}

// same compares structures completely. Attributes of sources in lifted may differ; lifted is nil for none. Draws are the same if they are
// at the same distance from the first one.
func (s *structure) same(o *structure, lifted []bool) bool {
	if len(s.nodes) != len(o.nodes) || !slices.Equal(s.args, o.args) || !slices.Equal(s.from, o.from) ||
		!slices.Equal(s.first, o.first) || !slices.Equal(s.maker, o.maker) || !slices.Equal(s.dead, o.dead) {
		return false
	}
	var mine, other drawState
	drew := false
	for i := range s.nodes {
		a, b := &s.nodes[i], &o.nodes[i]
		if a.Op != b.Op || a.Version != b.Version {
			return false
		}
		if draws(a) {
			if !drew {
				drew, mine, other = true, stateOf(a), stateOf(b)
			}
			if !sameDraw(a, b, mine, other) {
				return false
			}
			continue
		}
		if (lifted == nil || !lifted[i]) && !sameAttrs(a.Attrs, b.Attrs) {
			return false
		}
	}
	for i := range s.types {
		if !s.types[i].SameType(o.types[i]) {
			return false
		}
	}
	return true
}

func sameAttrs(a, b op.Attrs) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || a.Equal(b)
}
