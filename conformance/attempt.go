package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/goburn/burn/core"
)

// GuardChecker is an extension of a device for tests: a backend in the suite's process may put guard bands around its buffers,
// which the suite checks after every case. On other devices the suite checks only tensors that it allocates around the results of a
// node, in cases whose ids end in /guard. It is an alias, so that a device can implement it without importing this package.
type GuardChecker = interface {
	// CheckGuards returns an error if a byte that belongs to no tensor was written.
	CheckGuards() error
}

// result runs one case and compares its outcome with the expected one.
func (s *session) result(ctx context.Context, c testCase) Result {
	start := time.Now()
	err := s.attempts(ctx, c)
	r := Result{ID: c.id, Status: Passed, Duration: time.Since(start), Profiles: c.profiles(), Types: c.types}
	if c.spec != nil {
		r.Op = c.op.String()
		r.Type = c.firstType()
	}
	var sk skip
	expected := slices.Contains(s.options.Expect, c.id)
	switch {
	case errors.As(err, &sk):
		r.Status, r.Reason = Skipped, sk.reason
		r.Moot = errors.As(err, new(moot))
	case err != nil && expected:
		r.Status, r.Reason = Expected, err.Error()
	case err != nil:
		r.Status, r.Reason = Failed, err.Error()
		if c.rule != "" {
			r.Reason += "; the rule: " + c.rule
		}
		if !errors.Is(err, errHung) && s.mayShrink() {
			if r.Minimal = s.shrink(ctx, c, err); r.Minimal != nil {
				s.shrunk.Add(1)
			}
		}
	case expected:
		r.Status, r.Reason = Failed, "passed although it is expected to fail: remove it from the list"
	}
	return r
}

// attempts runs a case with each of its seeds, until it fails with one.
func (s *session) attempts(ctx context.Context, c testCase) (err error) {
	seeds := s.seeds
	if !c.drawn() {
		seeds = seeds[:1]
	}
	for _, s.seed = range seeds {
		if err = s.attempt(ctx, c); err != nil && len(seeds) > 1 && !errors.As(err, new(skip)) {
			return fmt.Errorf("seed %d: %w", s.seed, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Timeouts. After more than patientHangs cases have hung, the suite waits less long for further ones.
const (
	defaultTimeout = 30 * time.Second
	patientHangs   = 3
	hangGrace      = 3 * time.Second
)

func (s *session) limit() time.Duration {
	limit := s.options.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	if s.hangs > patientHangs {
		limit = max(limit/10, min(limit, time.Second))
	}
	return limit
}

// unopened is the error of a case that has not begun, because its stream could not be opened.
type unopened struct{ error }

func (u unopened) Unwrap() error { return u.error }

// attempt runs a case. If the backend was lost since the previous case, it is opened again: the loss is not a failure of this case.
func (s *session) attempt(ctx context.Context, c testCase) error {
	err := s.attemptOnce(ctx, c)
	var u unopened
	if errors.As(err, &u) && errors.Is(err, core.ErrBackendLost) && ctx.Err() == nil {
		err = s.attemptOnce(ctx, c)
	}
	if !errors.Is(err, core.ErrOutOfMemory) || ctx.Err() != nil {
		return err
	}
	if s.crowded { // earlier cases have left tensors on the device
		err = s.attemptOnce(ctx, c)
	}
	return s.tooLarge(err)
}

// tooLarge turns the error of a case that ran out of memory into a skip, if the case created more tensors than fit the memory that the
// device states.
func (s *session) tooLarge(err error) error {
	if !errors.Is(err, core.ErrOutOfMemory) {
		return err
	}
	var memory int64
	if i := s.options.Device; i < len(s.report.Backend.Devices) {
		memory = s.report.Backend.Devices[i].Memory
	}
	if made := s.made.Load(); memory > 0 && made > memory {
		return skip{fmt.Sprintf("the case creates tensors of more bytes than the %d bytes of memory that the device states", memory)}
	}
	return err
}

// attemptOnce runs a case on a new stream, in a new goroutine. The case fails if it panics in this process or does not end in time. If it
// does not end, its goroutine and the backend are abandoned.
func (s *session) attemptOnce(ctx context.Context, c testCase) error {
	if err := s.deviceFor(ctx, c); err != nil {
		return err
	}
	s.made.Store(0)
	s.crowded = s.used > 1 && c.spec != nil
	if missing := c.types &^ s.device.Capabilities().Types; missing != 0 {
		return skip{fmt.Sprintf("type not claimed: %v", missing)}
	}
	limit := s.limit() * time.Duration(max(c.checks, 1))
	cctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: the case takes longer than %v", errHung, limit))
	defer cancel()
	type outcome struct {
		err   error
		broke bool
	}
	ended := make(chan outcome, 1)
	q := s.queue() // created here, because an abandoned goroutine must not read the session
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{fmt.Errorf("panic: %v\n%s", p, debug.Stack()), true}
			}
			ended <- o
		}()
		o.err = q.onStream(cctx, c)
	}()
	var o outcome
	select {
	case o = <-ended:
	case <-cctx.Done():
		t := time.NewTimer(min(limit, hangGrace)) // a call that observes the context may still end
		defer t.Stop()
		select {
		case o = <-ended:
		case <-t.C:
			o = outcome{fmt.Errorf("%w: the case takes longer than %v and ignores that its context has ended; its goroutine is left behind", errHung, limit), true}
		}
	}
	if cctx.Err() != nil && ctx.Err() == nil && o.err != nil {
		if !errors.Is(o.err, errHung) {
			o.err = fmt.Errorf("%w: %w", context.Cause(cctx), o.err)
		}
		o.broke = true
	}
	if errors.Is(o.err, errHung) {
		s.hangs++
	}
	if o.broke || errors.Is(o.err, core.ErrBackendLost) || errors.Is(o.err, core.ErrClosed) {
		s.close()
	}
	var sk skip
	if o.err != nil && !errors.As(o.err, &sk) {
		s.distrust()
	}
	return o.err
}

// onStream opens a stream like q and runs the case on it.
func (q *queue) onStream(ctx context.Context, c testCase) error {
	q, err := q.another(ctx)
	if err != nil {
		return unopened{err}
	}
	q.test = c.id
	err = c.run(ctx, q)
	if g, ok := core.Extension[GuardChecker](q.dev); ok && err == nil {
		if err = g.CheckGuards(); err != nil {
			err = fmt.Errorf("guard bands: %w", err)
		}
	}
	if cerr := q.Close(); err == nil && cerr != nil && !errors.Is(cerr, core.ErrClosed) {
		err = fmt.Errorf("close of the stream: %w", cerr)
	}
	return err
}
