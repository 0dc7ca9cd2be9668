package group

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// maxRepeated is the greatest number of nodes that are repeated to recompute a tensor.
const maxRepeated = 8

// cheap contains the ops that may be repeated: they cost nothing in a kernel that is bound by memory bandwidth.
var cheap = map[op.Code]bool{op.Cast: true, op.Add: true, op.Sub: true, op.Mul: true, op.Div: true, op.Neg: true, op.Exp: true}

// Recompute returns a program that computes the same, but in which large tensors are recomputed by each group that reads them. It considers
// tensors that a few cheap nodes compute from tensors of at most half their size, and whose size in bytes is not below the limit least,
// such as logits in f32 computed from logits in 16 bits. A gather of such a tensor is replaced by the computation of the gathered elements.
// If the groups of the result do not read and write fewer bytes in total, Recompute returns the program of g.
func (g *Graph) Recompute(policy Policy, least int) *program.Program {
	large := func(d op.Desc) bool { return d.Bytes() >= least }
	if !slices.ContainsFunc(g.Nodes, func(n op.Node) bool { return cheap[n.Op] && large(n.Outputs[0]) }) {
		return g.Program
	}
	groups := g.Decide(policy)
	r := &repeater{Graph: g, policy: &policy, of: make([]*Group, len(g.Nodes)), before: map[int][]op.Node{}, reads: map[int]map[op.TensorID]op.TensorID{}, gone: map[int]bool{}}
	for _, x := range groups {
		for _, k := range x.Nodes() {
			r.of[k] = x
		}
	}
	for _, d := range g.descs {
		r.last = max(r.last, d.ID)
	}
	for _, x := range groups {
		for _, d := range x.Outputs {
			if large(d) {
				r.repeat(x, d)
			}
		}
	}
	if len(r.reads) == 0 && len(r.before) == 0 {
		return g.Program
	}
	q := r.program()
	if h := NewGraph(q); h.traffic(h.Decide(policy)) >= g.traffic(groups) {
		return g.Program
	}
	return q
}

// traffic returns the number of bytes that groups read and write.
func (g *Graph) traffic(groups []*Group) (bytes int64) {
	for _, x := range groups {
		for _, id := range x.Inputs {
			bytes += int64(g.Desc(id).Bytes())
		}
		for _, d := range x.Outputs {
			bytes += int64(d.Bytes())
		}
	}
	return bytes
}

// repeater collects the changes of a program.
type repeater struct {
	*Graph
	policy *Policy
	of     []*Group // group of each node
	// before contains the nodes to insert before a node, reads the replacements of tensors that it reads, and gone the nodes that the
	// inserted ones replace.
	before map[int][]op.Node
	reads  map[int]map[op.TensorID]op.TensorID
	gone   map[int]bool
	last   op.TensorID
}

// repeat makes each group that reads tensor d, except x, compute d itself. x is the group that computes d. If one of the other groups
// cannot compute d, or the program returns it, nothing changes.
func (r *repeater) repeat(x *Group, d op.Desc) {
	k, _ := r.Maker(d.ID)
	nodes, leaves := r.cone(k)
	if len(nodes) == 0 {
		return
	}
	users := map[*Group][]int{}
	var order []*Group
	for _, u := range r.Users(d.ID) {
		switch {
		case u == Outside || r.of[u] != x && !r.takes(u, d) && r.taken(u, d, leaves) == nil:
			return
		case r.of[u] == x:
			continue
		}
		if users[r.of[u]] == nil {
			order = append(order, r.of[u])
		}
		users[r.of[u]] = append(users[r.of[u]], u)
	}
	for _, y := range order {
		first := users[y][0]
		if !r.takes(first, d) {
			r.gathered(first, d, nodes, leaves)
			continue
		}
		again := map[op.TensorID]op.TensorID{}
		for _, m := range nodes {
			n := r.Nodes[m]
			n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
			for i, id := range n.Inputs {
				if to, ok := again[id]; ok {
					n.Inputs[i] = to
				}
			}
			r.last++
			again[n.Outputs[0].ID], n.Outputs[0].ID = r.last, r.last
			r.before[first] = append(r.before[first], n)
		}
		for _, u := range users[y] {
			if r.reads[u] == nil {
				r.reads[u] = map[op.TensorID]op.TensorID{}
			}
			r.reads[u][d.ID] = again[d.ID]
		}
	}
}

