package export

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// dim is a number that may depend on the symbolic dimension n: base + per·n.
type dim struct{ base, per int }

func fixed(v int) dim { return dim{base: v} }

func (d dim) at(n int) int { return d.base + d.per*n }

func (d dim) static() bool { return d.per == 0 }

// String writes d as a term in the symbolic dimension n, as in 2n+1.
func (d dim) String() string {
	switch {
	case d.per == 0:
		return strconv.Itoa(d.base)
	case d.base == 0:
		return fmt.Sprintf("%dn", d.per)
	}
	return fmt.Sprintf("%dn%+d", d.per, d.base)
}

// allStatic returns the numbers of ds, and whether none of them depends on the symbolic dimension.
func allStatic(ds []dim) ([]int, bool) {
	out := make([]int, len(ds))
	for i, d := range ds {
		if !d.static() {
			return nil, false
		}
		out[i] = d.base
	}
	return out, true
}

// pass is one traced forward pass. index contains the position of each tensor in defs.
type pass struct {
	size    int // size of the symbolic dimension in this pass
	defs    []definition
	nodes   []op.Node
	index   map[op.TensorID]int
	outputs []op.TensorID
}

// value is a tensor that exists in all passes.
type value struct {
	name  string
	dtype dtype.DType
	shape []dim
	data  []byte // content of constants
	node  int    // index of the node that computes it; -1 for none
}

// node is a node that exists in all passes.
type node struct {
	op      op.Code
	inputs  []*value
	outputs []*value
	attrs   op.Attrs         // attributes as in the first pass
	ints    map[string][]dim // integer attributes, merged over all passes
}

// dims returns the integers of an attribute.
func (n *node) dims(name string) []dim { return n.ints[name] }

// static returns the integers of an attribute that cannot be symbolic in ONNX.
func (n *node) static(name string) ([]int, error) {
	v, ok := allStatic(n.ints[name])
	if !ok {
		return nil, fmt.Errorf("%s of %v depends on the symbolic dimension, which ONNX cannot express: export with a fixed size: %w", name, n.op, core.ErrUnsupported)
	}
	return v, nil
}

// graph is the result of merging the passes.
type graph struct {
	values  []*value
	nodes   []*node
	outputs []*value
}

func differs(format string, args ...any) error {
	return fmt.Errorf("export: "+format+": export with a fixed size: %w", append(args, core.ErrUnsupported)...)
}

// affine returns the dim with value v[i] at sizes[i], and whether there is one. The third size checks it.
func affine(v []int, sizes []int) (dim, bool) {
	if len(v) == 1 || slices.Equal(v, slices.Repeat(v[:1], len(v))) {
		return fixed(v[0]), true
	}
	step := sizes[1] - sizes[0]
	if (v[1]-v[0])%step != 0 {
		return dim{}, false
	}
	d := dim{per: (v[1] - v[0]) / step}
	d.base = v[0] - d.per*sizes[0]
	for i := range v {
		if d.at(sizes[i]) != v[i] {
			return dim{}, false
		}
	}
	return d, true
}

// merge combines passes that differ in the size of the symbolic dimension into one graph.
func merge(ps []*pass) (*graph, error) {
	first := ps[0]
	sizes := make([]int, len(ps))
	for i, p := range ps {
		sizes[i] = p.size
		if len(p.nodes) != len(first.nodes) || len(p.defs) != len(first.defs) || len(p.outputs) != len(first.outputs) {
			return nil, differs("the forward pass has %d nodes at size %d and %d at size %d of the symbolic dimension", len(first.nodes), sizes[0], len(p.nodes), p.size)
		}
	}
	lists := func(get func(p *pass) []int) ([]dim, bool) {
		all := make([][]int, len(ps))
		for i, p := range ps {
			if all[i] = get(p); len(all[i]) != len(all[0]) {
				return nil, false
			}
		}
		out := make([]dim, len(all[0]))
		for k := range out {
			v := make([]int, len(ps))
			for i := range ps {
				v[i] = all[i][k]
			}
			d, ok := affine(v, sizes)
			if !ok {
				return nil, false
			}
			out[k] = d
		}
		return out, true
	}
	g := &graph{}
	for i, d := range first.defs {
		s, ok := lists(func(p *pass) []int { return p.defs[i].desc.Shape })
		for _, p := range ps {
			ok = ok && p.defs[i].node == d.node && p.defs[i].desc.DType == d.desc.DType
		}
		if !ok {
			return nil, differs("tensor %v has a shape that is not a constant plus a multiple of the symbolic dimension", d.desc)
		}
		v := &value{dtype: d.desc.DType, shape: s, node: d.node, data: d.data}
		for _, p := range ps {
			if d.data != nil && !bytes.Equal(p.defs[i].data, d.data) {
				v.data = nil // an input; if it is no input, its use is refused
			}
		}
		g.values = append(g.values, v)
	}
	for i := range first.nodes {
		n := &first.nodes[i]
		m := &node{op: n.Op, attrs: n.Attrs, ints: map[string][]dim{}}
		for k, id := range n.Inputs {
			at := first.index[id]
			for _, p := range ps {
				if q := &p.nodes[i]; q.Op != n.Op || len(q.Inputs) != len(n.Inputs) || p.index[q.Inputs[k]] != at {
					return nil, differs("node %d is %v at one size and %v at another", i, n, q)
				}
			}
			m.inputs = append(m.inputs, g.values[at])
		}
		for _, o := range n.Outputs {
			m.outputs = append(m.outputs, g.values[first.index[o.ID]])
		}
		for _, a := range n.Attrs {
			ok := true
			switch a.Value.Kind() {
			case op.KindInts:
				m.ints[a.Name], ok = lists(func(p *pass) []int { return p.nodes[i].Attrs.Ints(a.Name) })
			case op.KindInt:
				m.ints[a.Name], ok = lists(func(p *pass) []int { return []int{p.nodes[i].Attrs.Int(a.Name)} })
			default:
				for _, p := range ps {
					ok = ok && p.nodes[i].Attrs.Value(a.Name).Equal(a.Value)
				}
			}
			if !ok {
				return nil, differs("%s of %v is not the same at all sizes of the symbolic dimension", a.Name, n)
			}
		}
		g.nodes = append(g.nodes, m)
	}
	for k, id := range first.outputs {
		at, ok := first.index[id]
		for _, p := range ps {
			ok = ok && p.index[p.outputs[k]] == at
		}
		if !ok {
			return nil, differs("output %d is another tensor at another size", k)
		}
		g.outputs = append(g.outputs, g.values[at])
	}
	return g, nil
}

// live returns the nodes that outputs depend on, in order.
func (g *graph) live() []*node {
	needed := map[int]bool{}
	for _, o := range g.outputs {
		needed[o.node] = true
	}
	var list []*node
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if !needed[i] {
			continue
		}
		list = append(list, g.nodes[i])
		for _, in := range g.nodes[i].inputs {
			needed[in.node] = true
		}
	}
	slices.Reverse(list)
	return list
}
