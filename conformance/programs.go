package conformance

import (
	"bytes"
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// program returns the case that runs the node as a program, twice, with its last operand as a constant, and compares the results with those
// of the node outside a program. A deterministic backend must return the same bits.
func (s spec) program(id string) []testCase {
	if len(s.in) == 0 {
		return nil
	}
	return []testCase{s.testCase(id+"/program", func(ctx context.Context, q *queue, s spec, id string) error {
		if _, err := needs[core.Programs](q.dev, "programs"); err != nil {
			return err
		}
		in := s.inputs(q.random(id), plain)
		descs, n, err := s.placed(ctx, q, in)
		if err != nil {
			return err
		}
		alone, err := q.submit(n)
		if err != nil {
			return err
		}
		last := len(descs) - 1
		p, err := q.define(ctx, s.asProgram, descs[last].ID)
		if err != nil {
			return err
		}
		if err := q.free(idsOf(descs[last:])); err != nil { // the program must not depend on it
			return err
		}
		for range 2 {
			outs, err := p.run(q, descs[:last]...)
			if err != nil {
				return fmt.Errorf("run: %w", err)
			}
			for i := range outs {
				if err := q.equal(ctx, &n, descs, i, alone[i], outs[i]); err != nil {
					return fmt.Errorf("program: %w", err)
				}
			}
		}
		if err := p.Undefine(p.id); err != nil {
			return fmt.Errorf("undefine: %w", err)
		}
		return q.sync(ctx)
	})}
}

// asProgram returns a program that consists of the node, with new ids.
func (s spec) asProgram() (*program.Program, error) {
	local := append([]op.Desc(nil), s.in...)
	for i := range local {
		local[i].ID = op.TensorID(i + 1)
	}
	n, err := s.node(local)
	if err != nil {
		return nil, err
	}
	p := &program.Program{Name: s.op.String(), Inputs: local[:len(local)-1], Consts: local[len(local)-1:]}
	for i := range n.Outputs {
		n.Outputs[i].ID = op.TensorID(len(local) + 1 + i)
		p.Outputs = append(p.Outputs, n.Outputs[i].ID)
	}
	p.Nodes = []op.Node{n}
	return p, p.Check()
}

// equal compares two tensors of the backend: bit by bit if it claims to be deterministic, otherwise within the tolerance.
func (q *queue) equal(ctx context.Context, n *op.Node, in []op.Desc, output int, a, b op.Desc) error {
	want, err := q.get(ctx, a)
	if err != nil {
		return err
	}
	got, err := q.get(ctx, b)
	if err != nil {
		return err
	}
	if q.dev.Capabilities().Deterministic && !bytes.Equal(want.Bytes(), got.Bytes()) {
		return fmt.Errorf("output %d differs from the output of the node outside a program", output)
	}
	return compare(n, in, output, want, got)
}

func idsOf(ds []op.Desc) []op.TensorID {
	var ids []op.TensorID
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	return ids
}
