package program

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// Rewrite replaces sequences of simple ops that compute a composite op, as exporters write them, by the composite op of the table. Patterns
// lists the recognized forms. The result computes the same values within the tolerances of the rows, except for attention scores that
// overflow. p is not changed. If no pattern is found, Rewrite returns p itself. Otherwise the result has the inputs, constants and outputs
// of p, but no dead nodes and no Drop bits.
//
// Products and convolutions of dequantized bytes are summed in integers, which is exact, and then dequantized. Their results are more exact
// than sums of floats. If they are quantized again, a result near the middle between two steps may be rounded to the other step. Tensors
// that are only moved between a dequantization and a quantization by the same scale are moved as bytes, with the same result.
//
// A pattern is replaced only if no other node needs its intermediate results. known returns the elements of constant i, little-endian, or
// nil; supports reports which new nodes are allowed. A nil known knows no elements. A nil supports allows all nodes.
func (p *Program) Rewrite(known func(i int) []byte, supports func(n *op.Node, in []op.Desc) bool) *Program {
	return p.RewriteBy(patterns, known, supports)
}

// RewriteBy is like Rewrite, with only some of the patterns.
func (p *Program) RewriteBy(some []Pattern, known func(i int) []byte, supports func(n *op.Node, in []op.Desc) bool) *Program {
	r := newRewriter(p, known, supports)
	for _, f := range some {
		for _, c := range f.Ends {
			r.patterns[c] = append(r.patterns[c], f.apply)
		}
	}
	for i := 0; i < len(r.nodes); i++ {
		for r.improve(i) { // the replacement may be a part of a larger pattern
		}
	}
	if !r.changed {
		return p
	}
	q := *p
	q.Nodes = q.Nodes[:0:0]
	for i := range r.nodes {
		for _, n := range r.nodes[i] {
			n.Drop = 0
			q.Nodes = append(q.Nodes, n)
		}
	}
	return q.Live()
}

// rewriter is a program being rewritten. Comments call entry i of nodes place i. A place contains node i of the program, or the nodes that
// replace it. The last node of a place has the outputs of the original node.
type rewriter struct {
	nodes    [][]op.Node
	descs    map[op.TensorID]op.Desc
	place    map[op.TensorID]int // place of the node that computes it
	users    map[op.TensorID][]int
	returned map[op.TensorID]bool
	consts   map[op.TensorID]int
	patterns map[op.Code][]func(r *rewriter, i int) bool
	known    func(i int) []byte
	supports func(n *op.Node, in []op.Desc) bool
	last     op.TensorID
	changed  bool
}

func newRewriter(p *Program, known func(i int) []byte, supports func(n *op.Node, in []op.Desc) bool) *rewriter {
	r := &rewriter{nodes: make([][]op.Node, len(p.Nodes)), descs: map[op.TensorID]op.Desc{}, place: map[op.TensorID]int{},
		users: map[op.TensorID][]int{}, returned: map[op.TensorID]bool{}, consts: map[op.TensorID]int{},
		patterns: map[op.Code][]func(r *rewriter, i int) bool{}, known: known, supports: supports}
	define := func(ds []op.Desc) {
		for _, d := range ds {
			r.descs[d.ID] = d
			r.last = max(r.last, d.ID)
		}
	}
	define(p.Inputs)
	define(p.Consts)
	for i, d := range p.Consts {
		r.consts[d.ID] = i
	}
	for _, id := range p.Outputs {
		r.returned[id] = true
	}
	for i, n := range p.Nodes {
		define(n.Outputs)
		r.nodes[i] = []op.Node{n}
		for _, d := range n.Outputs {
			r.place[d.ID] = i
		}
		for _, id := range n.Inputs {
			r.users[id] = append(r.users[id], i)
		}
	}
	return r
}

