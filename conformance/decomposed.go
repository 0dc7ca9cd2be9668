package conformance

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// decomposed returns the case that runs a composite's decomposition into primitives, like a host whose backend does not claim the
// composite. The result must agree with the reference within the tolerance of the composite, so that a claimed composite and its
// decomposition agree within twice that tolerance.
func (s spec) decomposed(id string) []testCase {
	if op.Lookup(s.op).Class != op.Composite {
		return nil
	}
	return []testCase{s.testCase(id+"/decomposed", func(ctx context.Context, q *queue, s spec, id string) error {
		in := s.inputs(q.random(id), plain)
		descs, n, want, err := s.evaluated(ctx, q, in)
		if err != nil {
			return err
		}
		for i := range n.Outputs {
			n.Outputs[i].ID = q.id()
		}
		nodes, err := primitives(n, descs, q.id)
		if err != nil {
			return err
		}
		if err := q.claimsAll(nodes, descs); err != nil {
			return err
		}
		if err := q.Submit(nodes, nil); err != nil {
			return fmt.Errorf("submit of the decomposition: %w", err)
		}
		if err := s.agrees(ctx, q, &n, in, n.Outputs, want); err != nil {
			return fmt.Errorf("decomposition: %w", err)
		}
		return nil
	})}
}

// primitives expands n until only primitives are left.
func primitives(n op.Node, in []op.Desc, next func() op.TensorID) ([]op.Node, error) {
	if op.Lookup(n.Op).Class == op.Primitive {
		return []op.Node{n}, nil
	}
	nodes, ok, err := op.Decompose(&n, in, next)
	if err != nil {
		return nil, fmt.Errorf("decomposition of %v: %w", n.Op, err)
	}
	if !ok {
		return nil, fmt.Errorf("decomposition of %v: %w", n.Op, core.ErrUnsupported)
	}
	known := map[op.TensorID]op.Desc{}
	for _, d := range in {
		known[d.ID] = d
	}
	var out []op.Node
	for _, m := range nodes {
		var descs []op.Desc
		for _, id := range m.Inputs {
			descs = append(descs, known[id])
		}
		for _, d := range m.Outputs {
			known[d.ID] = d
		}
		inner, err := primitives(m, descs, next)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// claimsAll returns a skip unless the device claims every node.
func (q *queue) claimsAll(nodes []op.Node, in []op.Desc) error {
	known := map[op.TensorID]op.Desc{}
	for _, d := range in {
		known[d.ID] = d
	}
	for i := range nodes {
		var descs []op.Desc
		for _, id := range nodes[i].Inputs {
			descs = append(descs, known[id])
		}
		if err := q.claims(&nodes[i], descs); err != nil {
			return err
		}
		for _, d := range nodes[i].Outputs {
			known[d.ID] = d
		}
	}
	return nil
}
