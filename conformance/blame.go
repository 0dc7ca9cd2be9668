package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// blameCases check which node or program an error names. A device that learns of failures late names a node or program only if no other can
// have failed. Otherwise it names none, and poisons the results of all that may have failed.
func blameCases() []testCase {
	return []testCase{
		ruled("blame/node", "if the only running node fails, the error names the node and its outputs", blamesNode),
		ruled("blame/among", "if one of several running nodes fails, the error names this node or none", blamesAmong),
		ruled("blame/program", "if the only running program fails, the error names the program", blamesProgram),
		ruled("blame/programs", "if one of several running programs fails, the error names this program or none", blamesPrograms),
		ruled("blame/before", "a failure does not affect results that were waited for before the failing node was submitted", blamesNotBefore),
	}
}

// wantNodeError checks that err is the failure of a node of op c with the given cause. If the device learned of the failure late,
// the error may name no node; see blameCases.
func wantNodeError(err error, c op.Code, cause error) error {
	var ne *core.NodeError
	switch {
	case err == nil:
		return fmt.Errorf("no error, want %v", cause)
	case !errors.Is(err, cause):
		return fmt.Errorf("error is %q, want %q", err, cause)
	case !errors.As(err, &ne):
		return fmt.Errorf("error %q is no *core.NodeError", err)
	case ne.Op != c.String() && (ne.Op != "" || len(ne.Outputs) > 0 && ne.Program == ""):
		return fmt.Errorf("error %q names op %s, want %v", err, ne.Op, c)
	}
	return nil
}

// learnedLate reports whether err names neither a node nor a program, which means that the device learned of the failure late.
func learnedLate(err error) bool {
	var ne *core.NodeError
	return errors.As(err, &ne) && ne.Op == "" && ne.Program == ""
}

func blamesNode(ctx context.Context, q *queue) error {
	in, err := q.putAll(ctx, badGather())
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	outs, err := q.do(op.Gather, in, op.Int("axis", 0))
	if err != nil {
		return err
	}
	_, err = q.get(ctx, outs[0])
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return err
	}
	var ne *core.NodeError
	if !errors.As(err, &ne) || ne.Op == "" || ne.Program != "" || len(ne.Outputs) != 1 || ne.Outputs[0].ID != outs[0].ID || !ne.Outputs[0].SameType(outs[0]) {
		return fmt.Errorf("the error %q has op %q, program %q, outputs %v; want gather, none, %v %v", err, ne.Op, ne.Program, ne.Outputs, outs[0].ID, outs[0])
	}
	return nil
}

func blamesAmong(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	if _, err := q.do(op.Neg, []op.Desc{d}); err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	if _, err := q.do(op.Exp, []op.Desc{d}); err != nil {
		return err
	}
	_, err = q.get(ctx, bad)
	if err := errors.Join(wantNodeError(err, op.Gather, core.ErrIndex), wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex)); err != nil {
		return err
	}
	return errors.Join(q.holds(ctx, d, 1, 2), q.stillGood(ctx))
}

// blamed checks that err is ErrIndex and names the program. If the parameter none is true, err may also name neither a program nor an op.
func blamed(err error, name string, none bool) error {
	var ne *core.NodeError
	switch {
	case !errors.As(err, &ne):
		return fmt.Errorf("error %q is no *core.NodeError", err)
	case ne.Program == name, none && ne.Program == "" && ne.Op == "":
		return wantError(err, core.ErrIndex)
	}
	return fmt.Errorf("error %q names program %q, want %q", err, ne.Program, name)
}

// runPicks waits for all other work, calls before, and appends a run of picks that fails. It returns the output of the run.
func (q *queue) runPicks(ctx context.Context, before func() error) (op.Desc, error) {
	p, err := q.define(ctx, picks)
	if err != nil {
		return op.Desc{}, err
	}
	in, err := q.putAll(ctx, badGather())
	if err != nil {
		return op.Desc{}, err
	}
	if err := q.sync(ctx); err != nil {
		return op.Desc{}, err
	}
	if err := before(); err != nil {
		return op.Desc{}, err
	}
	o, err := p.run(q, in...)
	return o[0], err
}

func blamesProgram(ctx context.Context, q *queue) error {
	o, err := q.runPicks(ctx, func() error { return nil })
	if err != nil {
		return err
	}
	_, err = q.get(ctx, o)
	return errors.Join(blamed(err, "picks", false), blamed(q.sync(ctx), "picks", false), q.stillGood(ctx))
}

func blamesPrograms(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	beside := func() error { _, err := p.run(q, x); return err }
	o, err := q.runPicks(ctx, beside)
	if err != nil {
		return err
	}
	if err := beside(); err != nil {
		return err
	}
	_, err = q.get(ctx, o)
	return errors.Join(blamed(err, "picks", true), blamed(q.sync(ctx), "picks", true), q.holds(ctx, x, 1, 2), q.stillGood(ctx))
}

func blamesNotBefore(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	neg, err := q.do(op.Neg, []op.Desc{d})
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	if _, err := q.failing(ctx); err != nil {
		return err
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return err
	}
	return errors.Join(q.holds(ctx, neg[0], -1, -2), q.holds(ctx, d, 1, 2), q.stillGood(ctx))
}
