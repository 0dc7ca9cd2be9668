package engine

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// replay is a Plan that runs a program node by node, for devices without a Planner. Tensors are numbered slots of a frame: inputs first,
// then constants, then outputs of nodes.
type replay[V any] struct {
	d       *device[V]
	p       *program.Program
	steps   []step
	slots   int
	consts  []slot[V]
	release []func()
	outputs []int
}

// step is a node with its slots.
type step struct {
	node    *op.Node
	in, out []int
	last    uint64 // bits of operands that are not used afterwards
	free    []int  // slots that are not used afterwards
}

// slot is a value within a run.
type slot[V any] struct {
	value V
	desc  op.Desc
}

func newReplay[V any](d *device[V], p *program.Program, consts []Const[V]) (*replay[V], error) {
	r := &replay[V]{d: d, p: p.Live()}
	at := map[op.TensorID]int{}
	for _, list := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, desc := range list {
			at[desc.ID] = len(at)
		}
	}
	for _, c := range consts {
		r.consts = append(r.consts, slot[V]{c.Value, c.Desc})
		r.release = append(r.release, c.Retain())
	}
	caps := d.author.Capabilities()
	descs := map[op.TensorID]op.Desc{}
	for _, list := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, desc := range list {
			descs[desc.ID] = desc
		}
	}
	for i := range r.p.Nodes {
		n := &r.p.Nodes[i]
		st := step{node: n}
		var in []op.Desc
		for _, id := range n.Inputs {
			st.in = append(st.in, at[id])
			in = append(in, descs[id])
		}
		if err := caps.Check(n, in); err != nil {
			r.Close()
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		for _, o := range n.Outputs {
			at[o.ID] = len(at)
			descs[o.ID] = o
			st.out = append(st.out, at[o.ID])
		}
		r.steps = append(r.steps, st)
	}
	r.slots = len(at)
	for _, id := range p.Outputs {
		r.outputs = append(r.outputs, at[id])
	}
	r.schedule()
	return r, nil
}

// schedule finds the last use of each slot, including inputs, which the caller may have donated.
func (r *replay[V]) schedule() {
	needed := make([]bool, r.slots)
	for i := range r.consts {
		needed[len(r.p.Inputs)+i] = true
	}
	for _, i := range r.outputs {
		needed[i] = true
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		st := &r.steps[i]
		for _, k := range st.out {
			if !needed[k] {
				needed[k] = true
				st.free = append(st.free, k)
			}
		}
		dies := map[int]int{} // number of uses of a slot by the node
		for _, k := range st.in {
			if !needed[k] {
				dies[k]++
			}
		}
		for j, k := range st.in {
			if dies[k] == 1 && j < 64 {
				st.last |= 1 << j
			}
			if dies[k] > 0 && !needed[k] {
				needed[k] = true
				st.free = append(st.free, k)
			}
		}
	}
}

// Run implements Plan.
func (r *replay[V]) Run(q Queue[V], in []V, owned []bool, out []V) error {
	return r.RunProfiled(q, in, owned, out, nil)
}

// RunProfiled implements Profiled. An asynchronous queue only starts the nodes, so their times are not recorded.
func (r *replay[V]) RunProfiled(q Queue[V], in []V, owned []bool, out []V, t *Steps) (err error) {
	if _, async := q.(Asynchronous[V]); async {
		t = nil
	}
	frame := make([]slot[V], r.slots)
	for i, v := range in {
		frame[i] = slot[V]{v, r.p.Inputs[i]}
	}
	for i, c := range r.consts {
		frame[len(in)+i] = c
	}
	made := make([]bool, r.slots) // values that the run must release
	defer func() {
		for i, m := range made {
			if m {
				r.d.author.Release(frame[i].value)
			}
		}
	}()
	var call Call[V]
	for i := range r.steps {
		st := &r.steps[i]
		n := st.node
		call.Node, call.Owned, call.taken = n, 0, 0
		call.In, call.Descs = call.In[:0], call.Descs[:0]
		call.Out = resize(call.Out, len(n.Outputs))
		clear(call.Out)
		for k, j := range st.in {
			call.In, call.Descs = append(call.In, frame[j].value), append(call.Descs, frame[j].desc)
			if st.last>>min(k, 63)&1 != 0 && k < 64 && (made[j] || j < len(in) && owned[j]) {
				call.Owned |= 1 << k
			}
		}
		began := t.Now()
		if err := guard(func() error { return q.Execute(&call) }); err != nil {
			return &core.NodeError{Op: n.Op.String(), Program: r.p.Name, Outputs: n.Outputs, Err: err}
		}
		if t != nil {
			t.Step(i, began, func() core.ProfileStep { return StepOf(n, call.Descs) })
		}
		for k, j := range st.in {
			if k < 64 && call.taken>>k&1 != 0 {
				made[j] = false
				if j < len(in) {
					owned[j] = false
				}
			}
		}
		for k, j := range st.out {
			frame[j] = slot[V]{call.Out[k], n.Outputs[k]}
			made[j] = true
		}
		for _, j := range st.free {
			if made[j] {
				made[j] = false
				r.d.author.Release(frame[j].value)
			}
		}
	}
	return r.results(q, frame, made, in, owned, out)
}

// results moves outputs from the frame to out. It copies values that the run does not own or returns twice.
func (r *replay[V]) results(q Queue[V], frame []slot[V], made []bool, in []V, owned []bool, out []V) error {
	for i, j := range r.outputs {
		switch {
		case made[j]:
			out[i], made[j] = frame[j].value, false
		case j < len(in) && owned[j]:
			out[i], owned[j] = frame[j].value, false
		default:
			v, err := r.copy(q, frame[j])
			if err != nil {
				for k := range out[:i] {
					r.d.author.Release(out[k])
				}
				clear(out)
				return err
			}
			out[i] = v
		}
	}
	return nil
}

func (r *replay[V]) copy(q Queue[V], s slot[V]) (v V, err error) {
	n, err := op.New(op.Copy, []op.Desc{s.desc})
	if err != nil {
		return v, err
	}
	call := Call[V]{Node: &n, In: []V{s.value}, Descs: []op.Desc{s.desc}, Out: make([]V, 1)}
	if err := guard(func() error { return q.Execute(&call) }); err != nil {
		return v, &core.NodeError{Op: n.Op.String(), Program: r.p.Name, Outputs: n.Outputs, Err: err}
	}
	return call.Out[0], nil
}

// Close implements Plan.
func (r *replay[V]) Close() {
	for _, f := range r.release {
		f()
	}
}
