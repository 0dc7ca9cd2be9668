package conformance

import (
	"context"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// affine is a program that computes x·c+x and, as a second output, x again.
func affine() (*program.Program, error) {
	x, c := op.DescOf(dtype.F32, 2), op.DescOf(dtype.F32, 2)
	x.ID, c.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Add, b.Do(op.Mul, x, c), x)
	p := &program.Program{Name: "affine", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, x.ID, y.ID}}
	return p, b.Err()
}

// defineAffine defines the program with the constant (10, 20).
func defineAffine(ctx context.Context, q *queue) (core.Programs, core.ProgramID, error) {
	programs, ok := core.As[core.Programs](q.Stream)
	if !ok {
		return nil, 0, skip{"the stream has no programs"}
	}
	p, err := affine()
	if err != nil {
		return nil, 0, err
	}
	c, err := q.put(ctx, numbers(10, 20))
	if err != nil {
		return nil, 0, err
	}
	id, err := programs.Define(ctx, p, []op.TensorID{c.ID})
	if err != nil {
		return nil, 0, fmt.Errorf("define: %w", err)
	}
	return programs, id, q.Free([]op.TensorID{c.ID})
}

// outputs are n ids for vectors of 2.
func (q *queue) outputs(n int) []op.Desc {
	l := make([]op.Desc, n)
	for i := range l {
		l[i] = op.DescOf(dtype.F32, 2)
		l[i].ID = q.id()
	}
	return l
}

// programBindings: outputs may repeat and may be inputs; each run has tensors of its own, and inputs stay alive.
func programBindings(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	first, second := q.outputs(3), q.outputs(3)
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(first)); err != nil {
		return err
	}
	if err := programs.Run(id, []op.TensorID{first[0].ID}, idsOf(second)); err != nil {
		return err
	}
	if err := q.Free(idsOf(first[:2])); err != nil {
		return err
	}
	for _, c := range []struct {
		d    op.Desc
		want []float64
	}{{first[2], []float64{11, 42}}, {second[0], []float64{121, 882}}, {second[1], []float64{11, 42}}, {second[2], []float64{121, 882}}, {x, []float64{1, 2}}} {
		if err := q.holds(ctx, c.d, c.want...); err != nil {
			return err
		}
	}
	return q.Sync(ctx)
}

// programPoison: a poisoned input poisons the outputs that depend on it, with the error of the first node.
func programPoison(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	outs := q.outputs(3)
	if err := programs.Run(id, []op.TensorID{bad.ID}, idsOf(outs)); err != nil {
		return err
	}
	for _, d := range outs {
		_, err := q.get(ctx, d)
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return err
		}
	}
	x, err := q.put(ctx, numbers(1, 1))
	if err != nil {
		return err
	}
	again := q.outputs(3)
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(again)); err != nil {
		return err
	}
	return q.holds(ctx, again[0], 11, 21)
}

// programFaulty: Define refuses a program that uses an id before it is defined.
func programFaulty(ctx context.Context, q *queue) error {
	programs, ok := core.As[core.Programs](q.Stream)
	if !ok {
		return skip{"the stream has no programs"}
	}
	p, err := affine()
	if err != nil {
		return err
	}
	p.Consts = nil
	if _, err := programs.Define(ctx, p, nil); err == nil {
		return fmt.Errorf("define takes a program with an undefined tensor")
	}
	d, err := q.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 2)))
	if err != nil {
		return err
	}
	return q.holds(ctx, d, 0, 0)
}

// programUndefined: a program that was given up cannot be run; what ran before is unharmed.
func programUndefined(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	outs, later := q.outputs(3), q.outputs(3)
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(outs)); err != nil {
		return err
	}
	if err := programs.Undefine(id); err != nil {
		return err
	}
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(later)); err == nil {
		if _, err := q.get(ctx, later[0]); err == nil {
			return fmt.Errorf("a program ran after it was given up")
		}
	}
	return q.holds(ctx, outs[0], 11, 42)
}
