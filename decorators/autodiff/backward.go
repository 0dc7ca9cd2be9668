package autodiff

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// pass is one backward pass.
type pass struct {
	*stream
	grads   map[*value]op.Desc  // accumulated so far
	holders map[op.TensorID]int // number of holds on gradients that the pass created
	again   map[*value]op.Desc  // recomputed values
	wanted  map[*value]bool     // values whose gradients were requested
	useful  map[*entry]bool     // entries between the roots and a wanted value; nil: all
	pieces  map[*value][]piece  // gradients of parts of values, not yet added to the gradients of the whole values

	// Memory for the entry that is visited.
	use      use
	key      []byte
	dy, grad []op.Desc
	need     []bool
}

// abandon frees the tensors that a failed pass created.
func (p *pass) abandon() {
	for id := range p.holders {
		p.dead = append(p.dead, id)
	}
	for _, d := range p.again {
		p.dead = append(p.dead, d.ID)
	}
	_ = p.flush() // the fault of the pass is the one to report
}

func (p *pass) run(starts []*value, seeds []op.Desc, wrt []op.TensorID) ([]core.Gradient, error) {
	entries, leaves := reach(starts)
	if wrt == nil {
		for _, v := range leaves {
			p.wanted[v] = true
		}
	} else {
		for _, id := range wrt {
			if v := p.values[id]; v != nil {
				p.wanted[v] = true
			}
		}
		p.narrow(entries)
	}
	for i, v := range starts {
		if err := p.add(v, seeds[i]); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if err := p.visit(e); err != nil {
			return nil, fmt.Errorf("autodiff: gradient of %s: %w", e.name(), err)
		}
	}
	return p.results(leaves, wrt)
}

func (e *entry) name() string {
	if e.custom != nil {
		return e.custom.Name
	}
	return e.node.Op.String()
}

// reach returns the entries that values depend on, latest first, and the leaves.
func reach(values []*value) (entries []*entry, leaves []*value) {
	seen := map[*entry]bool{}
	leaf := map[*value]bool{}
	for work := slices.Clone(values); len(work) > 0; {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if v.entry == nil {
			if !leaf[v] {
				leaf[v] = true
				leaves = append(leaves, v)
			}
			continue
		}
		if seen[v.entry] {
			continue
		}
		seen[v.entry] = true
		entries = append(entries, v.entry)
		for i, p := range v.entry.in {
			if v.entry.need[i] {
				work = append(work, p)
			}
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		if a.sequence > b.sequence {
			return -1
		}
		return 1
	})
	return entries, leaves
}

// narrow finds the entries from which a wanted tensor is reachable.
func (p *pass) narrow(entries []*entry) {
	p.useful = map[*entry]bool{}
	for _, e := range slices.Backward(entries) {
		for i, v := range e.in {
			if e.need[i] && (p.wanted[v] || v.entry != nil && p.useful[v.entry]) {
				p.useful[e] = true
			}
		}
	}
}

// add accumulates g into v's gradient. g need not belong to the pass.
func (p *pass) add(v *value, g op.Desc) error {
	old, has := p.grads[v]
	if _, ours := p.holders[g.ID]; ours {
		p.holders[g.ID]++
	}
	if !has {
		p.grads[v] = g
		return nil
	}
	n, err := op.New(op.Add, []op.Desc{old, g})
	if err != nil {
		return err
	}
	sum := &n.Outputs[0]
	sum.ID = p.next()
	p.holders[sum.ID] = 1
	p.grads[v] = *sum
	for i, id := range n.Inputs {
		if _, ours := p.holders[id]; !ours {
			continue
		}
		if p.holders[id]--; p.holders[id] == 0 {
			delete(p.holders, id)
			n.Drop |= 1 << i
		}
	}
	return p.queueNode(&n, []op.Desc{old, g})
}

// release releases one hold on a gradient.
func (p *pass) release(g op.Desc) {
	if _, ours := p.holders[g.ID]; !ours {
		return
	}
	if p.holders[g.ID]--; p.holders[g.ID] == 0 {
		delete(p.holders, g.ID)
		p.drop(g.ID)
	}
}

// drop frees a tensor. If queued nodes use it, the last of them drops it, so that the next node can reuse its memory. Otherwise it is freed
// with the next command.
func (p *pass) drop(id op.TensorID) {
	for i := len(p.out) - 1; i >= 0; i-- {
		if k := slices.Index(p.out[i].Inputs, id); k >= 0 && k < 64 {
			p.out[i].Drop |= 1 << k
			return
		}
	}
	p.dead = append(p.dead, id)
}

