package gpu

import (
	"math/big"
	"slices"
)

// touch is an access of a step to a buffer of the plan, or, with none, to the frame's own memory.
type touch struct {
	buffer int
	writes bool
}

// relate sets, for each step, the earlier steps for which the step has to wait. An earlier step writes memory that the step reads or
// writes, or reads memory that the step writes. Buffers that share memory, now or in another run, count as one.
func (f *frame) relate(inOrder bool) {
	if inOrder {
		for i := range f.steps {
			f.steps[i].After = nil
		}
		return
	}
	own := len(f.plan.buffers) // the index for the frame's own memory
	shared := f.plan.shared()
	type state struct {
		writer  int
		readers []int
	}
	states := make([]state, own+1)
	for i := range states {
		states[i].writer = none
	}
	before := make([]big.Int, len(f.steps)) // by step: all steps before it, as bits
	for i := range f.steps {
		var all []int
		for _, t := range f.touched[i] {
			b := t.buffer
			if b == none {
				b = own
			}
			for _, k := range append([]int{b}, shared[b]...) {
				if w := states[k].writer; w != none {
					all = append(all, w)
				}
				if t.writes {
					all = append(all, states[k].readers...)
				}
			}
		}
		slices.Sort(all)
		after := []int{}
		for _, k := range slices.Backward(slices.Compact(all)) {
			if before[i].Bit(k) == 0 { // not implied by a step that is listed
				after = append(after, k)
				before[i].Or(&before[i], &before[k]).SetBit(&before[i], k, 1)
			}
		}
		f.steps[i].After = after
		for _, t := range f.touched[i] {
			b := t.buffer
			if b == none {
				b = own
			}
			if t.writes {
				states[b] = state{writer: i}
			}
		}
		for _, t := range f.touched[i] {
			if t.buffer != none && !t.writes {
				states[t.buffer].readers = append(states[t.buffer].readers, i)
			} else if t.buffer == none && !t.writes {
				states[own].readers = append(states[own].readers, i)
			}
		}
	}
}

// shared lists, by buffer, the other buffers that may share memory with it: overlapping temporaries, and, for an output, the inputs whose
// memory the output may reuse.
func (p *plan) shared() map[int][]int {
	all := map[int][]int{}
	pair := func(i, k int) { all[i], all[k] = append(all[i], k), append(all[k], i) }
	var temps []int
	for i := range p.buffers {
		if b := &p.buffers[i]; b.kind == isTemp && b.root == i && b.last != none {
			temps = append(temps, i)
		}
	}
	slices.SortFunc(temps, func(i, k int) int { return int(p.buffers[i].offset - p.buffers[k].offset) })
	for n, i := range temps {
		for _, k := range temps[n+1:] {
			if p.buffers[k].offset >= p.buffers[i].offset+max(p.buffers[i].bytes, 1) {
				break
			}
			pair(i, k)
		}
	}
	for k, d := range p.donors {
		if d != none {
			pair(d, p.made[k])
		}
	}
	return all
}
