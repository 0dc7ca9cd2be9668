package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// lifecycleCases check the life of tensors, streams, programs and backends, from creation to release.
func lifecycleCases() []testCase {
	cases := []testCase{
		contract("lifecycle/free-order", freeOrder), contract("lifecycle/double-free", doubleFree), contract("lifecycle/use-after-drop", useAfterDrop),
		contract("lifecycle/free-in-flight", freeInFlight), contract("lifecycle/stale", stale),
		contract("lifecycle/late-result", lateResult), contract("lifecycle/leak-of-failures", leakOfFailures), contract("lifecycle/leak-of-devices", leakOfDevices),
		contract("lifecycle/out-of-memory", outOfMemory),
	}
	cases = append(cases, errorCases()...)
	cases = append(cases, cancelCases()...)
	cases = append(cases, concurrencyCases()...)
	cases = append(cases, closingCases()...)
	cases = append(cases, programCases()...)
	return append(cases, processCases()...)
}

// freeOrder creates tensors that depend on each other, frees them in an unrelated order, and checks that the remaining tensors keep their values.
func freeOrder(ctx context.Context, q *queue) error {
	r := q.random("free-order")
	type kept struct {
		d    op.Desc
		want []float64
	}
	var live []kept
	for i := range 12 {
		f := float64(i)
		d, err := q.put(ctx, numbers(f, f+0.5))
		if err != nil {
			return err
		}
		neg, err := q.do(op.Neg, []op.Desc{d})
		if err != nil {
			return err
		}
		sum, err := q.do(op.Add, []op.Desc{neg[0], d})
		if err != nil {
			return err
		}
		view, err := q.do(op.Flip, neg, op.Ints("axes", 0))
		if err != nil {
			return err
		}
		live = append(live, kept{d, []float64{f, f + 0.5}}, kept{neg[0], []float64{-f, -f - 0.5}}, kept{sum[0], []float64{0, 0}},
			kept{view[0], []float64{-f - 0.5, -f}})
	}
	for len(live) > 0 {
		r.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		n := min(len(live), 1+r.IntN(9))
		var ids []op.TensorID
		for _, k := range live[:n] {
			ids = append(ids, k.d.ID)
		}
		if err := q.free(ids); err != nil {
			return err
		}
		if _, err := q.put(ctx, numbers(99, 99)); err != nil { // may reuse the memory
			return err
		}
		live = live[n:]
		for _, k := range live {
			got, err := q.get(ctx, k.d)
			if err != nil {
				return fmt.Errorf("read of %v, which was not freed: %w", k.d.ID, err)
			}
			for i, f := range got.F {
				if f != k.want[i] && !(f == 0 && k.want[i] == 0) {
					return fmt.Errorf("%v holds %v after others were freed, want %v", k.d.ID, got.F, k.want)
				}
			}
		}
	}
	return q.sync(ctx)
}

// doubleFree checks that an id listed twice in a Free is unknown the second time, and that the other ids are freed.
func doubleFree(ctx context.Context, q *queue) error {
	ds, err := q.putAll(ctx, []ref.Tensor{numbers(1), numbers(2), numbers(3)})
	if err != nil {
		return err
	}
	if err := q.free([]op.TensorID{ds[0].ID, ds[0].ID, ds[1].ID}); err != nil {
		return err
	}
	if err := wantError(q.sync(ctx), core.ErrUnknownTensor); err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("the double free is reported again: %w", err)
	}
	for _, d := range ds[:2] {
		if err := q.unknown(ctx, d); err != nil {
			return err
		}
	}
	return q.holds(ctx, ds[2], 3)
}

// useAfterDrop checks that an operand that was dropped by a node is unknown to the next node.
func useAfterDrop(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	neg, err := q.consume(op.Neg, d)
	if err != nil {
		return err
	}
	later, err := q.do(op.Neg, []op.Desc{d})
	if err == nil {
		_, err = q.get(ctx, later[0])
	}
	if err := wantError(err, core.ErrUnknownTensor); err != nil {
		return err
	}
	return q.holds(ctx, neg, -1, -2)
}

// freeInFlight frees operands while the nodes that use them are still in the queue.
func freeInFlight(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, fill(q.random("in-flight"), op.DescOf(dtype.F32, 64, 64), op.Domain{Lo: -0.1, Hi: 0.1}, true))
	if err != nil {
		return err
	}
	x := d
	for range 20 {
		outs, err := q.do(op.MatMul, []op.Desc{x, d})
		if err != nil {
			return err
		}
		if x.ID != d.ID {
			if err := q.free([]op.TensorID{x.ID}); err != nil {
				return err
			}
		}
		x = outs[0]
	}
	first, err := q.get(ctx, x)
	if err != nil {
		return err
	}
	y := d // the same again, each result read before the next
	for range 20 {
		outs, err := q.do(op.MatMul, []op.Desc{y, d})
		if err != nil {
			return err
		}
		if _, err := q.get(ctx, outs[0]); err != nil {
			return err
		}
		y = outs[0]
	}
	again, err := q.get(ctx, y)
	if err != nil {
		return err
	}
	for i := range first.F {
		if !near(again.F[i], first.F[i], 1e-4, 1e-6, false) {
			return fmt.Errorf("element %d is %v if operands are freed in flight, %v otherwise", i, first.F[i], again.F[i])
		}
	}
	return q.sync(ctx)
}

