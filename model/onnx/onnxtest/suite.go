package onnxtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
)

// Summary counts outcomes.
type Summary struct{ Passed, Failed, Skipped int }

// String returns the summary line of a run: "3 passed, 1 failed, 2 skipped".
func (s Summary) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", s.Passed, s.Failed, s.Skipped)
}

// Opener opens the device that cases run on.
type Opener func(context.Context) (*core.Place, error)

// RunAll runs cases, up to jobs of them concurrently, and reports each result as soon as it is known; calls of report do not
// overlap. The device is opened once, and again after the backend is lost, which fails the case but not the run. An error means
// that the run is incomplete: the device cannot be opened, or ctx ended.
func RunAll(ctx context.Context, open Opener, cases []Case, o Options, jobs int, report func(Result)) (Summary, error) {
	d := &shared{open: open}
	defer d.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu   sync.Mutex
		sum  Summary
		wg   sync.WaitGroup
		next = make(chan Case)
	)
	for range max(jobs, 1) {
		wg.Go(func() {
			for c := range next {
				dev, err := d.get(ctx)
				if err != nil {
					cancel(err)
					return
				}
				r := Run(ctx, dev, c, o)
				if r.lost {
					d.drop(dev)
				}
				if ctx.Err() != nil {
					return // the case neither passed nor failed
				}
				mu.Lock()
				switch r.Status {
				case Passed:
					sum.Passed++
				case Failed:
					sum.Failed++
				default:
					sum.Skipped++
				}
				report(r)
				mu.Unlock()
			}
		})
	}
feed:
	for _, c := range cases {
		select {
		case next <- c:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if cause == context.Canceled || cause == context.DeadlineExceeded {
			cause = core.ErrCanceled
		}
		return sum, fmt.Errorf("onnxtest: stopped after %d of %d cases: %w", sum.Passed+sum.Failed+sum.Skipped, len(cases), cause)
	}
	return sum, nil
}

// shared is the device of a run.
type shared struct {
	open Opener
	mu   sync.Mutex
	dev  *core.Place
}

func (s *shared) get(ctx context.Context) (*core.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev != nil {
		return s.dev, nil
	}
	dev, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.dev = dev
	return dev, nil
}

// drop closes a lost device, unless another case has done so already.
func (s *shared) drop(dev *core.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev == dev {
		s.dev = nil
		_ = dev.Close() // the loss of the backend is known already
	}
}

func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dev != nil {
		_ = s.dev.Close()
	}
}
