package graphs

import (
	"context"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Mode is a way to compute a graph on a backend.
type Mode string

// The modes.
const (
	Nodes      Mode = "nodes"      // submitted as nodes, intermediate results dropped at their last use
	AsProgram  Mode = "program"    // defined and run twice
	Donating   Mode = "donating"   // defined and run twice, the second time with all inputs donated
	Primitives Mode = "primitives" // decomposed into primitives first, then as Nodes
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{Nodes, AsProgram, Donating, Primitives} }

// Run computes g on device 0 of b and returns its outputs.
func (g *Graph) Run(ctx context.Context, b core.Backend, m Mode) ([]ref.Tensor, error) {
	dev, err := b.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	s, err := dev.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return g.RunOn(ctx, b.Info().Name, dev, s, m)
}

// RunOn is like Run, on stream s of dev. name is the name of the backend. If dev has no core.Programs, AsProgram and Donating do the same
// as Nodes.
func (g *Graph) RunOn(ctx context.Context, name string, dev core.Device, s core.Stream, m Mode) ([]ref.Tensor, error) {
	target := core.TargetOf(name, dev)
	if m == Primitives {
		supports := target.Supports
		target.Supports = func(n *op.Node, in []op.Desc) error {
			if op.Lookup(n.Op).Class != op.Primitive {
				return fmt.Errorf("%v is a composite: %w", n.Op, core.ErrUnsupported)
			}
			return supports(n, in)
		}
	}
	p, err := program.Lower(target, g.Program)
	if err != nil {
		return nil, err
	}
	r := runner{dev, s, dev.NewIDs(greatest(p) + 1)}
	for _, side := range []struct {
		descs  []op.Desc
		values []ref.Tensor
	}{{p.Inputs, g.Inputs}, {p.Consts, g.Consts}} {
		for i, d := range side.descs {
			d.ID = r.id(d.ID)
			if err := s.Write(ctx, d, side.values[i].Bytes()); err != nil {
				return nil, err
			}
		}
	}
	ids := r.ids(p.Outputs)
	if programs, ok := core.Extension[core.Programs](dev); ok && (m == AsProgram || m == Donating) {
		if ids, err = r.program(ctx, programs, p, m == Donating); err != nil {
			return nil, err
		}
	} else if err := s.Submit(r.nodes(p), nil); err != nil {
		return nil, err
	}
	outs := make([]ref.Tensor, len(ids))
	for i, d := range p.OutputDescs() {
		data := make([]byte, d.Bytes())
		if err := core.Read(ctx, s, ids[i], data); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		if outs[i], err = ref.FromBytes(d, data); err != nil {
			return nil, err
		}
	}
	return outs, core.Sync(ctx, s)
}

// runner maps the ids of a program to ids of a device, starting at base.
type runner struct {
	dev    core.Device
	stream core.Stream
	base   op.TensorID
}

func greatest(p *program.Program) int {
	last := op.TensorID(0)
	for _, ds := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			last = max(last, d.ID)
		}
	}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			last = max(last, d.ID)
		}
	}
	return int(last)
}

func (r runner) id(local op.TensorID) op.TensorID {
	return op.NewTensorID(r.base.Generation(), r.base.Sequence()+local.Sequence())
}

func (r runner) ids(local []op.TensorID) []op.TensorID {
	l := make([]op.TensorID, len(local))
	for i, id := range local {
		l[i] = r.id(id)
	}
	return l
}

func (r runner) idsOf(ds []op.Desc) []op.TensorID {
	l := make([]op.TensorID, len(ds))
	for i, d := range ds {
		l[i] = r.id(d.ID)
	}
	return l
}

// program defines p and runs it twice, because the state that the first run leaves must not change the second. It returns the
// output ids of the second run.
func (r runner) program(ctx context.Context, programs core.Programs, p *program.Program, donating bool) ([]op.TensorID, error) {
	id, err := programs.Define(ctx, r.stream, p, r.idsOf(p.Consts))
	if err != nil {
		return nil, err
	}
	var outs []op.TensorID
	for second := range 2 {
		run := core.Run{Program: id, Inputs: r.idsOf(p.Inputs)}
		for range p.Outputs {
			run.Outputs = append(run.Outputs, r.dev.NewIDs(1))
		}
		if donating && second == 1 {
			run.Donated = slices.Repeat([]bool{true}, len(run.Inputs))
		}
		if err := programs.Run(r.stream, run); err != nil {
			return nil, err
		}
		outs = run.Outputs
	}
	return outs, nil
}

// nodes returns p's nodes with every intermediate result dropped at its last use.
func (r runner) nodes(p *program.Program) []op.Node {
	nodes := make([]op.Node, len(p.Nodes))
	for i, last := range p.LastUse() {
		n := p.Nodes[i]
		for _, id := range last {
			for k, in := range n.Inputs {
				if in == id && k < 64 {
					n.Drop |= 1 << k
					break
				}
			}
		}
		n.Inputs, n.Outputs = r.ids(n.Inputs), slices.Clone(n.Outputs)
		for k := range n.Outputs {
			n.Outputs[k].ID = r.id(n.Outputs[k].ID)
		}
		nodes[i] = n
	}
	return nodes
}
