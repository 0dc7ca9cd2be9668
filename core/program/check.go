package program

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

// Check verifies that every id is defined once and before use, that every node passes op.Check and declares the outputs that inference
// returns, and that no dropped id is used again. The error names the node.
func (p *Program) Check() error {
	descs := make(map[op.TensorID]op.Desc, len(p.Inputs)+len(p.Consts)+len(p.Nodes))
	define := func(d op.Desc, what string) error {
		if d.ID == 0 {
			return fmt.Errorf("program: %s has no id: %w", what, op.ErrAttr)
		}
		if _, dup := descs[d.ID]; dup {
			return fmt.Errorf("program: %v is defined twice, again by %s: %w", d.ID, what, op.ErrAttr)
		}
		if err := d.Shape.Check(); err != nil {
			return fmt.Errorf("program: %s: %w", what, err)
		}
		descs[d.ID] = d
		return nil
	}
	for i, d := range p.Inputs {
		if err := define(d, fmt.Sprintf("input %d", i)); err != nil {
			return err
		}
	}
	for i, d := range p.Consts {
		if err := define(d, fmt.Sprintf("const %d", i)); err != nil {
			return err
		}
	}
	var in []op.Desc
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in = in[:0]
		for _, id := range n.Inputs {
			d, ok := descs[id]
			if !ok {
				return fmt.Errorf("program: node %d, %v: %v is used before it is defined or after it was dropped: %w", i, n.Op, id, op.ErrAttr)
			}
			in = append(in, d)
		}
		if err := op.Check(n, in); err != nil {
			return fmt.Errorf("program: node %d: %w", i, err)
		}
		for k, id := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 {
				delete(descs, id)
			}
		}
		for _, d := range n.Outputs {
			if err := define(d, fmt.Sprintf("node %d, %v", i, n.Op)); err != nil {
				return err
			}
		}
	}
	for _, id := range p.Outputs {
		if _, ok := descs[id]; !ok {
			return fmt.Errorf("program: output %v is not defined, or was dropped: %w", id, op.ErrAttr)
		}
	}
	return nil
}
