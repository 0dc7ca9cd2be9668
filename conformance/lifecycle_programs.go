package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// programCases check programs beyond single ops.
func programCases() []testCase {
	return []testCase{
		contract("program/many-runs", manyRuns), contract("program/chained", chainedRuns), contract("program/two", twoPrograms),
		contract("program/memory", programMemory), contract("program/streams", programStreams), contract("program/wrong-bindings", wrongBindings),
		contract("program/wrong-constants", wrongConstants), contract("program/undefine-twice", undefineTwice),
		contract("program/failure-inside", programFailure), contract("program/free-after-run", freeAfterRun),
	}
}

// manyRuns: every run sees its own inputs, and the constants stay what they were.
func manyRuns(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	var outs [][]op.Desc
	const runs = 40
	for i := range runs {
		x, err := q.put(ctx, numbers(float64(i), 1))
		if err != nil {
			return err
		}
		o := q.outputs(3)
		if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
			return err
		}
		if err := q.Free([]op.TensorID{x.ID, o[2].ID}); err != nil {
			return err
		}
		outs = append(outs, o)
	}
	for i, o := range outs {
		if err := q.holds(ctx, o[0], 11*float64(i), 21); err != nil {
			return fmt.Errorf("run %d of %d: %w", i, runs, err)
		}
		if err := q.holds(ctx, o[1], float64(i), 1); err != nil {
			return fmt.Errorf("run %d of %d: %w", i, runs, err)
		}
	}
	return q.Sync(ctx)
}

// chainedRuns: runs and nodes take effect in the order of the calls.
func chainedRuns(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 1))
	if err != nil {
		return err
	}
	for range 3 { // times 11 and 21, negated
		o := q.outputs(3)
		if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
			return err
		}
		neg, err := q.do(op.Neg, o[:1])
		if err != nil {
			return err
		}
		x = neg[0]
	}
	if err := q.holds(ctx, x, -11*11*11, -21*21*21); err != nil {
		return err
	}
	return q.Sync(ctx)
}

// twoPrograms: programs of the same ids inside are apart.
func twoPrograms(ctx context.Context, q *queue) error {
	programs, first, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	p, err := affine()
	if err != nil {
		return err
	}
	c, err := q.put(ctx, numbers(-1, 0))
	if err != nil {
		return err
	}
	second, err := programs.Define(ctx, p, []op.TensorID{c.ID})
	if err != nil {
		return err
	}
	if first == second {
		return fmt.Errorf("two programs have the id %d", first)
	}
	x, err := q.put(ctx, numbers(2, 3))
	if err != nil {
		return err
	}
	for _, r := range []struct {
		id   core.ProgramID
		want []float64
	}{{first, []float64{22, 63}}, {second, []float64{0, 3}}, {first, []float64{22, 63}}} {
		o := q.outputs(3)
		if err := programs.Run(r.id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
			return err
		}
		if err := q.holds(ctx, o[0], r.want...); err != nil {
			return err
		}
	}
	if err := programs.Undefine(first); err != nil {
		return err
	}
	o := q.outputs(3)
	if err := programs.Run(second, []op.TensorID{x.ID}, idsOf(o)); err != nil {
		return err
	}
	if err := q.holds(ctx, o[0], 0, 3); err != nil {
		return fmt.Errorf("after the other program was given up: %w", err)
	}
	return q.Sync(ctx)
}

// programMemory: a program that was given up holds nothing.
func programMemory(ctx context.Context, q *queue) error {
	stats, ok := core.As[core.MemoryStats](q.Stream)
	if !ok {
		return skip{"the stream has no memory statistics"}
	}
	programs, ok := core.As[core.Programs](q.Stream)
	if !ok {
		return skip{"the stream has no programs"}
	}
	if err := q.Sync(ctx); err != nil {
		return err
	}
	before := stats.Memory()
	for range 3 {
		p, err := affine()
		if err != nil {
			return err
		}
		c, err := q.put(ctx, numbers(10, 20))
		if err != nil {
			return err
		}
		x, err := q.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		id, err := programs.Define(ctx, p, []op.TensorID{c.ID})
		if err != nil {
			return err
		}
		o := q.outputs(3)
		if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
			return err
		}
		if err := programs.Undefine(id); err != nil {
			return err
		}
		if err := q.Free(append(idsOf(o), x.ID, c.ID)); err != nil {
			return err
		}
	}
	if err := q.Sync(ctx); err != nil {
		return err
	}
	if after := stats.Memory(); after.InUse != before.InUse || after.Tensors != before.Tensors {
		return fmt.Errorf("memory is %+v after programs and tensors were given up, was %+v", after, before)
	}
	return nil
}

// programStreams: a program belongs to its stream.
func programStreams(ctx context.Context, q *queue) error {
	_, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	other, err := q.another(ctx)
	if err != nil {
		return err
	}
	programs, _ := core.As[core.Programs](other.Stream)
	x, err := other.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	o := other.outputs(3)
	if err := programs.Run(id+1000, []op.TensorID{x.ID}, idsOf(o)); err == nil {
		err = other.Sync(ctx)
		if err := wantError(err, core.ErrNotFound); err != nil {
			return fmt.Errorf("run of a program that the stream does not have: %w", err)
		}
	} else if err := wantError(err, core.ErrNotFound); err != nil {
		return err
	}
	if err := other.stillGood(ctx); err != nil {
		return err
	}
	if err := other.Close(); err != nil {
		return err
	}
	mine, _ := core.As[core.Programs](q.Stream)
	y, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	o = q.outputs(3)
	if err := mine.Run(id, []op.TensorID{y.ID}, idsOf(o)); err != nil {
		return err
	}
	return q.holds(ctx, o[0], 11, 42)
}

