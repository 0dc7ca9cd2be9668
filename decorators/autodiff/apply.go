package autodiff

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// apply runs the gradient rule of e. The caller receives one hold on each result, except on tensors that the pass does not own.
func (p *pass) apply(e *entry, need []bool, dy []op.Desc) ([]op.Desc, error) {
	if e.custom != nil {
		return p.custom(e, dy)
	}
	if !e.rule.Exists() {
		return nil, fmt.Errorf("the op has no gradient: register one, or detach its operands: %w", core.ErrUnsupported)
	}
	if err := p.operands(e, dy); err != nil {
		return nil, err
	}
	row := op.Lookup(e.node.Op)
	if row.Class == op.Custom || op.Draws(e.node.Op) {
		return p.differentiate(e, need)
	}
	p.key = p.use.key(p.key[:0], e, need)
	if r, ok := p.recipes.Get(p.key); ok {
		return p.follow(r), nil
	}
	out, dead := len(p.out), len(p.dead)
	grads, err := p.differentiate(e, need)
	if err == nil {
		r := newRecipe(p.use.ids, p.out[out:], p.dead[dead:], grads)
		p.recipes.Put(p.key, r, r.nodes.Bytes())
	}
	return grads, err
}

// use describes an entry for its rule: operands, results, their gradients, and which of them have elements.
type use struct {
	descs    []op.Desc
	ids      []op.TensorID
	has      []bool
	in, outs int // the number of operands and of results
}

// operands sets p.use for e.
func (p *pass) operands(e *entry, dy []op.Desc) error {
	u := &p.use
	u.descs, u.has, u.ids, u.in, u.outs = u.descs[:0], u.has[:0], u.ids[:0], len(e.in), len(e.out)
	for _, list := range [2][]*value{e.in, e.out} {
		for _, v := range list {
			u.descs, u.has = append(u.descs, v.desc), append(u.has, false)
		}
	}
	for _, v := range e.saved {
		d, err := p.elements(v)
		if err != nil {
			return err
		}
		for i, w := range e.in {
			if w == v {
				u.descs[i], u.has[i] = d, true
			}
		}
		for i, w := range e.out {
			if w == v {
				u.descs[u.in+i], u.has[u.in+i] = d, true
			}
		}
	}
	for _, d := range dy {
		u.descs, u.has = append(u.descs, d), append(u.has, d.ID != 0)
	}
	for i := range u.descs {
		u.ids = append(u.ids, u.descs[i].ID)
	}
	return nil
}

// key appends all that the gradient of e depends on.
func (u *use) key(b []byte, e *entry, need []bool) []byte {
	b = append(b, byte(e.node.Op), byte(e.node.Op>>8), byte(e.node.Version), byte(u.in), byte(u.outs))
	for i, has := range u.has {
		bits := byte(0)
		if has {
			bits = 1
		}
		if i < len(need) && need[i] {
			bits |= 2
		}
		b = append(b, bits)
	}
	b = op.AppendTypes(b, u.descs)
	b = op.AppendAttrs(b, e.node.Attrs)
	return program.AppendAliases(b, u.ids)
}

// differentiate records e's rule for p.use.
func (p *pass) differentiate(e *entry, need []bool) ([]op.Desc, error) {
	u := &p.use
	descs := slices.Clone(u.descs)
	n := gradient.Node{Attrs: e.node.Attrs, Need: need, X: descs[:u.in:u.in], Y: descs[u.in:][:u.outs:u.outs], DY: descs[u.in+u.outs:], Has: map[op.TensorID]bool{}}
	readable := map[op.TensorID]op.Desc{}
	for i, d := range descs {
		if u.has[i] {
			readable[d.ID], n.Has[d.ID] = d, true
		}
	}
	b := op.NewBuilder(p.nextID)
	grads := e.rule.Record(b, n)
	if b.Err() != nil {
		return nil, b.Err()
	}
	return p.finish(b.Nodes, grads, readable)
}

// recipe is the gradient of all entries with one structure: its nodes, in ops that the stream below supports, and the types of the
// gradients of the operands.
type recipe struct {
	nodes *program.Sequence
	types []op.Desc
}

// newRecipe returns the recipe of nodes that read the tensors in given.
func newRecipe(given []op.TensorID, nodes []op.Node, dead []op.TensorID, grads []op.Desc) *recipe {
	r := &recipe{types: make([]op.Desc, len(grads))}
	ids := make([]op.TensorID, len(grads))
	for i, g := range grads {
		ids[i], r.types[i] = g.ID, op.Desc{DType: g.DType, Shape: g.Shape.Clone()}
	}
	r.nodes = program.NewSequence(given, nodes, dead, ids)
	return r
}

// follow queues the nodes of r for p.use, and returns the gradients.
func (p *pass) follow(r *recipe) []op.Desc {
	nodes, ids, free := r.nodes.Append(p.out, p.use.ids, p.nextID)
	p.out, p.dead = nodes, append(p.dead, free...)
	p.grad = p.grad[:0]
	for i, number := range r.nodes.Results() {
		g := r.types[i]
		if number >= 0 {
			g.ID = ids[number]
			_, ours := p.holders[g.ID]
			if int(number) >= len(p.use.ids) || ours {
				p.holders[g.ID]++
			}
		}
		p.grad = append(p.grad, g)
	}
	return p.grad
}

