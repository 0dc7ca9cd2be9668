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

// donationCases check runs whose inputs are donated.
func donationCases() []testCase {
	return []testCase{
		ruled("donation/gone", "after a run, the ids of donated inputs are unknown, and the other inputs remain", donationGone),
		ruled("donation/twice", "if a donated id occurs twice among the inputs, the run returns ErrAttr and frees no input", donatedTwice),
		ruled("donation/mask", "if the mask of donations is not as long as the inputs, the run returns ErrAttr and frees no input", donationMask),
		ruled("donation/returned", "a donated input may be an output", donationReturned),
		ruled("donation/ticket", "a ticket for a tensor that is then donated returns the value from before the run", donationTicket),
		ruled("donation/view", "a view of a donated tensor keeps its value", donationView),
		ruled("donation/constant", "a constant of a program keeps its value if the tensor that it was defined from is donated", donationConstant),
		ruled("donation/loop", "a loop that donates inputs computes the same as a loop that frees them, and its memory does not grow", donationLoop),
		ruled("donation/poisoned", "a poisoned tensor that is donated poisons the outputs, and its id is unknown afterwards", donationPoisoned),
		ruled("donation/failing", "a run that fails frees its donated inputs", donationFailing),
		ruled("donation/unknown", "if a donated id is unknown, the run or a read of its outputs returns ErrUnknownTensor", donationUnknown),
	}
}

// stepProgram computes x·0.5+g over vectors of n, like an update of parameters.
func stepProgram(n int) (*program.Program, error) {
	x, g := op.DescOf(dtype.F32, n), op.DescOf(dtype.F32, n)
	x.ID, g.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Add, b.Do(op.Mul, x, b.Like(x, 0.5)), g)
	return &program.Program{Name: "step", Inputs: []op.Desc{x, g}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}, b.Err()
}

// step is a stepProgram that was defined on the device of q.
type step struct {
	*defined
	q *queue
}

func (q *queue) step(ctx context.Context, n int) (*step, error) {
	p, err := q.define(ctx, func() (*program.Program, error) { return stepProgram(n) })
	return &step{p, q}, err
}

// run returns the output of one run.
func (s *step) run(x, g op.Desc, donated ...bool) (op.Desc, error) {
	o, err := s.donate(s.q, donated, x, g)
	return o[0], err
}

// stepOnTwo returns a defined step and its operands (2, 4) and (10, 20); the result is (11, 22).
func (q *queue) stepOnTwo(ctx context.Context) (s *step, x, g op.Desc, err error) {
	if s, err = q.step(ctx, 2); err != nil {
		return s, x, g, err
	}
	ds, err := q.putAll(ctx, []ref.Tensor{numbers(2, 4), numbers(10, 20)})
	if err != nil {
		return s, x, g, err
	}
	return s, ds[0], ds[1], nil
}

func donationGone(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	out, err := s.run(x, g, true, false)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, out, 11, 22); err != nil {
		return err
	}
	if err := q.unknown(ctx, x); err != nil {
		return fmt.Errorf("the donated tensor: %w", err)
	}
	if err := q.holds(ctx, g, 10, 20); err != nil {
		return fmt.Errorf("the input that was not donated: %w", err)
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	if err := q.free([]op.TensorID{x.ID}); err != nil {
		return err
	}
	if err := wantError(q.sync(ctx), core.ErrUnknownTensor); err != nil {
		return fmt.Errorf("free of the donated tensor: %w", err)
	}
	if out, err = s.run(out, g, true, true); err != nil {
		return err
	}
	if err := q.holds(ctx, out, 15.5, 31); err != nil {
		return err
	}
	return q.unknown(ctx, g)
}

// refusedRun checks that a run was refused with ErrAttr, and neither freed its inputs nor created its output.
func (s *step) refusedRun(ctx context.Context, what string, out op.Desc, err error, x, g op.Desc) error {
	if err := wantError(err, core.ErrAttr); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := s.q.holds(ctx, x, 2, 4); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := s.q.holds(ctx, g, 10, 20); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := s.q.unknown(ctx, out); err != nil {
		return fmt.Errorf("%s: the output: %w", what, err)
	}
	return s.q.sync(ctx)
}

func donatedTwice(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	for _, mask := range [][]bool{{true, true}, {true, false}, {false, true}} {
		out, err := s.run(x, x, mask...)
		if err := s.refusedRun(ctx, fmt.Sprintf("one tensor as both inputs, donated %v", mask), out, err, x, g); err != nil {
			return err
		}
	}
	out, err := s.run(x, x, false, false)
	if err != nil {
		return err
	}
	return q.holds(ctx, out, 3, 6)
}

func donationMask(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	for _, mask := range [][]bool{{true}, {true, false, false}} {
		out, err := s.run(x, g, mask...)
		if err := s.refusedRun(ctx, fmt.Sprintf("%d donations for two inputs", len(mask)), out, err, x, g); err != nil {
			return err
		}
	}
	out, err := s.run(x, g)
	if err != nil {
		return err
	}
	return q.holds(ctx, out, 11, 22)
}

func donationReturned(ctx context.Context, q *queue) error {
	p, x, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	o, err := p.donate(q, []bool{true}, x)
	if err != nil {
		return err
	}
	if err := q.unknown(ctx, x); err != nil {
		return err
	}
	for range 4 {
		if _, err := q.put(ctx, numbers(9, 9)); err != nil { // may reuse memory that was freed too early
			return err
		}
	}
	if err := q.holds(ctx, o[0], 11, 42); err != nil {
		return err
	}
	if err := q.free(idsOf(o[:1])); err != nil {
		return err
	}
	if err := q.holds(ctx, o[1], 1, 2); err != nil {
		return fmt.Errorf("the output that is the donated input: %w", err)
	}
	return q.holds(ctx, o[2], 11, 42)
}