// root returns the last node of place i, which computes its result, or nil for an empty place.
func (r *rewriter) root(i int) *op.Node {
	if len(r.nodes[i]) == 0 {
		return nil
	}
	return &r.nodes[i][len(r.nodes[i])-1]
}

// producer returns the node with one output that computes id, nil if there is none, and its place.
func (r *rewriter) producer(id op.TensorID) (*op.Node, int) {
	i, ok := r.place[id]
	if !ok {
		return nil, -1
	}
	n := r.root(i)
	if n == nil || len(n.Outputs) != 1 || n.Outputs[0].ID != id {
		return nil, -1
	}
	return n, i
}

// made is like producer, but only finds nodes of the given ops.
func (r *rewriter) made(id op.TensorID, codes ...op.Code) (*op.Node, int, bool) {
	n, i := r.producer(id)
	return n, i, n != nil && slices.Contains(codes, n.Op)
}

func (r *rewriter) improve(i int) bool {
	n := r.root(i)
	if n == nil || len(n.Outputs) != 1 {
		return false
	}
	for _, f := range r.patterns[n.Op] {
		if f(r, i) {
			return true
		}
	}
	return false
}

// private reports whether only inner places and place i use the results of the inner places.
func (r *rewriter) private(i int, inner []int) bool {
	for _, k := range inner {
		for _, d := range r.root(k).Outputs {
			if r.returned[d.ID] {
				return false
			}
			for _, u := range r.users[d.ID] {
				if u != i && !slices.Contains(inner, u) {
					return false
				}
			}
		}
	}
	return true
}

// replace replaces place i by the nodes that build records, which must compute the same result, and removes the inner places. It changes
// nothing and returns false if another node needs an inner result, if a new node violates a rule of the table, or if a composite op among
// the new nodes is not supported.
func (r *rewriter) replace(i int, inner []int, build func(b *op.Builder) op.Desc) bool {
	if !r.private(i, inner) {
		return false
	}
	before, old := r.last, r.root(i).Outputs[0]
	b := op.NewBuilder(func() op.TensorID { r.last++; return r.last })
	y := build(b)
	if b.Err() != nil || len(b.Nodes) == 0 || !y.SameType(old) || b.Nodes[len(b.Nodes)-1].Outputs[0].ID != y.ID || !r.claimed(b.Nodes) {
		r.last = before
		return false
	}
	for m := range b.Nodes {
		for _, d := range b.Nodes[m].Outputs {
			r.descs[d.ID], r.place[d.ID] = d, i
		}
	}
	outs := slices.Clone(b.Nodes[len(b.Nodes)-1].Outputs)
	outs[0].ID = old.ID
	b.Nodes[len(b.Nodes)-1].Outputs = outs
	for _, k := range inner {
		r.put(k, nil)
	}
	r.put(i, b.Nodes)
	r.changed = true
	return true
}

// put replaces the last node of place k. It keeps the other nodes of the place, because the new nodes may use them.
func (r *rewriter) put(k int, nodes []op.Node) {
	for m := range r.nodes[k] {
		for _, id := range r.nodes[k][m].Inputs {
			r.users[id] = slices.DeleteFunc(r.users[id], func(u int) bool { return u == k })
		}
	}
	r.nodes[k] = append(slices.Clip(r.nodes[k][:len(r.nodes[k])-1]), nodes...)
	for m := range r.nodes[k] {
		for _, id := range r.nodes[k][m].Inputs {
			r.users[id] = append(r.users[id], k)
		}
	}
}

func (r *rewriter) claimed(nodes []op.Node) bool {
	descs := map[op.TensorID]op.Desc{}
	for i := range nodes {
		n := &nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			if d, ok := descs[id]; ok {
				in[k] = d
			} else {
				in[k] = r.descs[id]
			}
		}
		for _, d := range n.Outputs {
			descs[d.ID] = d
		}
		if op.Lookup(n.Op).Class == op.Composite && r.supports != nil && !r.supports(n, in) {
			return false
		}
	}
	return true
}