// stale checks that an id of another generation never names a tensor of this generation.
func stale(ctx context.Context, q *queue) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	other := d
	other.ID = op.NewTensorID(d.ID.Generation()+1, d.ID.Sequence())
	_, err = q.get(ctx, other)
	if !errors.Is(err, core.ErrStale) && !errors.Is(err, core.ErrUnknownTensor) {
		return fmt.Errorf("read of %v: error is %v, want %v or %v", other.ID, err, core.ErrStale, core.ErrUnknownTensor)
	}
	outs, err := q.do(op.Neg, []op.Desc{other})
	if err == nil {
		_, err = q.get(ctx, outs[0])
	}
	if !errors.Is(err, core.ErrStale) && !errors.Is(err, core.ErrUnknownTensor) {
		return fmt.Errorf("node on %v: error is %v, want %v or %v", other.ID, err, core.ErrStale, core.ErrUnknownTensor)
	}
	return q.holds(ctx, d, 1, 2)
}

// lateResult submits nodes that take a while to compute, and reads their results at once.
func lateResult(ctx context.Context, q *queue) error {
	r := rand.New(rand.NewPCG(q.seed, 1))
	for range 10 {
		in := fill(r, op.DescOf(dtype.I32, 48, 48), op.Domain{Lo: -9, Hi: 9}, false)
		d, err := q.put(ctx, in)
		if err != nil {
			return err
		}
		n, err := op.New(op.MatMul, []op.Desc{d, d})
		if err != nil {
			return err
		}
		want, err := ref.Eval(&n, []ref.Tensor{in, in})
		if err != nil {
			return err
		}
		outs, err := q.submit(n)
		if err != nil {
			return err
		}
		if err := q.same(ctx, &n, []ref.Tensor{in, in}, outs, want); err != nil {
			return fmt.Errorf("read right after submit: %w", err)
		}
	}
	return nil
}

// leakOfFailures checks that nodes that fail keep no memory once their results are freed.
func leakOfFailures(ctx context.Context, q *queue) error {
	return q.givesBack(ctx, "failed nodes were freed", func() error {
		for range 5 {
			in, err := q.putAll(ctx, badGather())
			if err != nil {
				return err
			}
			bad, err := q.do(op.Gather, in, op.Int("axis", 0))
			if err != nil {
				return err
			}
			next, err := q.do(op.Exp, bad)
			if err != nil {
				return err
			}
			if err := q.free(idsOf(slices.Concat(in, bad, next))); err != nil {
				return err
			}
			if err := wantError(q.sync(ctx), core.ErrIndex); err != nil {
				return err
			}
		}
		return nil
	})
}

// leakOfDevices checks that closing a device with live tensors leaves no tensors on the next device.
func leakOfDevices(ctx context.Context, q *queue) error {
	for range 3 {
		s, err := q.apart(ctx)
		if err != nil {
			return err
		}
		stats, err := needs[core.MemoryStats](s.dev, "memory statistics")
		if err != nil {
			return errors.Join(err, s.dev.Close())
		}
		if err := s.sync(ctx); err != nil {
			return err
		}
		if m := stats.Memory(); m.Tensors != 0 {
			return fmt.Errorf("a new device has %d tensors", m.Tensors)
		}
		for range 4 {
			if _, err := s.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 1000))); err != nil {
				return err
			}
		}
		if err := s.dev.Close(); err != nil {
			return err
		}
	}
	return nil
}

// outOfMemory checks that a node whose result is larger than any machine's memory fails with ErrOutOfMemory, and that the stream stays
// usable. A backend that computes elements only when they are read may return the correct result instead.
func outOfMemory(ctx context.Context, q *queue) error {
	n, err := op.New(op.Iota, nil, op.Type("dtype", dtype.F32), op.Ints("shape", 1<<44), op.Int("axis", 0))
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
	q.made.Add(-int64(total(outs))) // the case expects the error, so this result does not count as memory that it needs
	part, err := q.do(op.Slice, outs, op.Ints("start", 5), op.Ints("size", 1), op.Ints("step", 1))
	if err != nil {
		return err
	}
	got, err := q.get(ctx, part[0])
	if err == nil {
		if got.F[0] != 5 { // for backends that compute elements only when they are read
			return fmt.Errorf("element 5 of an iota is %v", got.F[0])
		}
		return q.stillGood(ctx)
	}
	if err := wantNodeError(err, op.Iota, core.ErrOutOfMemory); err != nil {
		return err
	}
	if err := wantNodeError(q.sync(ctx), op.Iota, core.ErrOutOfMemory); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := q.free(idsOf([]op.Desc{outs[0], part[0]})); err != nil {
		return err
	}
	return q.stillGood(ctx)
}

// stillGood returns an error if the stream does not compute a node any more.
func (q *queue) stillGood(ctx context.Context) error {
	d, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return fmt.Errorf("the stream does not go on: %w", err)
	}
	outs, err := q.do(op.Neg, []op.Desc{d})
	if err != nil {
		return fmt.Errorf("the stream does not go on: %w", err)
	}
	if err := q.holds(ctx, outs[0], -1, -2); err != nil {
		return fmt.Errorf("the stream does not go on: %w", err)
	}
	if err := q.sync(ctx); err != nil {
		return fmt.Errorf("the stream does not go on: %w", err)
	}
	return nil
}
