package autodiff

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// apply runs e's rule. Its results have one hold each, unless they are not the pass's own.
func (p *pass) apply(e *entry, need []bool, dy []op.Desc) ([]op.Desc, error) {
	if e.custom != nil {
		return p.custom(e, dy)
	}
	if !e.rule.Exists() {
		return nil, fmt.Errorf("the op has no gradient: register one, or detach its operands: %w", core.ErrUnsupported)
	}
	n := gradient.Node{Attrs: e.node.Attrs, Need: need, DY: dy, Has: map[op.TensorID]bool{}}
	for _, v := range e.in {
		n.X = append(n.X, v.desc)
	}
	for _, v := range e.out {
		n.Y = append(n.Y, v.desc)
	}
	readable := map[op.TensorID]op.Desc{}
	for _, v := range e.saved {
		d, err := p.elements(v)
		if err != nil {
			return nil, err
		}
		readable[d.ID], n.Has[d.ID] = d, true
		for i, w := range e.in {
			if w == v {
				n.X[i] = d
			}
		}
		for i, w := range e.out {
			if w == v {
				n.Y[i] = d
			}
		}
	}
	for _, d := range dy {
		if d.ID != 0 {
			readable[d.ID], n.Has[d.ID] = d, true
		}
	}
	b := op.NewBuilder(p.next)
	grads := e.rule.Record(b, n)
	if b.Err() != nil {
		return nil, b.Err()
	}
	return p.finish(b.Nodes, grads, readable)
}

// finish queues the nodes of a rule and drops tensors that only they use.
func (p *pass) finish(nodes []op.Node, grads []op.Desc, readable map[op.TensorID]op.Desc) ([]op.Desc, error) {
	last := map[op.TensorID]int{} // for each output of the nodes: the node that uses it last
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

// emit queues nodes for the stream below, decomposed where it lacks them.
func (p *pass) emit(nodes []op.Node, descs map[op.TensorID]op.Desc) error {
	var in []op.Desc
	for i := range nodes {
		n := &nodes[i]
		in = in[:0]
		for _, id := range n.Inputs {
			in = append(in, descs[id])
		}
		parts, free, err := program.LowerNode(p.target, n, in, p.next)
		if err != nil {
			return err
		}
		p.out = append(p.out, parts...)
		p.dead = append(p.dead, free...)
	}
	return nil
}

// custom runs a gradient of the caller's own on the stream below.
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

// call lets the caller's function work with the stream below while others record.
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

// elements returns v below, computed again if it was evicted.
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