// wrongBindings: a run with too few inputs, or inputs of another type, fails, and the program stays good.
func wrongBindings(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	wide, err := q.put(ctx, numbers(1, 2, 3))
	if err != nil {
		return err
	}
	for name, in := range map[string][]op.TensorID{"none": nil, "two": {x.ID, x.ID}, "another shape": {wide.ID}, "an unknown tensor": {q.id()}} {
		o := q.outputs(3)
		err := programs.Run(id, in, idsOf(o))
		if err == nil {
			_, err = q.get(ctx, o[0])
			if err == nil {
				return fmt.Errorf("a run on %s gives a result", name)
			}
			if serr := q.Sync(ctx); serr == nil {
				return fmt.Errorf("a run on %s is not reported by sync", name)
			}
		}
		if name == "an unknown tensor" {
			if err := wantError(err, core.ErrUnknownTensor); err != nil {
				return err
			}
		}
	}
	o := q.outputs(3)
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
		return err
	}
	return q.holds(ctx, o[0], 11, 42)
}

// wrongConstants: Define refuses constants that are missing, of another type, unknown or poisoned.
func wrongConstants(ctx context.Context, q *queue) error {
	programs, ok := core.As[core.Programs](q.Stream)
	if !ok {
		return skip{"the stream has no programs"}
	}
	wide, err := q.put(ctx, numbers(1, 2, 3))
	if err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name   string
		consts []op.TensorID
		want   error
	}{{"none", nil, nil}, {"another shape", []op.TensorID{wide.ID}, core.ErrShape}, {"unknown", []op.TensorID{q.id()}, core.ErrUnknownTensor},
		{"poisoned", []op.TensorID{bad.ID}, core.ErrIndex}} {
		p, err := affine()
		if err != nil {
			return err
		}
		_, err = programs.Define(ctx, p, c.consts)
		if err == nil {
			return fmt.Errorf("define takes constants that are %s", c.name)
		}
		if c.want != nil && !errors.Is(err, c.want) {
			return fmt.Errorf("constants that are %s: error is %v, want %v", c.name, err, c.want)
		}
	}
	if err := wantError(q.Sync(ctx), core.ErrIndex); err != nil { // of the poisoned constant
		return err
	}
	return q.stillGood(ctx)
}

// undefineTwice: the second time the program is not found, at once or at the next Sync.
func undefineTwice(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	if err := programs.Undefine(id); err != nil {
		return err
	}
	err = programs.Undefine(id)
	if err == nil {
		err = q.Sync(ctx)
	}
	if err := wantError(err, core.ErrNotFound); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

// programFailure: a node that fails within a program poisons what depends on it; the next run is good again.
func programFailure(ctx context.Context, q *queue) error {
	programs, ok := core.As[core.Programs](q.Stream)
	if !ok {
		return skip{"the stream has no programs"}
	}
	x, idx := op.DescOf(dtype.F32, 3), op.DescOf(dtype.I64, 2)
	x.ID, idx.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Neg, b.With(op.Gather, []op.Desc{x, idx}, op.Int("axis", 0)))
	if err := b.Err(); err != nil {
		return err
	}
	p := &program.Program{Name: "picks", Inputs: []op.Desc{x, idx}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}
	id, err := programs.Define(ctx, p, nil)
	if err != nil {
		return err
	}
	data, err := q.put(ctx, numbers(1, 2, 3))
	if err != nil {
		return err
	}
	for _, i := range []int64{9, 0, -4, 2} {
		at, err := q.put(ctx, ref.Tensor{Desc: op.DescOf(dtype.I64, 2), I: []int64{1, i}})
		if err != nil {
			return err
		}
		o := q.outputs(1)
		if err := programs.Run(id, []op.TensorID{data.ID, at.ID}, idsOf(o)); err != nil {
			return err
		}
		if i == 9 || i == -4 {
			_, err := q.get(ctx, o[0])
			if err := wantError(err, core.ErrIndex); err != nil {
				return err
			}
			if err := wantError(q.Sync(ctx), core.ErrIndex); err != nil {
				return err
			}
			continue
		}
		if err := q.holds(ctx, o[0], -2, -float64(i+1)); err != nil {
			return err
		}
	}
	return q.Sync(ctx)
}

// freeAfterRun frees inputs and some outputs right after a run is submitted.
func freeAfterRun(ctx context.Context, q *queue) error {
	programs, id, err := defineAffine(ctx, q)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	o := q.outputs(3)
	if err := programs.Run(id, []op.TensorID{x.ID}, idsOf(o)); err != nil {
		return err
	}
	if err := q.Free([]op.TensorID{x.ID, o[0].ID}); err != nil {
		return err
	}
	if _, err := q.put(ctx, numbers(7, 7)); err != nil {
		return err
	}
	if err := q.holds(ctx, o[1], 1, 2); err != nil { // an output that is the input outlives it
		return err
	}
	if err := q.unknown(ctx, o[0]); err != nil {
		return err
	}
	return q.holds(ctx, o[2], 11, 42)
}
