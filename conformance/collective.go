package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// collectiveCases check collective operations. The ranks are the device under test, opened several times.
func collectiveCases() []testCase {
	var cases []testCase
	for _, size := range []int{2, 3} {
		for _, d := range []dtype.DType{dtype.F32, dtype.I64, dtype.BF16} {
			for _, by := range []core.Reduction{core.ReduceSum, core.ReduceProd, core.ReduceMax, core.ReduceMin} {
				c := ruled(fmt.Sprintf("collective/reduce-%v/%v/%d", by, d, size), "AllReduce combines the tensors in the order of ranks, and all ranks receive the same bits",
					func(ctx context.Context, q *queue) error { return reduces(ctx, q, d, by, size) })
				c.types = dtype.SetOf(d)
				cases = append(cases, c)
			}
		}
		cases = append(cases,
			ruled(fmt.Sprintf("collective/gather/%d", size), "AllGather concatenates along axis 0 in the order of ranks",
				func(ctx context.Context, q *queue) error { return gathers(ctx, q, size) }),
			ruled(fmt.Sprintf("collective/broadcast/%d", size), "Broadcast copies the tensor of the root to all ranks",
				func(ctx context.Context, q *queue) error { return broadcasts(ctx, q, size) }))
	}
	return append(cases,
		ruled("collective/rounds", "rounds take place in the order of the calls, with work of the streams in between", rounds),
		ruled("collective/alone", "a group may have one rank", collectiveAlone),
		ruled("collective/poison", "if a rank fails, the outputs of all ranks are poisoned in that round", collectivePoison),
		ruled("collective/shapes", "if the shapes of the ranks differ, the round fails and the next one succeeds", collectiveShapes),
		ruled("collective/leaves", "if a rank leaves, the outputs of the other ranks are poisoned", collectiveLeaves),
		ruled("collective/sizes", "if ranks state different group sizes, Join returns ErrAttr", collectiveSizes),
		ruled("collective/ranks", "Join returns ErrAttr for a rank outside the group and for a rank that has already joined", collectiveRanks),
		ruled("collective/canceled", "if its context is canceled before all ranks have joined, Join returns ErrCanceled", collectiveCanceled),
	)
}

// rank is a device in a group.
type rank struct {
	*queue
	core.Group
	at int
}

// together opens size devices, joins them as a group and calls f for each rank at once.
func (q *queue) together(ctx context.Context, size int, f func(r *rank) error) error {
	if _, err := needs[core.Collectives](q.dev, "collectives"); err != nil {
		return err
	}
	key := fmt.Sprintf("conformance %v", q.id())
	err := inParallel(size, func(i int) error {
		s, err := q.apart(ctx)
		if err != nil {
			return err
		}
		x, _ := core.Extension[core.Collectives](s.dev)
		g, err := x.Join(ctx, key, i, size)
		if errors.Is(err, core.ErrUnsupported) {
			err = skip{fmt.Sprintf("the device does not join a group with itself: %v", err)}
		}
		if err == nil {
			if err = f(&rank{s, g, i}); err != nil {
				err = fmt.Errorf("rank %d: %w", i, err)
			}
			_ = g.Close() // some ranks have left already
		}
		return errors.Join(err, ignoreClosed(s.dev.Close()))
	})
	return errors.Join(err, q.stillGood(ctx))
}

// Close closes the group. Closing the device closes the stream.
func (r *rank) Close() error { return r.Group.Close() }

// result returns a description like d with a new id.
func (r *rank) result(d op.Desc) op.Desc {
	d.ID = r.id()
	return d
}

// sum returns the sum of x over the ranks.
func (r *rank) sum(x op.Desc) (op.Desc, error) {
	out := r.result(x)
	return out, r.AllReduce(r.Stream, core.ReduceSum, x.ID, out)
}

// combined combines the tensors of all ranks as AllReduce does.
func combined(by core.Reduction, all []ref.Tensor) (ref.Tensor, error) {
	sum := all[0]
	for _, next := range all[1:] {
		n, err := op.New(by.Op(), []op.Desc{sum.Desc, next.Desc})
		if err != nil {
			return sum, err
		}
		out, err := ref.Eval(&n, []ref.Tensor{sum, next})
		if err != nil {
			return sum, err
		}
		sum = out[0]
	}
	return sum, nil
}

