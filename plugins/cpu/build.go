package cpu

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// builder makes a plan of a program.
type builder struct {
	s      *stream
	p      *program.Program
	nodes  []op.Node
	descs  map[op.TensorID]op.Desc
	consts map[op.TensorID]kernel.Array // each with a holder of the builder's
}

// foldLimit is the size of a result, in bytes, up to which nodes on constants are computed once; larger ones are when
// they take no memory of their own.
const foldLimit = 64 << 20

// build makes a plan of p, whose constants are arrays in order. The caller holds exec.
func (s *stream) build(ctx context.Context, p *program.Program, arrays []kernel.Array) (*plan, error) {
	live := p.Live()
	b := &builder{s: s, p: live, nodes: live.Nodes, descs: map[op.TensorID]op.Desc{}, consts: map[op.TensorID]kernel.Array{}}
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
	return b.plan()
}

func (b *builder) free() {
	for _, a := range b.consts {
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

// fold computes nodes that depend on constants alone. A node that fails stays, so that its error comes when it runs.
func (b *builder) fold(ctx context.Context) error {
	rest := make([]op.Node, 0, len(b.nodes))
	for i := range b.nodes {
		n := &b.nodes[i]
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if !b.foldNode(n) {
			rest = append(rest, *n)
		}
	}
	b.nodes = rest
	return nil
}

// foldNode reports whether n has become constants.
func (b *builder) foldNode(n *op.Node) bool {
	args := make([]kernel.Array, len(n.Inputs))
	for i, id := range n.Inputs {
		a, ok := b.consts[id]
		if !ok {
			return false
		}
		args[i] = a
	}
	if n.Op == op.RandomBits {
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
	if b.s.invoke(f, args, 0, n.Outputs, outs) != nil {
		return false
	}
	for _, a := range outs {
		if a.Buf.Size() > foldLimit && a.Buf.Sole() { // big, and no view of another constant
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

// plan numbers slots and prepares the kernels.
func (b *builder) plan() (*plan, error) {
	pl := &plan{name: b.p.Name, inputs: b.p.Inputs, results: make([]kernel.Array, len(b.p.Outputs))}
	slots := map[op.TensorID]int{}
	for i, d := range b.p.Inputs {
		slots[d.ID] = i
	}
	n := len(b.p.Inputs)
	pl.frame = make([]kernel.Array, n)
	for i := range b.nodes {
		st, ids, err := b.step(&b.nodes[i])
		if err != nil {
			pl.free()
			return nil, err
		}
		for _, id := range ids {
			if _, ok := slots[id]; !ok {
				if a, ok := b.consts[id]; ok {
					slots[id] = pl.hold(a)
				}
			}
		}
		pl.steps = append(pl.steps, st)
	}
	for _, id := range b.p.Outputs {
		if _, ok := slots[id]; !ok {
			if a, ok := b.consts[id]; ok {
				slots[id] = pl.hold(a)
			}
		}
	}
	pl.temps = len(pl.frame)
	for i := range pl.steps {
		st := &pl.steps[i]
		for _, d := range st.desc {
			slots[d.ID] = len(pl.frame)
			st.out = append(st.out, len(pl.frame))
			pl.frame = append(pl.frame, kernel.Array{})
		}
		for _, id := range st.node.Inputs {
			st.in = append(st.in, slots[id])
		}
		st.args, st.outs = make([]kernel.Array, len(st.in)), make([]kernel.Array, len(st.out))
	}
	for _, id := range b.p.Outputs {
		pl.outputs = append(pl.outputs, slots[id])
	}
	pl.schedule()
	return pl, nil
}

// hold makes a constant a slot of the frame.
func (pl *plan) hold(a kernel.Array) int {
	a.Buf.Retain()
	pl.consts = append(pl.consts, a)
	pl.frame = append(pl.frame, a)
	return len(pl.frame) - 1
}

// step prepares the kernel of a node and says which tensors it reads.
func (b *builder) step(n *op.Node) (step, []op.TensorID, error) {
	f, err := prepare(n, b.inputs(n))
	if err != nil {
		return step{}, nil, err
	}
	return step{run: f, node: n, desc: n.Outputs}, n.Inputs, nil
}
