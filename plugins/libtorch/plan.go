package libtorch

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

var (
	_ engine.Planner[*tensor]  = (*device)(nil)
	_ engine.Profiled[*tensor] = (*plan)(nil)
)

// plan is a program as a sequence of steps, which one command of a queue executes. Tensors are in numbered slots: first the inputs, then
// the constants, then the results of steps.
type plan struct {
	dev     *device
	p       *program.Program
	steps   []step
	slots   int
	consts  []*tensor
	release []func()
	outputs []int
}

// step is a node with its kernel.
type step struct {
	node    op.Node
	run     kernel
	in, out []int
	descs   []op.Desc // descriptions of the operands
	free    []int     // slots of results that no later step uses
}

// Plan implements engine.Planner. A group of nodes that torch computes by one operator becomes one step; see fuse.
func (d *device) Plan(_ context.Context, _ engine.Queue[*tensor], p *program.Program, consts []engine.Const[*tensor]) (engine.Plan[*tensor], error) {
	p = p.Live()
	descs := p.Descs()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = descs[id]
		}
		if err := d.caps.Check(n, in); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
	}
	x := &plan{dev: d, p: p}
	at := map[op.TensorID]int{}
	for _, list := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, desc := range list {
			at[desc.ID] = len(at)
		}
	}
	for _, f := range d.fuse(p) {
		s := step{node: f.Node, run: f.run}
		for _, id := range f.Inputs {
			s.in, s.descs = append(s.in, at[id]), append(s.descs, descs[id])
		}
		for _, o := range f.Outputs {
			descs[o.ID] = o
			at[o.ID] = len(at)
			s.out = append(s.out, at[o.ID])
		}
		x.steps = append(x.steps, s)
	}
	x.slots = len(at)
	for _, id := range p.Outputs {
		x.outputs = append(x.outputs, at[id])
	}
	x.schedule()
	for _, c := range consts {
		x.consts, x.release = append(x.consts, c.Value), append(x.release, c.Retain())
	}
	return x, nil
}

// schedule sets the free slots of each step.
func (x *plan) schedule() {
	held := map[int]bool{}
	for i := range len(x.p.Inputs) + len(x.p.Consts) {
		held[i] = true
	}
	for _, i := range x.outputs {
		held[i] = true
	}
	uses := make([]program.Step[int], len(x.steps))
	for i := range x.steps {
		uses[i] = program.Step[int]{In: x.steps[i].in, Out: x.steps[i].out}
	}
	for i, free := range program.LastUse(uses, func(k int) bool { return held[k] }) {
		x.steps[i].free = free
	}
}

// Run implements engine.Plan. It does not wait for the steps.
func (x *plan) Run(eq engine.Queue[*tensor], in []*tensor, _ []bool, out []*tensor) error {
	x.start(eq, in, out, nil)
	return nil
}

// RunProfiled implements engine.Profiled: it waits for the steps.
func (x *plan) RunProfiled(eq engine.Queue[*tensor], in []*tensor, _ []bool, out []*tensor, t *engine.Steps) error {
	var took []span
	x.start(eq, in, out, &took)
	m, err := eq.(*queue).Record()
	if err != nil {
		return err
	}
	_ = m.Wait() // the command reports its failure
	for i := range took {
		s := &x.steps[i]
		t.Took(i, took[i].began, took[i].took, func() core.ProfileStep { return engine.StepOf(&s.node, s.descs) })
	}
	return nil
}

// start appends a command that runs the plan to the queue.
func (x *plan) start(eq engine.Queue[*tensor], in, out []*tensor, took *[]span) {
	q := eq.(*queue)
	c := &command{kind: doPlan, plan: x, in: append(append([]*tensor(nil), in...), x.consts...), spans: took}
	descs := x.p.OutputDescs()
	for i := range out {
		out[i] = newTensor(descs[i], q)
	}
	c.out = append(c.out, out...)
	q.since = append(q.since, c)
	q.push(c)
}

// Close implements engine.Plan.
func (x *plan) Close() {
	for _, f := range x.release {
		f()
	}
}
