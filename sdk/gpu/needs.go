package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core/op"
)

// Needs is an extension of devices of this package. It reports the memory needs of the programs that the streams of the device have run.
type Needs interface {
	// Needs returns the needs of each program, sorted by name. It may be called at any time.
	Needs() []ProgramNeeds
}

// ProgramNeeds is the memory that a program needs, in bytes.
type ProgramNeeds struct {
	Name  string
	Steps int // launches, calls and copies
	// Inputs and Outputs are the sizes of the tensors that a run receives and returns. Reused is the size of the outputs that reuse the
	// memory of inputs if these are donated.
	Inputs, Outputs, Reused int64
	// Scratch is the memory for temporaries. Live is the greatest number of bytes of temporaries that exist at one time, during step Peak.
	// The difference between Scratch and Live is lost in gaps between temporaries.
	Scratch, Live int64
	Peak          int
	// Tensors are the temporaries that exist during step Peak, sorted by their total size, the largest first.
	Tensors []TensorNeeds
}

// TensorNeeds describes temporaries of a program with the same size, which the same ops compute in the same types.
type TensorNeeds struct {
	Count int
	Bytes int64 // size of each tensor
	// First is the step that writes the first of these tensors. Last is the last step that reads one of them.
	First, Last int
	Made        string // the ops and the results of the group that computes them
	Read        string // the op of step Last
}

// Needs implements Needs.
func (d *device) Needs() []ProgramNeeds {
	plans := map[*plan]bool{}
	for _, q := range d.opened() {
		q.mu.Lock()
		for p := range q.frames {
			if p.graphs {
				plans[p] = true
			}
		}
		q.mu.Unlock()
	}
	var all []ProgramNeeds
	for p := range plans {
		all = append(all, p.needs())
	}
	slices.SortFunc(all, func(a, b ProgramNeeds) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Scratch, a.Scratch))
	})
	return all
}

func (p *plan) needs() ProgramNeeds {
	n := ProgramNeeds{Name: p.name, Steps: len(p.steps), Scratch: p.scratch}
	for _, d := range p.inputs {
		n.Inputs += int64(d.Bytes())
	}
	for k, i := range p.made {
		n.Outputs += p.buffers[i].bytes
		if p.donors[k] != none {
			n.Reused += p.buffers[i].bytes
		}
	}
	live := make([]int64, len(p.steps))
	for i := range p.buffers {
		if b := &p.buffers[i]; p.temporary(i) {
			for s := b.first; s <= b.last; s++ {
				live[s] += roundUp(max(b.bytes, 1), grain)
			}
		}
	}
	for s, v := range live {
		if v > n.Live {
			n.Live, n.Peak = v, s
		}
	}
	if n.Live == 0 {
		return n
	}
	kinds := map[string]*TensorNeeds{}
	for i := range p.buffers {
		b := &p.buffers[i]
		if !p.temporary(i) || b.first > n.Peak || b.last < n.Peak {
			continue
		}
		made := p.madeBy(b.first)
		key := fmt.Sprint(b.bytes, made)
		t := kinds[key]
		if t == nil {
			t = &TensorNeeds{Bytes: b.bytes, First: b.first, Last: none, Made: made}
			kinds[key] = t
		}
		t.Count++
		t.First = min(t.First, b.first)
		if b.last > t.Last {
			t.Last, t.Read = b.last, p.steps[b.last].node.Op.String()
		}
	}
	for _, t := range kinds {
		n.Tensors = append(n.Tensors, *t)
	}
	slices.SortFunc(n.Tensors, func(a, b TensorNeeds) int {
		return cmp.Or(cmp.Compare(int64(b.Count)*b.Bytes, int64(a.Count)*a.Bytes), cmp.Compare(a.First, b.First), cmp.Compare(b.Bytes, a.Bytes))
	})
	return n
}

// temporary reports whether buffer i has a place of its own in the scratch memory.
func (p *plan) temporary(i int) bool {
	b := &p.buffers[i]
	return b.kind == isTemp && b.root == i && b.last != none
}

// madeBy returns the ops of the group of a step, and the types of its results.
func (p *plan) madeBy(step int) string {
	x := p.steps[step].group
	var s []string
	for _, k := range x.Nodes() {
		s = append(s, p.graph.Nodes[k].Op.String())
	}
	return strings.Join(s, " ") + " -> " + descs(x.Outputs)
}

func descs(ds []op.Desc) string {
	var s []string
	for _, d := range ds {
		s = append(s, fmt.Sprint(d.DType, d.Shape))
	}
	return strings.Join(s, " ")
}