func reduces(ctx context.Context, q *queue, d dtype.DType, by core.Reduction, size int) error {
	var in []ref.Tensor
	r := q.random(fmt.Sprint("reduces", d, by, size))
	for range size {
		in = append(in, fill(r, op.DescOf(d, 3, 67), op.Domain{Lo: -3, Hi: 3}, false))
	}
	want, err := combined(by, in)
	if err != nil {
		return err
	}
	got := make([][]byte, size)
	err = q.together(ctx, size, func(r *rank) error {
		x, err := r.put(ctx, in[r.at])
		if err != nil {
			return err
		}
		out := r.result(x)
		if err := r.AllReduce(r.Stream, by, x.ID, out); err != nil {
			return err
		}
		t, err := r.get(ctx, out)
		if err != nil {
			return err
		}
		got[r.at] = t.Bytes()
		if err := reducedNear(want, t, size); err != nil {
			return err
		}
		return errors.Join(r.unchanged(ctx, []op.Desc{x}, in[r.at:][:1]), r.sync(ctx))
	})
	if err != nil {
		return err
	}
	for i := range got {
		if !bytes.Equal(got[i], got[0]) {
			return fmt.Errorf("the result of rank %d differs from the result of rank 0", i)
		}
	}
	return nil
}

// reducedNear compares floats with a tolerance of one rounding error for each rank, because backends may combine in wider types.
func reducedNear(want, got ref.Tensor, size int) error {
	if want.F == nil {
		if !slices.Equal(want.I, got.I) {
			return fmt.Errorf("result is %v, want %v", got.I, want.I)
		}
		return nil
	}
	rel := map[dtype.DType]float64{dtype.F32: 0x1p-23, dtype.BF16: 0x1p-7}[want.Desc.DType] * float64(size)
	for i, w := range want.F {
		if math.IsNaN(got.F[i]) || math.Abs(got.F[i]-w) > rel*(math.Abs(w)+3) {
			return fmt.Errorf("element %d is %v, want %v", i, got.F[i], w)
		}
	}
	return nil
}

func gathers(ctx context.Context, q *queue, size int) error {
	return q.together(ctx, size, func(r *rank) error {
		f := float64(10 * r.at)
		x, err := r.put(ctx, numbers(f, f+1))
		if err != nil {
			return err
		}
		out := r.result(op.DescOf(dtype.F32, 2*size))
		if err := r.AllGather(r.Stream, x.ID, out); err != nil {
			return err
		}
		var want []float64
		for i := range size {
			want = append(want, float64(10*i), float64(10*i+1))
		}
		return errors.Join(r.holds(ctx, out, want...), r.sync(ctx))
	})
}

func broadcasts(ctx context.Context, q *queue, size int) error {
	return q.together(ctx, size, func(r *rank) error {
		for root := range size {
			f := float64(100*root + r.at)
			x, err := r.put(ctx, numbers(f, -f))
			if err != nil {
				return err
			}
			out := r.result(x)
			if err := r.Broadcast(r.Stream, root, x.ID, out); err != nil {
				return err
			}
			want := float64(101 * root)
			if err := r.holds(ctx, out, want, -want); err != nil {
				return fmt.Errorf("from rank %d: %w", root, err)
			}
			if err := r.holds(ctx, x, f, -f); err != nil {
				return fmt.Errorf("the input: %w", err)
			}
		}
		if err := r.Broadcast(r.Stream, size, r.id(), r.result(op.DescOf(dtype.F32, 2))); err == nil {
			return fmt.Errorf("broadcast from rank %d of %d is accepted, want an error", size, size)
		}
		return r.sync(ctx)
	})
}

func rounds(ctx context.Context, q *queue) error {
	return q.together(ctx, 2, func(r *rank) error {
		x, err := r.put(ctx, numbers(1, float64(r.at)))
		if err != nil {
			return err
		}
		for range 6 { // the sum of (1, k) and (1, m) is (2, k+m); the product with (0.5, 1) is (1, k+m)
			sum, err := r.sum(x)
			if err != nil {
				return err
			}
			half, err := r.put(ctx, numbers(0.5, 1))
			if err != nil {
				return err
			}
			n, err := op.New(op.Mul, []op.Desc{sum, half})
			if err != nil {
				return err
			}
			n.Drop = 3
			outs, err := r.submit(n)
			if err != nil {
				return err
			}
			if err := r.free([]op.TensorID{x.ID}); err != nil {
				return err
			}
			x = outs[0]
		}
		return errors.Join(r.holds(ctx, x, 1, 32), r.sync(ctx))
	})
}

func collectiveAlone(ctx context.Context, q *queue) error {
	return q.together(ctx, 1, func(r *rank) error {
		x, err := r.put(ctx, numbers(3, 4))
		if err != nil {
			return err
		}
		sum, all, root := r.result(x), r.result(x), r.result(x)
		err = errors.Join(r.AllReduce(r.Stream, core.ReduceProd, x.ID, sum), r.AllGather(r.Stream, x.ID, all), r.Broadcast(r.Stream, 0, x.ID, root))
		return errors.Join(err, r.holds(ctx, sum, 3, 4), r.holds(ctx, all, 3, 4), r.holds(ctx, root, 3, 4))
	})
}