// cone returns the nodes that compute the result of node k, in order, and the smaller tensors that they read. It returns none if these
// tensors are not small enough or if there are too many nodes.
func (r *repeater) cone(k int) (nodes []int, leaves []op.TensorID) {
	whole, read := r.Nodes[k].Outputs[0].Bytes(), 0
	var visit func(k int) bool
	visit = func(k int) bool {
		if !cheap[r.Nodes[k].Op] || !r.policy.elementwise(r.Graph, k) {
			return false
		}
		for _, id := range r.Nodes[k].Inputs {
			m, made := r.Maker(id)
			switch {
			case slices.Contains(leaves, id) || made && slices.Contains(nodes, m):
			case 2*r.Desc(id).Bytes() <= whole:
				leaves, read = append(leaves, id), read+r.Desc(id).Bytes()
			case !made || len(nodes) == maxRepeated || !visit(m):
				return false
			}
		}
		nodes = append(nodes, k)
		return len(nodes) <= maxRepeated
	}
	if !visit(k) || read > whole/2+whole/8 {
		return nil, nil
	}
	return nodes, leaves
}

// takes reports whether the group of node u may compute operand d of u: u must be elementwise in the space of d, or reduce d.
func (r *repeater) takes(u int, d op.Desc) bool {
	n := &r.Nodes[u]
	if KindOf(n.Op) == Reduction {
		return true
	}
	return r.policy.elementwise(r.Graph, u) && n.Outputs[0].Shape.Equal(d.Shape)
}

// taken examines a gather u that selects one element of each line of d along an axis. For each leaf, it returns true if the leaf must be
// gathered too, and false if the leaf is constant along the axis. It returns nil if u is not such a gather, or if a leaf is neither.
func (r *repeater) taken(u int, d op.Desc, leaves []op.TensorID) map[op.TensorID]bool {
	n := &r.Nodes[u]
	if n.Op != op.Gather || n.Inputs[0] != d.ID || n.Inputs[1] == d.ID || len(r.Desc(n.Inputs[1]).Shape) != n.Attrs.Int("batch") || 2*n.Outputs[0].Bytes() > d.Bytes() {
		return nil
	}
	how := map[op.TensorID]bool{}
	for _, id := range leaves {
		s := r.Desc(id).Shape
		once := slices.Clone(d.Shape)
		once[n.Attrs.Int("axis")] = 1
		switch {
		case s.Equal(d.Shape):
			how[id] = true
		case s.Equal(once) || len(s) == 0:
			how[id] = false
		default:
			return nil
		}
	}
	return how
}

// gathered replaces gather u of d by the computation of the gathered elements.
func (r *repeater) gathered(u int, d op.Desc, nodes []int, leaves []op.TensorID) {
	n, how := &r.Nodes[u], r.taken(u, d, leaves)
	before := r.last
	b := op.NewBuilder(func() op.TensorID { r.last++; return r.last })
	made := map[op.TensorID]op.Desc{}
	for _, id := range leaves {
		switch leaf := r.Desc(id); {
		case how[id]:
			made[id] = b.With(op.Gather, []op.Desc{leaf, r.Desc(n.Inputs[1])}, n.Attrs...)
		case len(leaf.Shape) > 0:
			made[id] = b.Reshape(leaf, n.Outputs[0].Shape)
		default:
			made[id] = leaf
		}
	}
	for _, m := range nodes {
		in := make([]op.Desc, len(r.Nodes[m].Inputs))
		for i, id := range r.Nodes[m].Inputs {
			in[i] = made[id]
		}
		made[r.Nodes[m].Outputs[0].ID] = b.With(r.Nodes[m].Op, in, r.Nodes[m].Attrs...)
	}
	y := made[d.ID]
	if b.Err() != nil || !y.SameType(n.Outputs[0]) {
		r.last = before
		return
	}
	b.Nodes[len(b.Nodes)-1].Outputs[0].ID = n.Outputs[0].ID
	r.before[u], r.gone[u] = append(r.before[u], b.Nodes...), true
}

// program returns the changed program.
func (r *repeater) program() *program.Program {
	q := *r.Program
	q.Nodes = nil
	for i, n := range r.Nodes {
		q.Nodes = append(q.Nodes, r.before[i]...)
		if r.gone[i] {
			continue
		}
		if reads := r.reads[i]; reads != nil {
			n.Inputs = slices.Clone(n.Inputs)
			for k, id := range n.Inputs {
				if to, ok := reads[id]; ok {
					n.Inputs[k] = to
				}
			}
		}
		q.Nodes = append(q.Nodes, n)
	}
	for i := range q.Nodes {
		q.Nodes[i].Drop = 0
	}
	return q.Live()
}
