package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// values returns the body that runs the spec's node on drawn values and compares the results with the reference.
func values(k kind) body {
	return func(ctx context.Context, q *queue, s spec, id string) error {
		in := s.inputs(q.random(id), k)
		_, n, err := s.placed(ctx, q, in)
		if err != nil {
			return err
		}
		return q.expect(ctx, n, in)
	}
}

// placed writes in and returns the node on it, like supported.
func (s spec) placed(ctx context.Context, q *queue, in []ref.Tensor) ([]op.Desc, op.Node, error) {
	descs, err := q.putAll(ctx, in)
	if err != nil {
		return nil, op.Node{}, err
	}
	n, err := s.supported(q, descs)
	return descs, n, err
}

// supported returns the node, or a skip if the backend does not run it natively. A primitive that the document claims on types that every
// backend has must run.
func (s spec) supported(q *queue, in []op.Desc) (op.Node, error) {
	n, err := s.node(in)
	if err != nil {
		return n, err
	}
	return n, q.claims(&n, in)
}

// claims returns a skip if the backend does not support the node. A node that the document allows must run, unless the device is
// core.Selective and refuses the node. The device must not refuse a primitive on types that every backend has.
func (q *queue) claims(n *op.Node, in []op.Desc) error {
	row := op.Lookup(n.Op)
	switch err := q.dev.Capabilities().Check(n, in); {
	case errors.Is(err, core.ErrUnsupported):
		return skip{fmt.Sprintf("not claimed: %s on %v", row.Name, n.FirstType(in))}
	case err != nil:
		return err
	}
	selective, ok := core.Extension[core.Selective](q.dev)
	if !ok {
		return nil
	}
	switch err := selective.Supports(n, in); {
	case errors.Is(err, core.ErrUnsupported):
		if row.Class == op.Primitive && typesOf(n, in)&^dtype.Required == 0 {
			return fmt.Errorf("Supports refuses a node that every backend must run and the document claims: %w", err)
		}
		return skip{fmt.Sprintf("not supported: %s on %v", row.Name, n.FirstType(in))}
	case err != nil:
		return fmt.Errorf("Supports returns an error other than ErrUnsupported: %w", err)
	}
	return nil
}

// typesOf returns the element types that a node touches.
func typesOf(n *op.Node, in []op.Desc) dtype.Set {
	var s dtype.Set
	for _, ds := range [][]op.Desc{in, n.Outputs} {
		for _, d := range ds {
			s |= dtype.SetOf(d.DType)
		}
	}
	return s
}

func (q *queue) putAll(ctx context.Context, ts []ref.Tensor) ([]op.Desc, error) {
	var descs []op.Desc
	for _, t := range ts {
		d, err := q.put(ctx, t)
		if err != nil {
			return nil, err
		}
		descs = append(descs, d)
	}
	return descs, nil
}

// expect runs n, whose inputs hold the values in, and compares the results with the reference.
func (q *queue) expect(ctx context.Context, n op.Node, in []ref.Tensor) error {
	want, err := ref.Eval(&n, in)
	if err != nil {
		return fmt.Errorf("the suite made a faulty case: %w", err)
	}
	outs, err := q.submit(n)
	if err != nil {
		return err
	}
	if err := q.same(ctx, &n, in, outs, want); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// same reads outs and compares them with want, the results of the reference for in, by the tolerance of n's row. If the document says that
// the device flushes subnormal numbers to zero, same also accepts results of flushed numbers.
func (q *queue) same(ctx context.Context, n *op.Node, in []ref.Tensor, outs []op.Desc, want []ref.Tensor) error {
	descs := descsOf(in)
	other := q.flushed(n, in, want)
	for i, d := range outs {
		got, err := q.get(ctx, d)
		if err != nil {
			return fmt.Errorf("read of output %d: %w", i, err)
		}
		right := want[i]
		if err := compare(n, descs, i, right, got); err != nil {
			right = other.nearest(n, descs, i, right, got)
		}
		q.accuracy.note(q.test, n, descs, right, got)
		if err := compare(n, descs, i, right, got); err != nil {
			return fmt.Errorf("%s: %w", renumbered(n), err)
		}
	}
	return nil
}

// renumbered returns a node as text with ids from 1, so that the text does not depend on earlier work of the device.
func renumbered(n *op.Node) string {
	m, first := *n, map[op.TensorID]op.TensorID{}
	m.Inputs, m.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	for i, id := range m.Inputs {
		if first[id] == 0 {
			first[id] = op.TensorID(len(first) + 1)
		}
		m.Inputs[i] = first[id]
	}
	for i := range m.Outputs {
		m.Outputs[i].ID = op.TensorID(len(first) + 1 + i)
	}
	return m.String()
}

func descsOf(ts []ref.Tensor) []op.Desc {
	var l []op.Desc
	for _, t := range ts {
		l = append(l, t.Desc)
	}
	return l
}

// outside returns the cases of an index outside its dimension: a Read of the result must fail with ErrIndex.
func (s spec) outside(id string) []testCase {
	indexes := false
	for i := range s.in {
		indexes = indexes || s.domain(i).Index
	}
	if !indexes {
		return nil
	}
	var cases []testCase
	for _, where := range []string{"above", "below"} {
		cases = append(cases, s.testCase(id+"/index-"+where, func(ctx context.Context, q *queue, s spec, id string) error {
			in := s.inputs(q.random(id), plain)
			bad := len(in[1].I) - 1
			in[1].I[bad] = -1
			if where == "above" {
				in[1].I[bad] = int64(s.bound(bad))
			}
			_, n, err := s.placed(ctx, q, in)
			if err != nil {
				return err
			}
			outs, err := q.submit(n)
			if err != nil {
				return err
			}
			_, err = q.get(ctx, outs[0])
			return wantNodeError(err, n.Op, core.ErrIndex)
		}))
	}
	return cases
}
