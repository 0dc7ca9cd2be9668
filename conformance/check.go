package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goburn/burn/core"
)

// Options configure a run. The zero Options run all cases.
type Options struct {
	// Run is a regular expression; only cases whose id it matches run.
	Run string
	// Profile limits the run to the cases of one profile; empty: All.
	Profile Profile
	// Sample, if greater than 1, selects about one in Sample of these cases, always the same ones. It selects at least one of each test of
	// each op, fewer of the large cases, and all cases of the contract except some of the fresh ones. A report of a sample does not prove
	// conformance.
	Sample int
	// Device is the index of the device under test.
	Device int
	// Seed of the values; 0 means 1.
	Seed uint64
	// Challenge, if set, replaces Seed: seeds are derived from it. Cases whose values are drawn run once for each seed;
	// cases of the contract run once, with the first seed.
	Challenge *Challenge
	// Jobs is the number of cases of ops that run at the same time, each on a separate backend; less than 2 means one after the other.
	// Cases of the contract always run alone.
	Jobs int
	// Timeout of one case; 0 means 30 seconds. A case that takes longer fails, and the backend is opened again.
	Timeout time.Duration
	// Expect names cases that are known to fail, by id. If one fails, the report lists it and does not fail; if one passes, that is a
	// failure.
	Expect []string
	// Shrink is the number of failures that are shrunk to a small failing node; 0 means 20, less than 0 none.
	Shrink int
	// Kill, if set, ends the process of b like SIGKILL. Cases about crashes run only if it is set.
	Kill func(b core.Backend) error
	// Protocol, if set, checks that the plugin under test keeps a part of the plugin protocol, one of ProtocolParts, on separate processes,
	// and returns the number of rules that it checked. Package conformance/protocol implements it. Cases of the protocol run only if it is
	// set.
	Protocol func(ctx context.Context, part string) (rules int, err error)
	// Progress, if set, is called with every result as it comes and with the total number of cases, by one goroutine at a time.
	// With Jobs results come in any order. Run ignores Progress and Jobs.
	Progress func(r Result, total int)

	only  map[string]bool // ids that are run; nil: all
	seeds []uint64        // replaces Seed and Challenge
}

// Check runs the suite on the backend that open opens. open is called once for each of o.Jobs, and again after a case that lost the
// backend, hung or panicked. The error says that the suite could not run: a bad pattern, an expectation of a case that does not
// exist, a backend that does not open, or a context that ended. Failed cases are in the report; see Report.Err. If the context
// ended, Check returns its cause together with a report of the cases that were done. With Jobs, open may be called by several goroutines at
// the same time.
//
// The suite survives panics and hangs of a backend in this process, though the goroutine of a call that hangs is left behind. It
// does not survive a backend that ends the process. A backend in a separate process can do no harm.
func Check(ctx context.Context, open func() (core.Backend, error), o Options) (*Report, error) {
	s, cases, err := prepare(ctx, open, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	w, err := s.crew(ctx, o.Jobs)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for _, r := range w.run(ctx, cases) {
		s.report.add(r)
	}
	if ctx.Err() != nil {
		s.report.finish()
		return s.report, context.Cause(ctx)
	}
	s.describe(ctx)
	s.report.finish()
	return s.report, nil
}

// Run runs the suite as subtests of t, named by the ids of the cases, so that go test -run selects them.
func Run(t *testing.T, open func() (core.Backend, error), options ...Options) {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	s, cases, err := prepare(t.Context(), open, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			r := s.result(t.Context(), c)
			s.report.add(r)
			switch r.Status {
			case Failed:
				t.Error(r.text())
			case Skipped, Expected:
				t.Skip(r.Reason)
			}
		})
	}
	s.report.finish()
	t.Log(s.report.counts())
	// With go test -run, only some subtests are entered; none at all is not a failure of the backend.
	if len(s.report.Results) > 0 && s.report.Failed == 0 {
		if err := s.report.Err(); err != nil {
			t.Error(err)
		}
	}
}

// IDs lists the cases that o selects in the order in which they run. They are the same for every backend.
func IDs(o Options) ([]string, error) {
	cases, err := selected(allCases(), o)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.id)
	}
	return ids, nil
}

func prepare(ctx context.Context, open func() (core.Backend, error), o Options) (*session, []testCase, error) {
	all := allCases()
	cases, err := selected(all, o)
	if err != nil {
		return nil, nil, err
	}
	seeds, err := o.seedsOf()
	if err != nil {
		return nil, nil, err
	}
	s := &session{options: o, open: open, seeds: seeds, seed: seeds[0], shared: &shared{}}
	s.report = newReport(all, o, seeds)
	for _, c := range cases {
		s.report.asked = append(s.report.asked, c.id)
	}
	if err := s.ensure(ctx); err != nil {
		s.close()
		return nil, nil, err
	}
	return s, cases, nil
}

// selected returns the cases that o selects.
func selected(all []testCase, o Options) ([]testCase, error) {
	pattern, err := regexp.Compile(o.Run)
	if err != nil {
		return nil, fmt.Errorf("conformance: pattern of cases: %w", err)
	}
	if !o.Profile.valid() {
		return nil, fmt.Errorf("conformance: profile %q, want one of %v", o.Profile, Profiles())
	}
	expected := map[string]bool{}
	for _, id := range o.Expect {
		expected[id] = true
	}
	var cases []testCase
	for _, c := range all {
		delete(expected, c.id)
		if pattern.MatchString(c.id) && c.in(o.Profile) && (o.only == nil || o.only[c.id]) {
			cases = append(cases, c)
		}
	}
	if o.Sample > 1 {
		cases = sample(cases, o.Sample)
	}
	for id := range expected {
		return nil, fmt.Errorf("conformance: %q is expected to fail but is no case of the suite", id)
	}
	return cases, nil
}

// sample selects one in n cases by the hash of their ids, and the first case of each combination of op (the first part of an id) and test
// (the last part).
func sample(cases []testCase, n int) []testCase {
	seen := map[string]bool{}
	return slices.DeleteFunc(cases, func(c testCase) bool {
		parts := strings.Split(c.id, "/")
		kind := parts[0] + "/" + parts[len(parts)-1]
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.id)) // never fails
		every := uint32(n)
		if c.large {
			every *= 8
		}
		if (c.spec != nil || c.fresh) && seen[kind] && h.Sum32()%every != 0 {
			return true
		}
		seen[kind] = true
		return false
	})
}

// skip is the error of a case that does not apply.
type skip struct{ reason string }

func (s skip) Error() string { return s.reason }

// moot is the skip of a case that has nothing to check on the device. It leaves no gap in a verdict.
type moot struct{ skip }

func (m moot) Unwrap() error { return m.skip }

// errHung is the failure of a case that did not end in time.
var errHung = errors.New("hang")