// visit passes the gradients of e's results on to its operands.
func (p *pass) visit(e *entry) error {
	defer p.passed(e)
	if p.useful != nil && !p.useful[e] {
		return p.leave(e)
	}
	p.dy = append(p.dy[:0], make([]op.Desc, len(e.out))...)
	dy, some := p.dy, false
	for i, v := range e.out {
		if err := p.gather(v); err != nil {
			return err
		}
		if g, ok := p.grads[v]; ok {
			dy[i], some = g, true
		}
	}
	if !some {
		return nil
	}
	need := e.need
	if p.useful != nil {
		p.need = append(p.need[:0], need...)
		need = p.need
		for i, v := range e.in {
			need[i] = need[i] && (p.wanted[v] || v.entry != nil && p.useful[v.entry])
		}
	}
	if axis, start, ok := pieceOf(e); ok && need[0] {
		p.keep(e.in[0], piece{axis, start, dy[0]})
		return p.leave(e)
	}
	grads, err := p.apply(e, need, dy)
	if err != nil {
		return err
	}
	for i, g := range grads {
		if !need[i] || g.ID == 0 {
			continue
		}
		if !g.SameType(e.in[i].desc) {
			return fmt.Errorf("operand %d, got a gradient of %v, want %v: %w", i, g, e.in[i].desc, core.ErrShape)
		}
		if err := p.add(e.in[i], g); err != nil {
			return err
		}
	}
	for _, g := range grads {
		p.release(g) // the hold of apply
	}
	return p.leave(e)
}

// leave drops the gradients of e's results, unless they were requested.
func (p *pass) leave(e *entry) error {
	for _, v := range e.out {
		if g, ok := p.grads[v]; ok && !p.wanted[v] {
			delete(p.grads, v)
			p.release(g)
		}
	}
	return p.flushIfFull()
}

// passed drops the recomputed results of e: only later entries read them.
func (p *pass) passed(e *entry) {
	for _, v := range e.out {
		if d, ok := p.again[v]; ok {
			delete(p.again, v)
			p.dead = append(p.dead, d.ID)
		}
	}
}

// flushIfFull sends the queued commands if there are enough for a message.
func (p *pass) flushIfFull() error {
	if len(p.out) < 64 {
		return nil
	}
	return p.flush()
}

// results returns the gradients, each as a separate tensor.
func (p *pass) results(leaves []*value, wrt []op.TensorID) ([]core.Gradient, error) {
	reached := map[*value]bool{}
	var list []*value
	for _, v := range leaves {
		reached[v] = true
	}
	if wrt == nil {
		list = leaves
	} else {
		for _, id := range wrt {
			list = append(list, p.values[id])
		}
	}
	grads := make([]core.Gradient, len(list))
	for i, v := range list {
		if v == nil {
			grads[i].Of = wrt[i]
			continue
		}
		grads[i].Of = v.desc.ID
		if err := p.gather(v); err != nil {
			return nil, err
		}
		g, has := p.grads[v]
		if !has && !reached[v] {
			continue
		}
		if has && p.holders[g.ID] == 1 {
			delete(p.holders, g.ID)
		} else if err := p.copied(v, &g, has); err != nil {
			return nil, err
		}
		delete(p.grads, v)
		grads[i].Desc = g
	}
	for _, g := range p.grads { // requested twice, or not requested
		p.release(g)
	}
	for _, d := range p.again {
		p.dead = append(p.dead, d.ID)
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	return grads, nil
}

// copied replaces a gradient that is referenced elsewhere by a copy. If v has no gradient, because all paths to the roots have zero slope,
// copied sets the gradient to zeros.
func (p *pass) copied(v *value, g *op.Desc, has bool) error {
	b := op.NewBuilder(p.next)
	old := *g
	if has {
		*g = b.Un(op.Copy, old)
		p.release(old)
	} else {
		*g = b.Un(op.Copy, b.Expand(b.Like(v.desc, 0), v.desc.Shape))
	}
	if b.Err() != nil {
		return b.Err()
	}
	descs := map[op.TensorID]op.Desc{old.ID: old}
	for k := range b.Nodes {
		for _, d := range b.Nodes[k].Outputs {
			descs[d.ID] = d
		}
		if k > 0 {
			b.Nodes[k].Drop = 1
		}
	}
	return p.emit(b.Nodes, descs)
}
