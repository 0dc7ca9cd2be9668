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

// refusedCases check that a device remains usable after nodes that it refuses, and runs nodes up to its limits.
func refusedCases() []testCase {
	cases := []testCase{
		ruled("refused/version", "a node of a version that is not claimed fails without affecting other nodes", refusedVersion),
		ruled("refused/everywhere", "after failures on one stream, its device, the other streams and new streams still work", refusedEverywhere),
		ruled("refused/within", "if a node of a list fails, nodes that do not depend on it succeed", refusedWithin),
		ruled("refused/free", "if a free fails, all other commands still take effect", refusedFree),
		ruled("refused/closed-device", "a device on which many nodes failed can be closed", refusedClosed),
		ruled("limits/buffers", "a node may have as many operands as the limit allows", limitBuffers),
		ruled("limits/bytes", "a tensor may have as many bytes as the limit allows, but not more", limitBytes),
		ruled("limits/elements", "a result may have as many elements as the limit allows", limitElements),
	}
	for i := range cases {
		if cases[i].id == "limits/bytes" || cases[i].id == "limits/elements" {
			cases[i].types = dtype.SetOf(dtype.U8)
		}
	}
	return cases
}

func refusedVersion(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	for range 3 {
		n, err := op.New(op.Neg, []op.Desc{d})
		if err != nil {
			return err
		}
		n.Version += 900
		outs, err := q.submit(n)
		if err == nil {
			_, err = q.get(ctx, outs[0])
			if e := q.sync(ctx); e == nil {
				return errors.New("no event reports a node of another version")
			}
		}
		if err := wantError(err, core.ErrUnsupported); err != nil {
			return fmt.Errorf("neg of version %d: %w", n.Version, err)
		}
		if err := q.stillGood(ctx); err != nil {
			return err
		}
	}
	return q.holds(ctx, d, 1, 2)
}

func refusedEverywhere(ctx context.Context, q *queue) error {
	return q.with(ctx, func(s *queue) error {
		for range 20 {
			if _, err := s.failing(ctx); err != nil {
				return err
			}
			if err := q.stillGood(ctx); err != nil {
				return fmt.Errorf("beside a stream of failures: %w", err)
			}
		}
		if err := wantNodeError(s.sync(ctx), op.Gather, core.ErrIndex); err != nil {
			return err
		}
		if err := s.stillGood(ctx); err != nil {
			return err
		}
		return q.with(ctx, func(t *queue) error { return t.stillGood(ctx) })
	})
}

