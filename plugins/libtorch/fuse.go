package libtorch

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// Gradients in a program are nodes that the rules of core/program/gradient have recorded: for a norm a dozen nodes, which torch computes by
// one operator. To find them, fuse records the gradient of each node of the forward pass again, and searches the program for equal nodes.

// fused is a node with its kernel. A node that replaces several nodes has the op of one of them, and the operands and results of all of
// them.
type fused struct {
	op.Node
	run kernel
}

// backward describes a gradient that torch computes by one operator.
type backward struct {
	// fits reports whether the gradient of a node with operands in is computed by run.
	fits func(n *op.Node, in []op.Desc) bool
	// run computes the gradients of g.needs from the operands and results of the forward node and the gradient of its result.
	run func(w *worker, g *found)
	// forward, if not nil, replaces the kernel of the forward node. It has additional results, which keeps describes; run reads them from
	// found.kept.
	forward kernel
	whole   bool // whether run reads all operands of the node, also operands that the rule does not read
	keeps   func(n *op.Node, in []op.Desc) []op.Desc
}

// found is a gradient that was found in a program.
type found struct {
	node  op.Node             // node of the forward pass
	t     *template           // the gradient as recorded again
	ids   []op.TensorID       // tensors of t that are operands of the step, in order
	needs []int               // indices of the operands of node whose gradients are results of the step, in order
	known map[op.TensorID]val // values of the tensors in ids, during a run
	kept  []val               // additional results of the forward node (see backward.forward)
}

// template is the gradient of a node as its rule records it.
type template struct {
	nodes []op.Node
	maker map[op.TensorID]int // index in nodes of the node that computes a result
	x     []op.Desc           // operands of the node
	y, dy op.Desc
	roots []op.Desc // the gradient of each operand
	// operands lists the operands of the step: the result of the node and its first operand only if the rule reads them, because a step
	// holds its operands.
	operands []op.Desc
}

// reads reports whether the tensor is computed from an operand or the result of the node, and not from the gradient alone.
func (t *template) reads(id op.TensorID) bool {
	i, ok := t.maker[id]
	if !ok {
		return id != t.dy.ID
	}
	return slices.ContainsFunc(t.nodes[i].Inputs, t.reads)
}

// record returns the gradient of a node with operands in. ok is false if the op has no gradient rule, or no gradient for an operand.
func record(n *op.Node, in []op.Desc) (t *template, ok bool) {
	rule, ok := gradient.Of(n.Op)
	if !ok || !rule.Exists() || len(n.Outputs) != 1 {
		return nil, false
	}
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	named := func(d op.Desc) op.Desc { d.ID = next(); return d }
	t = &template{maker: map[op.TensorID]int{}}
	has := map[op.TensorID]bool{}
	for _, d := range in {
		d = named(d)
		t.x, has[d.ID] = append(t.x, d), true
	}
	t.y, t.dy = named(n.Outputs[0]), named(n.Outputs[0])
	has[t.y.ID], has[t.dy.ID] = true, true
	b := op.NewBuilder(next)
	t.roots = rule.Record(b, gradient.Node{Attrs: n.Attrs, X: t.x, Y: []op.Desc{t.y}, DY: []op.Desc{t.dy}, Need: slices.Repeat([]bool{true}, len(in)), Has: has})
	if b.Err() != nil || len(t.roots) != len(in) {
		return nil, false
	}
	t.nodes = b.Nodes
	read, results := rule.Reads(slices.Repeat([]bool{true}, len(in)))
	for i, x := range t.x {
		if i > 0 || read&1 != 0 {
			t.operands = append(t.operands, x)
		}
	}
	if results&1 != 0 {
		t.operands = append(t.operands, t.y)
	}
	t.operands = append(t.operands, t.dy)
	for i := range t.nodes {
		for _, d := range t.nodes[i].Outputs {
			t.maker[d.ID] = i
		}
	}
	return t, true
}

// graph is a program in which gradients are searched.
type graph struct {
	p     *program.Program
	descs map[op.TensorID]op.Desc
	maker map[op.TensorID]int   // index in p.Nodes of the node that computes a result
	users map[op.TensorID][]int // indices in p.Nodes of the nodes that read a tensor
}

func newGraph(p *program.Program) *graph {
	g := &graph{p: p, descs: p.Descs(), maker: map[op.TensorID]int{}, users: map[op.TensorID][]int{}}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			g.maker[d.ID] = i
		}
		for _, id := range p.Nodes[i].Inputs {
			g.users[id] = append(g.users[id], i)
		}
	}
	return g
}

// match reports whether tensor b of the program is computed in the same way as tensor a of the template. bound maps tensors of the template
// to tensors of the program; match adds the pairs that it finds.
func (g *graph) match(t *template, a, b op.TensorID, bound map[op.TensorID]op.TensorID) bool {
	if c, ok := bound[a]; ok {
		return b == c
	}
	i, ok := t.maker[a]
	if !ok {
		if a != t.dy.ID || !g.descs[b].SameType(t.dy) {
			return false // operands and results of the forward node are bound
		}
		bound[a] = b
		return true
	}
	k, ok := g.maker[b]
	if !ok {
		return false
	}
	n, m := &t.nodes[i], &g.p.Nodes[k]
	if n.Op != m.Op || len(n.Inputs) != len(m.Inputs) || len(n.Outputs) != 1 || len(m.Outputs) != 1 || !n.Outputs[0].SameType(m.Outputs[0]) || !n.Attrs.Equal(m.Attrs) {
		return false
	}
	for j := range n.Inputs {
		if !g.match(t, n.Inputs[j], m.Inputs[j], bound) {
			return false
		}
	}
	bound[a] = b
	return true
}

