package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// programCases check programs beyond single ops.
func programCases() []testCase {
	return []testCase{
		contract("program/many-runs", manyRuns), contract("program/chained", chainedRuns), contract("program/two", twoPrograms),
		contract("program/memory", programMemory), contract("program/unknown", programUnknown), contract("program/wrong-bindings", wrongBindings),
		contract("program/wrong-constants", wrongConstants), contract("program/undefine-twice", undefineTwice),
		contract("program/failure-inside", programFailure), contract("program/free-after-run", freeAfterRun),
	}
}

// manyRuns checks that every run reads its own inputs, and that constants do not change.
func manyRuns(ctx context.Context, q *queue) error {
	p, err := q.affine(ctx, 10, 20)
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
		o, err := p.run(q, x)
		if err != nil {
			return err
		}
		if err := q.free([]op.TensorID{x.ID, o[2].ID}); err != nil {
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
	return q.sync(ctx)
}

// chainedRuns checks that runs and nodes take effect in the order of the calls.
func chainedRuns(ctx context.Context, q *queue) error {
	p, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	x, err := q.put(ctx, numbers(1, 1))
	if err != nil {
		return err
	}
	for range 3 { // times 11 and 21, negated
		o, err := p.run(q, x)
		if err != nil {
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
	return q.sync(ctx)
}

// twoPrograms checks that programs that use the same ids inside do not affect each other.
func twoPrograms(ctx context.Context, q *queue) error {
	first, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	second, err := q.affine(ctx, -1, 0)
	if err != nil {
		return err
	}
	if first.id == second.id {
		return fmt.Errorf("two programs have the id %d", first.id)
	}
	x, err := q.put(ctx, numbers(2, 3))
	if err != nil {
		return err
	}
	for _, r := range []struct {
		p    *defined
		want []float64
	}{{first, []float64{22, 63}}, {second, []float64{0, 3}}, {first, []float64{22, 63}}} {
		o, err := r.p.run(q, x)
		if err != nil {
			return err
		}
		if err := q.holds(ctx, o[0], r.want...); err != nil {
			return err
		}
	}
	if err := first.Undefine(first.id); err != nil {
		return err
	}
	o, err := second.run(q, x)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, o[0], 0, 3); err != nil {
		return fmt.Errorf("after the other program was undefined: %w", err)
	}
	return q.sync(ctx)
}

// programMemory checks that a program holds no memory after Undefine.
func programMemory(ctx context.Context, q *queue) error {
	return q.givesBack(ctx, "programs and tensors were given up", func() error {
		for range 3 {
			c, err := q.put(ctx, numbers(10, 20))
			if err != nil {
				return err
			}
			x, err := q.put(ctx, numbers(1, 2))
			if err != nil {
				return err
			}
			p, err := q.define(ctx, affine, c.ID)
			if err != nil {
				return err
			}
			o, err := p.run(q, x)
			if err != nil {
				return err
			}
			if err := p.Undefine(p.id); err != nil {
				return err
			}
			if err := q.free(append(idsOf(o), x.ID, c.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// programUnknown checks that a run with an id that names no program returns ErrNotFound at once, and that the device stays usable.
func programUnknown(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	none := *p
	none.id += 1000
	_, err = none.run(q, x)
	if err := wantError(err, core.ErrNotFound); err != nil {
		return err
	}
	if err := q.stillGood(ctx); err != nil {
		return err
	}
	return p.computes(ctx, q, x)
}

// wrongBindings checks that a run fails if its inputs are unknown or differ from the program's in number or type, and that the program
// stays usable.
func wrongBindings(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	wide, err := q.put(ctx, numbers(1, 2, 3))
	if err != nil {
		return err
	}
	for name, in := range map[string][]op.Desc{"none": nil, "two": {x, x}, "another shape": {wide}, "an unknown tensor": q.renewed([]op.Desc{x})} {
		o, err := p.run(q, in...)
		if err == nil {
			_, err = q.get(ctx, o[0])
			if err == nil {
				return fmt.Errorf("a run on %s returns a result", name)
			}
			if serr := q.sync(ctx); serr == nil {
				return fmt.Errorf("Sync does not report a run on %s", name)
			}
		}
		if name == "an unknown tensor" {
			if err := wantError(err, core.ErrUnknownTensor); err != nil {
				return err
			}
		}
	}
	return p.computes(ctx, q, x)
}

// wrongConstants checks that Define refuses constants that are missing, of another shape, unknown or poisoned.
func wrongConstants(ctx context.Context, q *queue) error {
	if _, err := needs[core.Programs](q.dev, "programs"); err != nil {
		return err
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
		_, err := q.define(ctx, affine, c.consts...)
		if err == nil {
			return fmt.Errorf("Define accepts constants that are %s", c.name)
		}
		if c.want != nil && !errors.Is(err, c.want) {
			return fmt.Errorf("constants that are %s: error is %v, want %v", c.name, err, c.want)
		}
	}
	if err := wantError(q.sync(ctx), core.ErrIndex); err != nil { // of the poisoned constant
		return err
	}
	return q.stillGood(ctx)
}

// undefineTwice checks that a second Undefine reports ErrNotFound, at once or at the next Sync.
func undefineTwice(ctx context.Context, q *queue) error {
	p, err := q.affine(ctx, 10, 20)
	if err != nil {
		return err
	}
	if err := p.Undefine(p.id); err != nil {
		return err
	}
	err = p.Undefine(p.id)
	if err == nil {
		err = q.sync(ctx)
	}
	if err := wantError(err, core.ErrNotFound); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

// programFailure checks that a node that fails within a program poisons the outputs that depend on it, and that the next run succeeds.
func programFailure(ctx context.Context, q *queue) error {
	p, err := q.define(ctx, picks)
	if err != nil {
		return err
	}
	data, err := q.put(ctx, numbers(1, 2, 3))
	if err != nil {
		return err
	}
	for _, i := range []int64{9, 0, -4, 2} {
		at, err := q.put(ctx, ref.Tensor{Desc: op.DescOf(dtype.I32, 2), I: []int64{1, i}})
		if err != nil {
			return err
		}
		o, err := p.run(q, data, at)
		if err != nil {
			return err
		}
		if i == 9 || i == -4 {
			_, err := q.get(ctx, o[0])
			if err := wantError(err, core.ErrIndex); err != nil {
				return err
			}
			if err := wantError(q.sync(ctx), core.ErrIndex); err != nil {
				return err
			}
			continue
		}
		if err := q.holds(ctx, o[0], -2, -float64(i+1)); err != nil {
			return err
		}
	}
	return q.sync(ctx)
}

// freeAfterRun frees inputs and some outputs right after a run is submitted.
func freeAfterRun(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	o, err := p.run(q, x)
	if err != nil {
		return err
	}
	if err := q.free([]op.TensorID{x.ID, o[0].ID}); err != nil {
		return err
	}
	if _, err := q.put(ctx, numbers(7, 7)); err != nil {
		return err
	}
	if err := q.holds(ctx, o[1], 1, 2); err != nil { // this output is the program's input, and outlives the tensor that was bound to it
		return err
	}
	if err := q.unknown(ctx, o[0]); err != nil {
		return err
	}
	return q.holds(ctx, o[2], 11, 42)
}
