package program

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/op"
)

// template contains the nodes of one run, with numbers of slots in place of ids. Slots are numbered in the order inputs, constants, results
// of nodes. The nodes of the program come first, then a copy for each output that no node can write directly: an input, a constant, or a
// tensor that is already an earlier output.
type template struct {
	nodes   []op.Node // nodes without inputs; each run copies their outputs, but shares the shapes
	steps   []Step[int]
	drop    []uint64
	free    []int // slots of results that no Drop bit releases
	slots   int
	given   []int // for each output, the slot that a node writes
	last    []int // for each input, the index of the last node that reads it, or -1
	in, out int   // total numbers of operands and of results of all nodes
}

func newTemplate(p *Program, outputs []op.Desc) (template, error) {
	t := template{}
	slot := make(map[op.TensorID]int, len(p.Nodes))
	define := func(d op.Desc) int {
		slot[d.ID] = t.slots
		t.slots++
		return t.slots - 1
	}
	for _, d := range p.Inputs {
		define(d)
	}
	for _, d := range p.Consts {
		define(d)
	}
	bound := t.slots
	for i := range p.Nodes {
		n := &p.Nodes[i]
		var s Step[int]
		for _, id := range n.Inputs {
			s.In = append(s.In, slot[id])
		}
		for _, d := range n.Outputs {
			s.Out = append(s.Out, define(d))
		}
		t.add(n, s)
	}
	held := map[int]bool{}
	for i, id := range p.Outputs {
		s := slot[id]
		if s >= bound && !held[s] {
			held[s] = true
			t.given = append(t.given, s)
			continue
		}
		c, err := op.New(op.Copy, outputs[i:i+1])
		if err != nil {
			return t, err
		}
		held[t.slots] = true
		t.given = append(t.given, t.slots)
		t.add(&c, Step[int]{[]int{s}, []int{t.slots}})
		t.slots++
	}
	t.drop = make([]uint64, len(t.steps))
	for i, last := range LastUse(t.steps, func(s int) bool { return s < bound || held[s] }) {
		for _, s := range last {
			if !drop(&t.drop[i], t.steps[i].In, s) {
				t.free = append(t.free, s)
			}
		}
	}
	t.last = make([]int, len(p.Inputs))
	for i := range t.last {
		t.last[i] = -1
	}
	for i, s := range t.steps {
		for _, v := range s.In {
			if v < len(t.last) {
				t.last[v] = i
			}
		}
	}
	return t, nil
}

func (t *template) add(n *op.Node, s Step[int]) {
	m := *n
	m.Inputs, m.Drop = nil, 0
	t.nodes, t.steps = append(t.nodes, m), append(t.steps, s)
	t.in, t.out = t.in+len(s.In), t.out+len(s.Out)
}

// Instantiate returns the nodes of one run, to be submitted in order. inputs and consts are bound to the inputs and constants of the
// program in order; outputs are new ids for its outputs in order; next numbers intermediate results. Each output is a separate tensor, even
// if the program returns an input, a constant, or a result twice. Every intermediate result, and each input i for which donated[i] is true,
// is released by the Drop bit of the last node that reads it. If no bit can do that, it is in free, and the caller must free it after it
// has submitted the nodes. A nil donated donates nothing. An id that is bound several times is released only when all its bindings are
// donated inputs.
func (c *Compiled) Instantiate(inputs []op.TensorID, donated []bool, consts, outputs []op.TensorID, next func() op.TensorID) (nodes []op.Node, free []op.TensorID, err error) {
	t, p := &c.template, c.Program
	for _, l := range []struct {
		what      string
		got, want int
	}{{"inputs", len(inputs), len(p.Inputs)}, {"constants", len(consts), len(p.Consts)}, {"outputs", len(outputs), len(p.Outputs)}} {
		if l.got != l.want {
			return nil, nil, fmt.Errorf("program %q: %d %s, want %d: %w", p.Name, l.got, l.what, l.want, op.ErrAttr)
		}
	}
	if donated != nil && len(donated) != len(inputs) {
		return nil, nil, fmt.Errorf("program %q: donation of %d inputs, want %d: %w", p.Name, len(donated), len(inputs), op.ErrAttr)
	}
	ids := make([]op.TensorID, t.slots)
	copy(ids[copy(ids, inputs):], consts)
	for i, s := range t.given {
		ids[s] = outputs[i]
	}
	for s := len(inputs) + len(consts); s < t.slots; s++ {
		if ids[s] == 0 {
			ids[s] = next()
		}
	}
	nodes = make([]op.Node, len(t.nodes))
	in, out := make([]op.TensorID, 0, t.in), make([]op.Desc, 0, t.out)
	for i := range nodes {
		n, from, to := &nodes[i], len(in), len(out)
		*n = t.nodes[i]
		for _, s := range t.steps[i].In {
			in = append(in, ids[s])
		}
		out = append(out, n.Outputs...)
		for k, s := range t.steps[i].Out {
			out[to+k].ID = ids[s]
		}
		n.Inputs, n.Outputs, n.Drop = in[from:len(in):len(in)], out[to:len(out):len(out)], t.drop[i]
	}
	for _, s := range t.free {
		free = append(free, ids[s])
	}
	if donated == nil {
		return nodes, free, nil
	}
	return nodes, append(free, t.donate(nodes, inputs, donated, consts)...), nil
}

// CheckRun returns an error if a run of p cannot have the given inputs and number of outputs, or if a donated input is bound more than
// once. A nil donated means none.
func (p *Program) CheckRun(inputs []op.TensorID, donated []bool, outputs int) error {
	switch {
	case len(inputs) != len(p.Inputs) || outputs != len(p.Outputs):
		return fmt.Errorf("run %q: %d inputs and %d outputs, want %d and %d: %w", p.Name, len(inputs), outputs, len(p.Inputs), len(p.Outputs), op.ErrAttr)
	case donated != nil && len(donated) != len(inputs):
		return fmt.Errorf("run %q: donation of %d inputs, want %d: %w", p.Name, len(donated), len(inputs), op.ErrAttr)
	}
	for i, id := range inputs {
		if donated != nil && donated[i] && (slices.Contains(inputs[:i], id) || slices.Contains(inputs[i+1:], id)) {
			return fmt.Errorf("run %q: donated input %d, %v, is bound twice: %w", p.Name, i, id, op.ErrAttr)
		}
	}
	return nil
}

// donate sets the Drop bit of the last use of each donated input. It returns the inputs whose last use has no such bit, which the caller
// must free.
func (t *template) donate(nodes []op.Node, inputs []op.TensorID, donated []bool, consts []op.TensorID) (free []op.TensorID) {
	last := make(map[op.TensorID]int, len(inputs)) // index of the node of the last use
	kept := map[op.TensorID]bool{}
	for _, id := range consts {
		kept[id] = true
	}
	for i, id := range inputs {
		if !donated[i] {
			kept[id] = true
		}
		if at, ok := last[id]; !ok || t.last[i] > at {
			last[id] = t.last[i]
		}
	}
	for _, id := range inputs {
		if kept[id] {
			continue
		}
		kept[id] = true
		if at := last[id]; at < 0 || !drop(&nodes[at].Drop, nodes[at].Inputs, id) {
			free = append(free, id)
		}
	}
	return free
}
