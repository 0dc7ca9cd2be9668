package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/goburn/burn/core"
)

// Options select and shape a run. The zero Options run everything.
type Options struct {
	// Run is a regular expression; only cases whose id it matches run.
	Run string
	// Seed of the values; 0 stands for 1.
	Seed uint64
	// Timeout of one case; 0 stands for a minute.
	Timeout time.Duration
	// Progress, if set, is told of every result as it comes.
	Progress func(Result)
}

// Check runs the suite on the backend that open opens, one case after the other. open is called again after a case that
// lost the backend. The error says that the suite could not run: a bad pattern, a backend that does not open, or a context
// that ended. What cases found stands in the report; see Report.Err.
func Check(ctx context.Context, open func() (core.Backend, error), o Options) (*Report, error) {
	s, cases, err := prepare(open, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	report := &Report{Backend: s.info, Seed: s.seed}
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return report, context.Cause(ctx)
		}
		r := s.result(ctx, c, o)
		report.add(r)
		if o.Progress != nil {
			o.Progress(r)
		}
	}
	return report, nil
}

// Run runs the suite as subtests of t, named by the ids of the cases, so that go test -run selects them.
func Run(t *testing.T, open func() (core.Backend, error), options ...Options) {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	s, cases, err := prepare(open, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	report := &Report{Backend: s.info, Seed: s.seed}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			r := s.result(t.Context(), c, o)
			report.add(r)
			switch r.Status {
			case Failed:
				t.Error(r.Reason)
			case Skipped:
				t.Skip(r.Reason)
			}
		})
	}
	t.Logf("%d passed, %d failed, %d skipped", report.Passed, report.Failed, report.Skipped)
	// With go test -run, only some subtests are entered; none at all is not a failure of the backend.
	if len(report.Results) > 0 && report.Failed == 0 {
		if err := report.Err(); err != nil {
			t.Error(err)
		}
	}
}

// IDs lists the cases for a backend in the order in which they run.
func IDs(open func() (core.Backend, error), o Options) ([]string, error) {
	s, cases, err := prepare(open, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.id)
	}
	return ids, nil
}

func prepare(open func() (core.Backend, error), o Options) (*session, []testCase, error) {
	pattern, err := regexp.Compile(o.Run)
	if err != nil {
		return nil, nil, fmt.Errorf("conformance: pattern of cases: %w", err)
	}
	s := &session{open: open, seed: max(1, o.Seed)}
	if err := s.ensure(); err != nil {
		return nil, nil, err
	}
	var cases []testCase
	for _, c := range allCases(s.backend) {
		if pattern.MatchString(c.id) {
			cases = append(cases, c)
		}
	}
	return s, cases, nil
}

// skip is the error of a case that does not apply.
type skip struct{ reason string }

func (s skip) Error() string { return s.reason }

// result runs one case.
func (s *session) result(ctx context.Context, c testCase, o Options) (r Result) {
	limit := o.Timeout
	if limit == 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	err := s.attempt(ctx, c)
	r = Result{ID: c.id, Status: Passed, Duration: time.Since(start)}
	var sk skip
	switch {
	case errors.As(err, &sk):
		r.Status, r.Reason = Skipped, sk.reason
	case err != nil:
		r.Status, r.Reason = Failed, err.Error()
	}
	return r
}

// attempt runs a case on a stream of its own. A panic on this side of the backend is the case's failure.
func (s *session) attempt(ctx context.Context, c testCase) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed) {
			s.close()
		}
	}()
	if err := s.ensure(); err != nil {
		return err
	}
	q, err := s.stream(ctx)
	if err != nil {
		return err
	}
	err = c.run(ctx, q)
	if cerr := q.Close(); err == nil && cerr != nil && !errors.Is(cerr, core.ErrClosed) {
		err = fmt.Errorf("close of the stream: %w", cerr)
	}
	return err
}
