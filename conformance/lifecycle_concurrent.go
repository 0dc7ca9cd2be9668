package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// concurrencyCases run several streams at the same time.
func concurrencyCases() []testCase {
	return []testCase{
		contract("concurrent/updates", concurrentUpdates), contract("concurrent/same-bits", concurrentBits),
		contract("concurrent/failures", concurrentFailures), contract("concurrent/open-close", concurrentOpenClose),
		contract("concurrent/questions", concurrentQuestions),
	}
}

// atOnce opens n streams and then runs f on each in a separate goroutine. If one does not open, it runs none.
func (q *queue) atOnce(ctx context.Context, n int, f func(i int, s *queue) error) error {
	streams := make([]*queue, n)
	err := inParallel(n, func(i int) (err error) {
		streams[i], err = q.another(ctx)
		return err
	})
	if err == nil {
		err = inParallel(n, func(i int) error {
			if err := f(i, streams[i]); err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
			return nil
		})
	}
	for _, s := range streams {
		if s != nil {
			err = errors.Join(err, ignoreClosed(s.Close()))
		}
	}
	return err
}

// inParallel calls f for 0 to n-1, each in a separate goroutine, and joins their errors. A panic becomes an error.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = f(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// concurrentUpdates accumulates in a separate tensor on every stream, and checks that no update is lost or affects another tensor.
func concurrentUpdates(ctx context.Context, q *queue) error {
	const rounds, streams = 100, 4
	var ready sync.WaitGroup // no stream adds before all have written
	ready.Add(streams)
	return q.atOnce(ctx, streams, func(i int, s *queue) error {
		arrive := sync.OnceFunc(ready.Done)
		defer arrive()
		step := ref.Tensor{Desc: op.DescOf(dtype.I32, 1), I: []int64{int64(i + 1)}}
		total, err := s.put(ctx, ref.Zeros(op.DescOf(dtype.I32, 257)))
		if err != nil {
			return err
		}
		inc, err := s.put(ctx, step)
		if err != nil {
			return err
		}
		arrive()
		ready.Wait()
		for k := range rounds {
			if total, err = s.consume(op.Add, total, inc); err != nil {
				return err
			}
			if k%25 == 0 {
				if err := s.sync(ctx); err != nil {
					return err
				}
			}
		}
		got, err := s.get(ctx, total)
		if err != nil {
			return err
		}
		for e, v := range got.I {
			if want := int64(rounds * (i + 1)); v != want {
				return fmt.Errorf("element %d is %d after %d additions of %d, want %d", e, v, rounds, i+1, want)
			}
		}
		return nil
	})
}

// concurrentBits checks that several streams that compute the same nodes at the same time return the same results as one stream alone, and
// on a deterministic backend the same bits.
func concurrentBits(ctx context.Context, q *queue) error {
	r := q.random("same-bits")
	a := fill(r, op.DescOf(dtype.F32, 37, 61), op.Domain{}, true)
	b := fill(r, op.DescOf(dtype.F32, 61, 29), op.Domain{}, true)
	run := func(s *queue) (ref.Tensor, error) {
		ds, err := s.putAll(ctx, []ref.Tensor{a, b})
		if err != nil {
			return ref.Tensor{}, err
		}
		c, err := s.do(op.MatMul, ds)
		if err != nil {
			return ref.Tensor{}, err
		}
		e, err := s.do(op.Exp, c)
		if err != nil {
			return ref.Tensor{}, err
		}
		sum, err := s.do(op.Sum, e, op.Ints("axes", 0))
		if err != nil {
			return ref.Tensor{}, err
		}
		return s.get(ctx, sum[0])
	}
	alone, err := run(q)
	if err != nil {
		return err
	}
	exact := q.dev.Capabilities().Deterministic
	return q.atOnce(ctx, 4, func(_ int, s *queue) error {
		for range 5 {
			got, err := run(s)
			if err != nil {
				return err
			}
			for i := range alone.F {
				if !near(alone.F[i], got.F[i], 1e-4, 1e-5, exact) {
					return fmt.Errorf("element %d is %v among other streams, %v alone", i, got.F[i], alone.F[i])
				}
			}
		}
		return nil
	})
}

// concurrentFailures checks that the failures of one stream do not affect streams that run at the same time.
func concurrentFailures(ctx context.Context, q *queue) error {
	return q.atOnce(ctx, 4, func(i int, s *queue) error {
		for range 10 {
			if i%2 == 0 {
				if _, err := s.failing(ctx); err != nil {
					return err
				}
				if err := wantNodeError(s.sync(ctx), op.Gather, core.ErrIndex); err != nil {
					return err
				}
				continue
			}
			if err := s.stillGood(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// concurrentOpenClose opens and closes streams while others work.
func concurrentOpenClose(ctx context.Context, q *queue) error {
	return q.atOnce(ctx, 4, func(i int, s *queue) error {
		for range 8 {
			t, err := s.another(ctx)
			if err != nil {
				return err
			}
			if _, err := t.busy(ctx, 5); err != nil {
				return err
			}
			if i%2 == 0 {
				if err := t.sync(ctx); err != nil {
					return err
				}
			}
			if err := t.Close(); err != nil {
				return err
			}
		}
		return s.stillGood(ctx)
	})
}

// concurrentQuestions checks that the descriptions of a backend and a device can be queried from any goroutine and stay the same.
func concurrentQuestions(ctx context.Context, q *queue) error {
	n, in := negNode()
	want := q.dev.Capabilities().Check(&n, in)
	info := q.backend.Info()
	return q.atOnce(ctx, 4, func(_ int, s *queue) error {
		for range 50 {
			if err := s.dev.Capabilities().Check(&n, in); (err == nil) != (want == nil) {
				return fmt.Errorf("the document says of neg: %v among others, %v alone", err, want)
			}
			if s.backend.Info().Name != info.Name {
				return fmt.Errorf("info changes while the backend is open")
			}
		}
		return nil
	})
}
