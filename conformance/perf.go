package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Timing is the speed of one op on one type.
type Timing struct {
	Op   string
	Type dtype.DType
	Node string // its operands and attributes
	// Median, Least and Greatest are times per node, over Rounds submissions of Nodes nodes each.
	Median, Least, Greatest time.Duration
	Rounds, Nodes           int
	Bytes                   int64 // of operands and results
	Flops                   int64 // multiplications and additions of a contraction; 0 for ops that move more than they compute
	Checked                 bool  // a result of the last timed submission was compared with the reference, and is correct
	Err                     error // reason why there is no time, or error of the result
}

// perfTime is the time that Perf plans for the timed submissions of one op, perfRuns their number.
const (
	perfTime = 150 * time.Millisecond
	perfRuns = 5
)

// Perf times the ops that the backend claims on f32, or on the first type of their row: each on one node, an enlarged primary
// variant of the row. Perf submits a few nodes, waits for them, and divides the time by their number. The median is over several such
// submissions. A result of the last submission is read and compared with the reference, as the suite does. o.Run selects by "op/type". An
// op that fails, returns a wrong result or takes longer than o.Timeout has an error instead of a time, and the others are still timed.
// tell, unless it is nil, is called with each timing as soon as it is measured.
//
// The report has the timings, the device and the machine, but no results of cases.
func Perf(ctx context.Context, open func() (core.Backend, error), o Options, tell func(Timing)) (*Report, error) {
	pattern, err := regexp.Compile(o.Run)
	if err != nil {
		return nil, fmt.Errorf("conformance: pattern of ops: %w", err)
	}
	s := &session{options: o, open: open, seed: max(1, o.Seed), shared: &shared{}}
	o.Profile = Timed
	s.report = newReport(allCases(), o, []uint64{s.seed})
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	defer s.close()
	caps := s.device.Capabilities() // of the device, which may be lost below
	for _, c := range op.All() {
		d, ok := perfType(caps, op.Lookup(c))
		if !ok || !pattern.MatchString(c.String()+"/"+d.String()) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		sp, ok := perfSpec(c, d)
		if !ok {
			continue
		}
		got := make(chan *Timing, 1) // the goroutine of an op that hangs is abandoned
		err := s.attempt(ctx, contract("perf/"+c.String(), func(ctx context.Context, q *queue) error {
			t, err := q.time(ctx, sp, Timing{Op: c.String(), Type: d})
			if err == nil {
				got <- t
			}
			return err
		}))
		var sk skip
		if errors.As(err, &sk) {
			continue
		}
		done := Timing{Op: c.String(), Type: d, Err: err}
		if err == nil {
			done = *<-got
		}
		s.report.Timings = append(s.report.Timings, done)
		if tell != nil {
			tell(done)
		}
	}
	s.describe(ctx)
	s.report.finish()
	return s.report, nil
}

// perfType returns the type that an op is timed on: f32, or the first one that is claimed.
func perfType(caps *core.Capabilities, row *op.Row) (dtype.DType, bool) {
	claim, ok := caps.Ops[row.Name]
	if !ok {
		return 0, false
	}
	types := firstTypes(row) & caps.Types & allowed(claim.Operands, 0)
	if len(row.Operands) == 0 {
		types &= allowed(claim.Results, 0)
		if named, ok := map[string]dtype.Set{"random_uniform": dtype.Floats, "random_normal": dtype.Floats}[row.Name]; ok {
			types &= named
		}
	}
	if types.Has(dtype.F32) {
		return dtype.F32, true
	}
	if l := types.List(); len(l) > 0 {
		return l[0], true
	}
	return 0, false
}
