package autodiff

import (
	"github.com/goburn/burn/core/op"
)

// Checkpointing says which tensors of the forward pass are kept for the backward pass and which are computed again. On a
// deterministic backend every setting results in the same gradients, bit for bit.
type Checkpointing struct {
	balanced bool
	budget   int64
}

var (
	// KeepAll keeps every tensor that a gradient reads. It needs the most memory and the least time.
	KeepAll = Checkpointing{}
	// Balanced keeps results that are expensive to compute (contractions, recurrences, factorisations) and recomputes the rest: elementwise
	// ops, movement, reductions, activations and normalisations, which cost one pass over memory each.
	Balanced = Checkpointing{balanced: true}
)

// Budget keeps at most about the given number of bytes for backward passes. Beyond that, it evicts the oldest tensors that can be
// recomputed from kept ones: first every second tensor, then longer sequences (Chen et al., Training Deep Nets with Sublinear Memory Cost,
// 2016). If too few tensors can be recomputed, more bytes are kept.
func Budget(bytes int64) Checkpointing { return Checkpointing{budget: max(1, bytes)} }

// deepest bounds the depth of recomputation: the longest chain of entries that are run again to recompute one tensor.
const deepest = 64

// plan decides which results of e are evicted as soon as they are recorded.
func (t *tape) plan(e *entry) {
	if !t.checkpoint.balanced || e.custom != nil || !op.Lookup(e.node.Op).Traits.Has(op.Cheap) {
		return
	}
	for _, v := range e.in {
		e.replay = append(e.replay, t.hold(v))
	}
	for _, v := range e.out {
		if v.entry == e {
			v.evicted, v.depth = true, below(e)+1
		}
	}
}

// below returns the greatest depth among e's evicted operands, 0 if there are none.
func below(e *entry) int {
	d := 0
	for _, p := range e.in {
		if p.evicted {
			d = max(d, p.depth)
		}
	}
	return d
}

// fit evicts values until the budget is met or none can be evicted.
func (t *tape) fit() {
	budget := t.checkpoint.budget
	if budget == 0 || t.kept <= max(budget, t.evictFrom) {
		return
	}
	for limit := 1; limit <= deepest && t.kept > budget; limit *= 2 {
		left := t.evictable[:0]
		for _, v := range t.evictable {
			switch {
			case v.saves == 0 || v.evicted:
			case t.kept > budget && below(v.entry) < limit && t.evict(v):
			default:
				left = append(left, v)
			}
		}
		clear(t.evictable[len(left):])
		t.evictable = left
	}
	t.evictFrom = 0
	if t.kept > budget { // try again when ten percent more is held
		t.evictFrom = t.kept + t.kept/10
	}
}

// evict releases v's elements if they can be recomputed and that saves memory.
func (t *tape) evict(v *value) bool {
	e := v.entry
	if e.custom != nil || v.pinned > 0 {
		return false
	}
	if e.replay == nil {
		if cost, ok := price(e, 0); !ok || cost >= int64(v.desc.Bytes()) {
			return false
		}
		t.rerun(e, 0)
	}
	v.evicted, v.depth = true, below(e)+1
	t.kept -= int64(v.desc.Bytes())
	t.settle(v)
	return true
}

// maxRecomputeSteps bounds how many steps back in the graph price looks for values that can be recomputed instead of kept.
const maxRecomputeSteps = 4

// price returns the number of additional bytes that must be kept so that e can be run again. step is the distance of e in the graph from the
// value to evict. ok is false if e cannot be run again.
func price(e *entry, step int) (bytes int64, ok bool) {
	for _, p := range e.in {
		c, ok := priceOf(p, step)
		if !ok {
			return 0, false
		}
		bytes += c
	}
	return bytes, true
}

func priceOf(p *value, step int) (bytes int64, ok bool) {
	switch {
	case p.evicted && p.linked:
		return 0, true
	case !p.live:
		return 0, false
	case p.saves > 0:
		return 0, true
	}
	whole := int64(p.desc.Bytes())
	if again(p, step) {
		if c, ok := price(p.entry, step+1); ok && c < whole {
			return c, true
		}
	}
	return whole, true
}

// again reports whether p may be recomputed rather than kept. A value that an entry saves may not be recomputed.
func again(p *value, step int) bool {
	return step < maxRecomputeSteps && p.linked && p.saves == 0 && p.entry.custom == nil && p.entry.replay == nil
}

// rerun prepares e to be run again at the cost that price computed: it keeps the operands of e, or evicts an operand whose entry is
// cheaper to prepare in turn.
func (t *tape) rerun(e *entry, step int) {
	for _, p := range e.in {
		if !p.evicted && p.live && again(p, step) {
			if c, ok := price(p.entry, step+1); ok && c < int64(p.desc.Bytes()) {
				t.rerun(p.entry, step+1)
				p.evicted, p.depth = true, below(p.entry)+1
			}
		}
		e.replay = append(e.replay, t.hold(p))
	}
}