// finish queues the nodes of a rule and drops tensors that only they use.
func (p *pass) finish(nodes []op.Node, grads []op.Desc, readable map[op.TensorID]op.Desc) ([]op.Desc, error) {
	last := map[op.TensorID]int{} // for each output of the nodes: index of the node that uses it last
	for i := range nodes {
		for _, id := range nodes[i].Inputs {
			if _, made := last[id]; made {
				last[id] = i
			} else if _, ok := readable[id]; !ok {
				return nil, fmt.Errorf("%v reads %v, which was not saved: %w", nodes[i].Op, id, core.ErrUnknownTensor)
			}
		}
		for _, d := range nodes[i].Outputs {
			readable[d.ID] = d
			last[d.ID] = -1
		}
	}
	for _, g := range grads {
		_, made := last[g.ID]
		if _, ours := p.holders[g.ID]; g.ID != 0 && (made || ours) {
			p.holders[g.ID]++
		}
	}
	for i := range nodes {
		n := &nodes[i]
		for k, id := range n.Inputs {
			if at, made := last[id]; made && at == i && p.holders[id] == 0 && k < 64 {
				n.Drop |= 1 << k
				delete(last, id)
			}
		}
	}
	if err := p.emit(nodes, readable); err != nil {
		return nil, err
	}
	for id := range last {
		if p.holders[id] == 0 {
			p.dead = append(p.dead, id)
		}
	}
	return grads, nil
}

// emit queues nodes for the stream below. It decomposes ops that the device below does not support.
func (p *pass) emit(nodes []op.Node, descs map[op.TensorID]op.Desc) error {
	var in []op.Desc
	for i := range nodes {
		n := &nodes[i]
		in = in[:0]
		for _, id := range n.Inputs {
			in = append(in, descs[id])
		}
		if err := p.queueNode(n, in); err != nil {
			return err
		}
	}
	return nil
}

// queueNode queues a node for the stream below, or its decomposition if the device below does not support it.
func (p *pass) queueNode(n *op.Node, in []op.Desc) error {
	nodes, free, err := p.target.Append(p.out, n, in, p.nextID)
	p.out, p.dead = nodes, append(p.dead, free...)
	return err
}

// custom runs a gradient function of the caller on the stream below.
func (p *pass) custom(e *entry, dy []op.Desc) ([]op.Desc, error) {
	saved := make([]op.Desc, len(e.saved))
	for i, v := range e.saved {
		d, err := p.elements(v)
		if err != nil {
			return nil, err
		}
		saved[i] = d
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	grads, err := p.call(e, saved, slices.Clone(dy))
	if err != nil {
		return nil, err
	}
	if len(grads) != len(e.in) {
		return nil, fmt.Errorf("got %d gradients, want one for each of %d operands: %w", len(grads), len(e.in), core.ErrShape)
	}
	for _, g := range grads {
		if g.ID != 0 {
			p.holders[g.ID]++
		}
	}
	return grads, nil
}

// call calls the caller's function with the stream below. Other streams may record meanwhile.
func (p *pass) call(e *entry, saved, dy []op.Desc) ([]op.Desc, error) {
	for _, v := range e.saved {
		v.pinned++
	}
	p.mu.Unlock()
	p.queue.mu.Lock()
	defer func() {
		p.queue.mu.Unlock()
		p.mu.Lock()
		for _, v := range e.saved {
			v.pinned--
		}
	}()
	return e.custom.Backward(core.Below{Device: p.below, Stream: p.inner}, saved, dy)
}

// elements returns the tensor of v below. It recomputes an evicted one.
func (p *pass) elements(v *value) (op.Desc, error) {
	if v.live {
		p.used(v)
		return v.desc, nil
	}
	if d, ok := p.again[v]; ok {
		return d, nil
	}
	e := v.entry
	if e == nil || e.replay == nil {
		return op.Desc{}, fmt.Errorf("%v was lost from the tape: %w", v.desc.ID, core.ErrUnknownTensor)
	}
	n := e.node
	n.Inputs = make([]op.TensorID, len(e.in))
	descs := map[op.TensorID]op.Desc{}
	for i, w := range e.in {
		d, err := p.elements(w)
		if err != nil {
			return d, err
		}
		n.Inputs[i] = d.ID
		descs[d.ID] = d
	}
	n.Outputs = slices.Clone(n.Outputs)
	for i, w := range e.out {
		n.Outputs[i].ID = p.next()
		if _, has := p.again[w]; w.live || has {
			p.dead = append(p.dead, n.Outputs[i].ID) // another result of the same node
			continue
		}
		p.again[w] = n.Outputs[i]
	}
	return p.again[v], p.emit([]op.Node{n}, descs)
}