// seek searches the program for a node that computes a tensor in the same way as root of the template, and returns its index. It ignores
// nodes in taken, and adds the pairs that it finds to bound.
func (g *graph) seek(t *template, root op.Desc, taken map[int]bool, bound map[op.TensorID]op.TensorID) (at int, ok bool) {
	i, made := t.maker[root.ID]
	if !made {
		return 0, false
	}
	code := t.nodes[i].Op
	for k := range g.p.Nodes {
		if n := &g.p.Nodes[k]; n.Op != code || taken[k] || len(n.Outputs) != 1 {
			continue
		}
		trial := map[op.TensorID]op.TensorID{}
		for a, b := range bound {
			trial[a] = b
		}
		if g.match(t, root.ID, g.p.Nodes[k].Outputs[0].ID, trial) {
			for a, b := range trial {
				bound[a] = b
			}
			return k, true
		}
	}
	return 0, false
}

// fuse returns the nodes of a program with their kernels. It replaces a group of nodes that torch computes by one operator by one node.
func (d *device) fuse(p *program.Program) []fused {
	all := make([]fused, len(p.Nodes))
	for i := range p.Nodes {
		all[i] = fused{p.Nodes[i], d.kernel(p.Nodes[i].Op).run}
	}
	if !d.fuses {
		return all
	}
	g := newGraph(p)
	last := op.TensorID(0)
	for id := range g.descs {
		last = max(last, id)
	}
	next := func() op.TensorID { last++; return last }
	taken := map[int]bool{}     // nodes whose results other steps compute
	before := map[int][]fused{} // steps that are executed in place of a node
	for i := range p.Nodes {
		n := &p.Nodes[i]
		b, ok := backwards[n.Op]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = g.descs[id]
		}
		if !ok || !b.fits(n, in) {
			continue
		}
		t, ok := record(n, in)
		if !ok {
			continue
		}
		bound := map[op.TensorID]op.TensorID{t.y.ID: n.Outputs[0].ID}
		for k, x := range t.x {
			bound[x.ID] = n.Inputs[k]
		}
		f := &found{node: *n, t: t}
		step := fused{Node: op.Node{Op: n.Op, Version: n.Version, Attrs: n.Attrs}}
		at := len(p.Nodes)
		for k, root := range t.roots {
			r, ok := g.seek(t, root, taken, bound)
			if !ok || f.needs == nil && !t.reads(root.ID) { // without reading the node's tensors, any sum would match
				continue
			}
			f.needs = append(f.needs, k)
			step.Outputs = append(step.Outputs, p.Nodes[r].Outputs[0])
			step.Op = p.Nodes[r].Op
			taken[r] = true
			at = min(at, r)
		}
		if f.needs == nil {
			continue
		}
		for _, x := range t.operands {
			f.ids, step.Inputs = append(f.ids, x.ID), append(step.Inputs, bound[x.ID])
		}
		if k, made := g.maker[bound[t.dy.ID]]; made && k >= at {
			for _, o := range step.Outputs {
				delete(taken, g.maker[o.ID])
			}
			continue
		}
		if b.forward != nil {
			more := b.keeps(n, in)
			for k := range more {
				more[k].ID = next()
				step.Inputs = append(step.Inputs, more[k].ID)
			}
			all[i].Outputs = append(slices.Clone(n.Outputs), more...)
			all[i].run = b.forward
		}
		step.run = f.kernel(b)
		before[at] = append(before[at], step)
	}
	return g.live(all, taken, before)
}

// live returns the steps in order, without steps whose results are no longer needed.
func (g *graph) live(all []fused, taken map[int]bool, before map[int][]fused) []fused {
	var steps []fused
	for i := range all {
		steps = append(steps, before[i]...)
		if !taken[i] {
			steps = append(steps, all[i])
		}
	}
	used := map[op.TensorID]bool{}
	for _, id := range g.p.Outputs {
		used[id] = true
	}
	keep := make([]bool, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		keep[i] = slices.ContainsFunc(steps[i].Outputs, func(d op.Desc) bool { return used[d.ID] })
		if keep[i] {
			for _, id := range steps[i].Inputs {
				used[id] = true
			}
		}
	}
	k := -1
	return slices.DeleteFunc(steps, func(fused) bool { k++; return !keep[k] })
}

// kernel returns the kernel of a gradient that was found.
func (f *found) kernel(b backward) kernel {
	return func(w *worker) {
		g := *f
		g.known = map[op.TensorID]val{}
		for i, id := range g.ids {
			g.known[id] = w.in[i]
		}
		g.kept = w.in[len(g.ids):]
		b.run(w, &g)
	}
}

// x returns operand i of the forward node, dy returns the gradient of its result, and y returns the result.
func (g *found) x(i int) val { return g.known[g.t.x[i].ID] }
func (g *found) y() val      { return g.known[g.t.y.ID] }
func (g *found) dy() val     { return g.known[g.t.dy.ID] }

// asRecorded computes the nodes that the rule recorded.
func (g *found) asRecorded(w *worker) {
	w.evaluate(g.t.nodes, g.known)
	for i, k := range g.needs {
		v, ok := g.known[g.t.roots[k].ID]
		if !ok {
			w.fail(fmt.Errorf("gradient %d of %v was not computed", k, g.node.Op))
		}
		w.out[i] = v
	}
}

// wideAndFull reports whether all tensors are non-empty and of type f32 or f64.
func wideAndFull(in []op.Desc) bool {
	for _, d := range in {
		if d.DType != dtype.F32 && d.DType != dtype.F64 || d.Shape.Size() == 0 {
			return false
		}
	}
	return true
}
