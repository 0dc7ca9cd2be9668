package conformance

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// defined is a program that was defined on a device.
type defined struct {
	core.Programs
	id      core.ProgramID
	outputs []op.Desc // their types
}

// define defines the program that build returns. A device without programs skips the case.
func (q *queue) define(ctx context.Context, build func() (*program.Program, error), consts ...op.TensorID) (*defined, error) {
	programs, err := needs[core.Programs](q.dev, "programs")
	if err != nil {
		return nil, err
	}
	p, err := build()
	if err != nil {
		return nil, err
	}
	id, err := programs.Define(ctx, q.Stream, p, consts)
	if err != nil {
		return nil, fmt.Errorf("define: %w", err)
	}
	return &defined{programs, id, p.OutputDescs()}, nil
}

// run appends a run to q and returns its outputs, which have new ids.
func (d *defined) run(q *queue, in ...op.Desc) ([]op.Desc, error) { return d.donate(q, nil, in...) }

// donate is like run, and donates the inputs that mask marks.
func (d *defined) donate(q *queue, mask []bool, in ...op.Desc) ([]op.Desc, error) {
	out := q.renewed(d.outputs)
	return out, d.Run(q.Stream, core.Run{Program: d.id, Inputs: idsOf(in), Donated: mask, Outputs: idsOf(out)})
}

// renewed returns ds with new ids.
func (q *queue) renewed(ds []op.Desc) []op.Desc {
	l := make([]op.Desc, len(ds))
	for i, d := range ds {
		l[i] = d
		l[i].ID = q.id()
	}
	return l
}

// affine returns a program that computes x·c+x, x, and x·c+x again.
func affine() (*program.Program, error) {
	x, c := op.DescOf(dtype.F32, 2), op.DescOf(dtype.F32, 2)
	x.ID, c.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Add, b.Do(op.Mul, x, c), x)
	p := &program.Program{Name: "affine", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, x.ID, y.ID}}
	return p, b.Err()
}

// affine defines the program with the constant c.
func (q *queue) affine(ctx context.Context, c ...float64) (*defined, error) {
	if _, err := needs[core.Programs](q.dev, "programs"); err != nil {
		return nil, err
	}
	d, err := q.put(ctx, numbers(c...))
	if err != nil {
		return nil, err
	}
	p, err := q.define(ctx, affine, d.ID)
	if err != nil {
		return nil, err
	}
	return p, q.free([]op.TensorID{d.ID})
}

// affineOnTwo returns the program with the constant (10, 20) and an input, (1, 2); the outputs are (11, 42), (1, 2) and (11, 42).
func (q *queue) affineOnTwo(ctx context.Context) (p *defined, x op.Desc, err error) {
	if p, err = q.affine(ctx, 10, 20); err != nil {
		return p, x, err
	}
	x, err = q.put(ctx, numbers(1, 2))
	return p, x, err
}

// computes runs the program of affineOnTwo on its input x, and checks the first output.
func (d *defined) computes(ctx context.Context, q *queue, x op.Desc) error {
	o, err := d.run(q, x)
	if err != nil {
		return err
	}
	return q.holds(ctx, o[0], 11, 42)
}

// picks returns a program that negates two of three elements, whose indices are an input.
func picks() (*program.Program, error) {
	x, idx := op.DescOf(dtype.F32, 3), op.DescOf(dtype.I32, 2)
	x.ID, idx.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Neg, b.With(op.Gather, []op.Desc{x, idx}, op.Int("axis", 0)))
	return &program.Program{Name: "picks", Inputs: []op.Desc{x, idx}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}, b.Err()
}