// failedRound checks that a round failed on a rank with one of the errors in want, and that an event reports it.
func (r *rank) failedRound(ctx context.Context, out op.Desc, want ...error) error {
	_, err := r.get(ctx, out)
	if !slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }) {
		return fmt.Errorf("result of a round that failed: error is %v, want one of %v", err, want)
	}
	if err := r.sync(ctx); err == nil {
		return errors.New("no event reports the round that failed")
	}
	return nil
}

// goodRound checks that a sum over all ranks succeeds.
func (r *rank) goodRound(ctx context.Context, size int) error {
	x, err := r.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	out, err := r.sum(x)
	if err != nil {
		return err
	}
	return r.holds(ctx, out, float64(size), float64(2*size))
}

func collectivePoison(ctx context.Context, q *queue) error {
	return q.together(ctx, 3, func(r *rank) error {
		x, err := r.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		if r.at == 1 {
			if x, err = r.failing(ctx); err != nil {
				return err
			}
		}
		out, err := r.sum(x)
		if err != nil {
			return err
		}
		if err := r.failedRound(ctx, out, core.ErrIndex); err != nil {
			return err
		}
		return r.goodRound(ctx, 3)
	})
}

func collectiveShapes(ctx context.Context, q *queue) error {
	return q.together(ctx, 2, func(r *rank) error {
		x, err := r.put(ctx, ref.Zeros(op.DescOf(dtype.F32, 2+r.at)))
		if err != nil {
			return err
		}
		out := r.result(op.DescOf(dtype.F32, 2))
		if err := r.AllReduce(r.Stream, core.ReduceSum, x.ID, out); err != nil {
			return err
		}
		if err := r.failedRound(ctx, out, core.ErrShape); err != nil {
			return err
		}
		return r.goodRound(ctx, 2)
	})
}

func collectiveLeaves(ctx context.Context, q *queue) error {
	return q.together(ctx, 3, func(r *rank) error {
		if err := r.goodRound(ctx, 3); err != nil {
			return err
		}
		if r.at == 2 {
			return r.Close()
		}
		x, err := r.put(ctx, numbers(1, 2))
		if err != nil {
			return err
		}
		out, err := r.sum(x)
		if err != nil {
			return err
		}
		if err := r.failedRound(ctx, out, core.ErrClosed, core.ErrBackendLost); err != nil {
			return err
		}
		return r.stillGood(ctx)
	})
}

// joining joins a group and leaves it.
func (q *queue) joining(ctx context.Context, key string, rank, size int) error {
	return q.withApart(ctx, func(s *queue) error {
		x, err := needs[core.Collectives](s.dev, "collectives")
		if err != nil {
			return err
		}
		g, err := x.Join(ctx, key, rank, size)
		if err != nil {
			return err
		}
		return g.Close()
	})
}

func collectiveSizes(ctx context.Context, q *queue) error {
	key := fmt.Sprintf("conformance sizes %v", q.id())
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, 2)
	for rank, size := range []int{2, 3} {
		go func() { errs <- q.joining(waiting, key, rank, size) }()
	}
	first := <-errs
	var sk skip
	if errors.As(first, &sk) {
		<-errs
		return first
	}
	if err := wantError(first, core.ErrAttr); err != nil {
		return err
	}
	cancel() // no other rank joins
	if err := <-errs; err == nil {
		return errors.New("Join succeeded although another rank is missing")
	}
	return q.stillGood(ctx)
}

func collectiveRanks(ctx context.Context, q *queue) error {
	for _, r := range [][2]int{{2, 2}, {-1, 2}, {0, 0}, {0, -1}} {
		if err := wantOrSkip(q.joining(ctx, "conformance ranks", r[0], r[1]), core.ErrAttr); err != nil {
			return fmt.Errorf("rank %d of %d: %w", r[0], r[1], err)
		}
	}
	key := fmt.Sprintf("conformance ranks %v", q.id())
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- q.joining(waiting, key, 0, 2) }()
	}
	if err := wantOrSkip(<-errs, core.ErrAttr); err != nil {
		return fmt.Errorf("a rank that has already joined: %w", err)
	}
	cancel()
	<-errs
	return q.stillGood(ctx)
}

// wantOrSkip is like wantError, but returns skips unchanged.
func wantOrSkip(err, want error) error {
	if sk := (skip{}); errors.As(err, &sk) {
		return sk
	}
	return wantError(err, want)
}

func collectiveCanceled(ctx context.Context, q *queue) error {
	key := fmt.Sprintf("conformance canceled %v", q.id())
	short, cancel := context.WithCancelCause(ctx)
	defer time.AfterFunc(5*time.Millisecond, func() { cancel(errEnough) }).Stop()
	err := wantOrSkip(q.joining(short, key, 0, 2), core.ErrCanceled)
	cancel(errEnough)
	if err != nil {
		return err
	}
	return q.stillGood(ctx)
}
