package cpu

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// builder creates a plan of a program.
type builder struct {
	env    *kernel.Env
	q      *queue // computes constants
	p      *program.Program
	nodes  []op.Node
	descs  map[op.TensorID]op.Desc
	consts map[op.TensorID]kernel.Array // each with a reference that the builder holds
	made   []kernel.Array               // constants without an id, which the plan releases too
	packed int64                        // bytes of packed constants
	last   op.TensorID                  // the last id that fresh returned
}

// unit is a planned kernel, which computes one node or several fused nodes.
type unit struct {
	node      *op.Node   // the first one, for errors
	all       []*op.Node // what the kernel computes, in order
	inputs    []op.TensorID
	desc      []op.Desc
	run       kernel.Func
	dest      destination
	assembled bool // a concatenation; other units write its parts
}

// foldLimit bounds the bytes of a tensor that is computed from constants when the plan is built. A larger result is kept only if it is a
// view of another constant.
const foldLimit = 64 << 20

// build returns a plan of p. arrays contains the constants in order. Nodes that depend only on constants are computed here.
func (q *queue) build(ctx context.Context, p *program.Program, arrays []kernel.Array) (*plan, error) {
	env := &q.device.env
	live := p.Live()
	b := &builder{env: env, q: q, p: live, nodes: live.Nodes, descs: map[op.TensorID]op.Desc{}, consts: map[op.TensorID]kernel.Array{}}
	defer b.free()
	for _, d := range p.Inputs {
		b.descs[d.ID] = d
	}
	for i, d := range p.Consts {
		b.descs[d.ID] = d
		arrays[i].Buf.Retain()
		b.consts[d.ID] = arrays[i]
	}
	for i := range b.nodes {
		for _, d := range b.nodes[i].Outputs {
			b.descs[d.ID] = d
		}
	}
	if err := b.fold(ctx); err != nil {
		return nil, err
	}
	units, err := b.fuse()
	if err != nil {
		return nil, err
	}
	if err := env.Account.Hold(b.packed); err != nil {
		return nil, err
	}
	return b.plan(units), nil
}

func (b *builder) free() {
	for _, a := range b.consts {
		a.Buf.Release()
	}
	for _, a := range b.made {
		a.Buf.Release()
	}
}

func (b *builder) inputs(n *op.Node) []op.Desc {
	in := make([]op.Desc, len(n.Inputs))
	for i, id := range n.Inputs {
		in[i] = b.descs[id]
	}
	return in
}

// fold computes nodes that depend only on constants. A node that fails is kept, so that its error is reported when the program runs.
func (b *builder) fold(ctx context.Context) error {
	rest := make([]op.Node, 0, len(b.nodes))
	for i := range b.nodes {
		n := &b.nodes[i]
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
		}
		if !b.foldNode(n) {
			rest = append(rest, *n)
		}
	}
	b.nodes = rest
	return nil
}

// foldNode replaces the results of n by constants if possible, and reports whether it did.
func (b *builder) foldNode(n *op.Node) bool {
	args := make([]kernel.Array, len(n.Inputs))
	for i, id := range n.Inputs {
		a, ok := b.consts[id]
		if !ok {
			return false
		}
		args[i] = a
	}
	if n.Op == op.RandomBits || n.Op == op.RandomBitsAt {
		for _, d := range n.Outputs {
			if d.Bytes() > foldLimit {
				return false
			}
		}
	}
	f, err := prepare(n, b.inputs(n))
	if err != nil {
		return false
	}
	outs := make([]kernel.Array, len(n.Outputs))
	if b.q.invoke(b.env, f, args, 0, n.Outputs, outs, nil) != nil {
		return false
	}
	for _, a := range outs {
		if a.Buf.Size() > foldLimit && a.Buf.Sole() { // large, and not a view of another constant
			for _, a := range outs {
				a.Buf.Release()
			}
			return false
		}
	}
	for i, d := range n.Outputs {
		b.consts[d.ID] = outs[i]
	}
	return true
}

// plan assigns slots and returns the plan.
func (b *builder) plan(units []unit) *plan {
	pl := &plan{name: b.p.Name, program: b.p, inputs: b.p.Inputs, account: b.env.Account, packed: b.packed}
	slots := map[op.TensorID]int{}
	for i, d := range b.p.Inputs {
		slots[d.ID] = i
	}
	pl.slots = len(b.p.Inputs)
	constant := func(ids []op.TensorID) {
		for _, id := range ids {
			if _, ok := slots[id]; !ok {
				if a, ok := b.consts[id]; ok {
					slots[id] = pl.hold(a)
				}
			}
		}
	}
	for i := range units {
		constant(units[i].inputs)
	}
	constant(b.p.Outputs)
	pl.temps = pl.slots
	for i := range units {
		u := &units[i]
		st := step{run: u.run, node: u.node, all: u.all, assembled: u.assembled, desc: u.desc, into: -1}
		if u.dest.id != 0 {
			st.into, st.part = slots[u.dest.id], u.dest.view
		}
		for _, id := range u.inputs {
			st.in = append(st.in, slots[id])
		}
		for _, d := range u.desc {
			slots[d.ID] = pl.slots
			st.out = append(st.out, pl.slots)
			pl.slots++
		}
		pl.steps = append(pl.steps, st)
	}
	for _, id := range b.p.Outputs {
		pl.outputs = append(pl.outputs, slots[id])
	}
	pl.schedule()
	return pl
}

// hold adds a constant as a slot of the frame and returns its number.
func (pl *plan) hold(a kernel.Array) int {
	a.Buf.Retain()
	pl.consts = append(pl.consts, a)
	pl.slots++
	return pl.slots - 1
}