func donationTicket(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	dst := make([]byte, x.Bytes())
	open := q.Read(x.ID, dst)
	out, err := s.run(x, g, true, false)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, out, 11, 22); err != nil {
		return err
	}
	if err := open.Wait(ctx); err != nil {
		return fmt.Errorf("the ticket from before the donation: %w", err)
	}
	return sameNumbers(x, dst, 2, 4)
}

// sameNumbers compares elements in the format of Read.
func sameNumbers(d op.Desc, data []byte, want ...float64) error {
	got, err := ref.FromBytes(d, data)
	if err != nil {
		return err
	}
	for i := range want {
		if got.F[i] != want[i] {
			return fmt.Errorf("%v is read as %v, want %v", d.ID, got.F, want)
		}
	}
	return nil
}

func donationView(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	view, err := q.do(op.Reshape, []op.Desc{x}, op.Ints("shape", 2, 1))
	if err != nil {
		return err
	}
	out, err := s.run(x, g, true, true)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, out, 11, 22); err != nil {
		return err
	}
	return q.holds(ctx, view[0], 2, 4)
}

func donationConstant(ctx context.Context, q *queue) error {
	s, err := q.step(ctx, 2)
	if err != nil {
		return err
	}
	c, err := q.put(ctx, numbers(10, 20))
	if err != nil {
		return err
	}
	p, err := q.define(ctx, affine, c.ID)
	if err != nil {
		return err
	}
	g, err := q.put(ctx, numbers(1, 1))
	if err != nil {
		return err
	}
	out, err := s.run(c, g, true, false)
	if err != nil {
		return err
	}
	if err := q.holds(ctx, out, 6, 11); err != nil {
		return err
	}
	o, err := p.run(q, g)
	if err != nil {
		return err
	}
	return q.holds(ctx, o[0], 11, 21)
}

func donationLoop(ctx context.Context, q *queue) error {
	const n, steps = 1000, 100
	s, err := q.step(ctx, n)
	if err != nil {
		return err
	}
	r := q.random("donation-loop")
	values := []ref.Tensor{fill(r, op.DescOf(dtype.F32, n), op.Domain{}, false), fill(r, op.DescOf(dtype.F32, n), op.Domain{}, false)}
	ds, err := q.putAll(ctx, append(values, values[0]))
	if err != nil {
		return err
	}
	donating, g, freeing := ds[0], ds[1], ds[2]
	stats, metered := core.Extension[core.MemoryStats](q.dev)
	var early core.Memory
	for i := range steps {
		if donating, err = s.run(donating, g, true, false); err != nil {
			return err
		}
		if metered && (i == 9 || i == steps-1) {
			if err := q.sync(ctx); err != nil {
				return err
			}
			now := stats.Memory()
			if i == 9 {
				early = now
			} else if now.InUse != early.InUse || now.Tensors != early.Tensors {
				return fmt.Errorf("memory is %+v after %d steps, was %+v after 10", now, steps, early)
			}
		}
	}
	for range steps {
		old := freeing
		if freeing, err = s.run(old, g); err != nil {
			return err
		}
		if err := q.free([]op.TensorID{old.ID}); err != nil {
			return err
		}
	}
	want, err := q.get(ctx, freeing)
	if err != nil {
		return err
	}
	got, err := q.get(ctx, donating)
	if err != nil {
		return err
	}
	for i := range want.F {
		if !near(want.F[i], got.F[i], 1e-6, 1e-6, q.dev.Capabilities().Deterministic) {
			return fmt.Errorf("element %d is %v in the loop that donates, %v in the one that frees", i, got.F[i], want.F[i])
		}
	}
	if err := q.unchanged(ctx, []op.Desc{g}, values[1:]); err != nil {
		return err
	}
	return q.sync(ctx)
}

func donationPoisoned(ctx context.Context, q *queue) error {
	s, x, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	bad, err := q.failing(ctx)
	if err != nil {
		return err
	}
	out, err := s.run(bad, g, true, true)
	if err != nil {
		return err
	}
	_, err = q.get(ctx, out)
	if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
		return err
	}
	if err := errors.Join(q.unknown(ctx, bad), q.unknown(ctx, g)); err != nil {
		return fmt.Errorf("an input donated to a run on a poisoned tensor: %w", err)
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return err
	}
	return q.holds(ctx, x, 2, 4)
}

func donationFailing(ctx context.Context, q *queue) error {
	p, err := q.define(ctx, picks)
	if err != nil {
		return err
	}
	in, err := q.putAll(ctx, badGather())
	if err != nil {
		return err
	}
	o, err := p.donate(q, []bool{true, true}, in...)
	if err != nil {
		return err
	}
	_, err = q.get(ctx, o[0])
	if err := wantError(err, core.ErrIndex); err != nil {
		return err
	}
	for _, d := range in {
		if err := q.unknown(ctx, d); err != nil {
			return fmt.Errorf("an input donated to a run that failed: %w", err)
		}
	}
	if err := wantError(q.sync(ctx), core.ErrIndex); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

func donationUnknown(ctx context.Context, q *queue) error {
	s, _, g, err := q.stepOnTwo(ctx)
	if err != nil {
		return err
	}
	out, err := s.run(q.renewed([]op.Desc{g})[0], g, true, false)
	if err == nil {
		_, err = q.get(ctx, out)
		_ = q.sync(ctx) // reports the same failure again
	}
	if err := wantError(err, core.ErrUnknownTensor); err != nil {
		return err
	}
	if err := q.holds(ctx, g, 10, 20); err != nil {
		return err
	}
	return q.stillGood(ctx)
}