func refusedWithin(ctx context.Context, q *queue) error {
	in, err := q.putAll(ctx, append(badGather(), numbers(4, 5)))
	if err != nil {
		return err
	}
	before, err := op.New(op.Neg, in[2:])
	if err != nil {
		return err
	}
	bad, err := op.New(op.Gather, in[:2], op.Int("axis", 0))
	if err != nil {
		return err
	}
	before.Outputs[0].ID, bad.Outputs[0].ID = q.id(), q.id()
	behind, err := op.New(op.Add, []op.Desc{before.Outputs[0], in[2]})
	if err != nil {
		return err
	}
	mixed, err := op.New(op.Add, []op.Desc{bad.Outputs[0], in[2]})
	if err != nil {
		return err
	}
	behind.Outputs[0].ID, mixed.Outputs[0].ID = q.id(), q.id()
	if err := q.Submit([]op.Node{before, bad, mixed, behind}, idsOf(in)); err != nil {
		return err
	}
	for _, err := range []error{q.holds(ctx, before.Outputs[0], -4, -5), q.holds(ctx, behind.Outputs[0], 0, 0)} {
		if err != nil && !learnedLate(err) { // a device that learned late may poison all of the list
			return err
		}
	}
	for _, d := range []op.Desc{bad.Outputs[0], mixed.Outputs[0]} {
		_, err := q.get(ctx, d)
		if err := wantNodeError(err, op.Gather, core.ErrIndex); err != nil {
			return err
		}
	}
	if err := wantNodeError(q.sync(ctx), op.Gather, core.ErrIndex); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

func refusedFree(ctx context.Context, q *queue) error {
	ds, err := q.putAll(ctx, []ref.Tensor{numbers(1, 2), numbers(3, 4)})
	if err != nil {
		return err
	}
	neg, err := op.New(op.Neg, ds[:1])
	if err != nil {
		return err
	}
	neg.Outputs[0].ID = q.id()
	if err := q.Submit([]op.Node{neg}, []op.TensorID{ds[0].ID, q.id(), ds[1].ID}); err != nil {
		return err
	}
	if err := wantError(q.sync(ctx), core.ErrUnknownTensor); err != nil {
		return err
	}
	if err := q.holds(ctx, neg.Outputs[0], -1, -2); err != nil {
		return err
	}
	return errors.Join(q.unknown(ctx, ds[0]), q.unknown(ctx, ds[1]), q.stillGood(ctx))
}

func refusedClosed(ctx context.Context, q *queue) error {
	return q.withApart(ctx, func(s *queue) error {
		for range 30 {
			if _, err := s.failing(ctx); err != nil {
				return err
			}
		}
		if err := s.dev.Close(); err != nil {
			return err
		}
		return q.stillGood(ctx)
	})
}

// limitOf returns the narrower of a limit of the device and one of an op; 0 for none.
func limitOf[T int | int64](device, claim T) T {
	if device > 0 && claim > 0 {
		return min(device, claim)
	}
	return max(device, claim)
}

func limitBuffers(ctx context.Context, q *queue) error {
	const many = 300 // number of operands if there is no limit
	caps := q.dev.Capabilities()
	count := many
	if most := limitOf(caps.Limits.Buffers, caps.Ops[op.Concat.String()].Limits.Buffers); most > 0 {
		count = min(many, most-1) // the result is one too
	}
	var in []ref.Tensor
	for i := range count {
		in = append(in, numbers(float64(i), -float64(i)))
	}
	ds, err := q.putAll(ctx, in)
	if err != nil {
		return err
	}
	n, err := op.New(op.Concat, ds, op.Int("axis", 0))
	if err != nil {
		return err
	}
	if err := q.claims(&n, ds); err != nil {
		return err
	}
	return q.expect(ctx, n, in)
}

// most is the greatest limit that is tested.
const most = 1 << 24

func limitBytes(ctx context.Context, q *queue) error {
	limit := q.dev.Capabilities().Limits.Bytes
	if limit == 0 || limit > most {
		return moot{skip{fmt.Sprintf("the limit of bytes is %d; up to %d are tried", limit, most)}}
	}
	t := pattern(int(limit), 3)
	d, err := q.put(ctx, t)
	if err != nil {
		return fmt.Errorf("at the limit: %w", err)
	}
	if err := q.unchanged(ctx, []op.Desc{d}, []ref.Tensor{t}); err != nil {
		return fmt.Errorf("at the limit: %w", err)
	}
	over := op.DescOf(dtype.U8, int(limit)+1)
	over.ID = q.id()
	if err := wantError(q.Write(ctx, over, make([]byte, over.Bytes())), core.ErrUnsupported); err != nil {
		return fmt.Errorf("write above the limit: %w", err)
	}
	return q.stillGood(ctx)
}

func limitElements(ctx context.Context, q *queue) error {
	caps := q.dev.Capabilities()
	limit := limitOf(caps.Limits.Elements, caps.Ops[op.Full.String()].Limits.Elements)
	if limit == 0 || limit > most {
		return moot{skip{fmt.Sprintf("the limit of elements is %d; up to %d are tried", limit, most)}}
	}
	n, err := op.New(op.Full, nil, op.Type("dtype", dtype.U8), op.Ints("shape", int(limit)), op.ScalarInt("value", 7))
	if err != nil {
		return err
	}
	if err := q.claims(&n, nil); err != nil {
		return err
	}
	outs, err := q.submit(n)
	if err != nil {
		return err
	}
	got, err := q.get(ctx, outs[0])
	if err != nil {
		return fmt.Errorf("at the limit: %w", err)
	}
	if slices.ContainsFunc(got.I, func(i int64) bool { return i != 7 }) {
		return errors.New("at the limit: an element is not 7")
	}
	return q.sync(ctx)
}
