package graphs

import (
	"context"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Mode is a way to have a graph computed.
type Mode string

// The modes.
const (
	Nodes      Mode = "nodes"      // submitted node by node, inputs dropped at their last use
	AsProgram  Mode = "program"    // defined and run
	Primitives Mode = "primitives" // decomposed into primitives first, then as Nodes
)

// Modes lists them.
func Modes() []Mode { return []Mode{Nodes, AsProgram, Primitives} }

// Run has b compute g and gives its outputs.
func (g *Graph) Run(ctx context.Context, b core.Backend, m Mode) ([]ref.Tensor, error) {
	s, err := b.OpenStream(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	target := b
	if m == Primitives {
		target = primitive{b}
	}
	p, err := core.LowerProgram(target, g.Program)
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		descs  []op.Desc
		values []ref.Tensor
	}{{p.Inputs, g.Inputs}, {p.Consts, g.Consts}} {
		for i, d := range side.descs {
			if err := s.Write(ctx, d, side.values[i].Bytes()); err != nil {
				return nil, err
			}
		}
	}
	ids := p.Outputs
	if programs, ok := core.As[core.Programs](s); ok && m == AsProgram {
		if ids, err = define(ctx, programs, p); err != nil {
			return nil, err
		}
	} else if err := s.Submit(dropped(p)); err != nil {
		return nil, err
	}
	outs := make([]ref.Tensor, len(ids))
	for i, d := range p.OutputDescs() {
		data := make([]byte, d.Bytes())
		if err := s.Read(ctx, ids[i], data); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		if outs[i], err = ref.FromBytes(d, data); err != nil {
			return nil, err
		}
	}
	return outs, s.Sync(ctx)
}

// define runs p as a program, twice, for what a first run leaves behind must not change a second; the ids are those of
// the second.
func define(ctx context.Context, s core.Programs, p *program.Program) ([]op.TensorID, error) {
	consts := make([]op.TensorID, len(p.Consts))
	for i, d := range p.Consts {
		consts[i] = d.ID
	}
	id, err := s.Define(ctx, p, consts)
	if err != nil {
		return nil, err
	}
	inputs := make([]op.TensorID, len(p.Inputs))
	for i, d := range p.Inputs {
		inputs[i] = d.ID
	}
	var outs []op.TensorID
	for run := range 2 {
		outs = outs[:0:0]
		for i := range p.Outputs {
			outs = append(outs, op.NewTensorID(0, uint64(1<<20+run*1000+i)))
		}
		if err := s.Run(id, inputs, outs); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// dropped is p's nodes with every value given up at its last use.
func dropped(p *program.Program) []op.Node {
	nodes := make([]op.Node, len(p.Nodes))
	for i, last := range p.LastUse() {
		nodes[i] = p.Nodes[i]
		for _, id := range last {
			for k, in := range nodes[i].Inputs {
				if in == id && k < 64 {
					nodes[i].Drop |= 1 << k
					break
				}
			}
		}
	}
	return nodes
}

// primitive is a backend that claims no composite.
type primitive struct{ core.Backend }

func (p primitive) Supports(n *op.Node, in []op.Desc) error {
	if op.Lookup(n.Op).Class != op.Primitive {
		return fmt.Errorf("%v is a composite: %w", n.Op, core.ErrUnsupported)
	}
	return p.Backend.Supports(n, in)
}
