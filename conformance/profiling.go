package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// profilingCases check core.Profiling where a device has it.
func profilingCases() []testCase {
	return []testCase{
		ruled("profiling/records", "a profile records every execution, in order, within the elapsed time", profileRecords),
		ruled("profiling/recordings", "a device has one recording at a time, and each begins empty", profileRecordings),
	}
}

func profilingOf(q *queue) (core.Profiling, error) { return needs[core.Profiling](q.dev, "profiles") }

func profileRecords(ctx context.Context, q *queue) error {
	x, err := profilingOf(q)
	if err != nil {
		return err
	}
	affineOn, in, err := q.affineOnTwo(ctx)
	if err != nil {
		return err
	}
	if err := q.sync(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := x.StartProfile(ctx); err != nil {
		return fmt.Errorf("start profile: %w", err)
	}
	if _, err := q.do(op.Exp, []op.Desc{in}); err != nil {
		return err
	}
	const runs = 3
	for range runs {
		if _, err := affineOn.run(q, in); err != nil {
			return err
		}
	}
	p, err := recorded(ctx, q, x)
	if err != nil {
		return err
	}
	prog, err := affine()
	if err != nil {
		return err
	}
	return errors.Join(checkProfile(p, time.Since(began), prog.Name, runs), q.stillGood(ctx))
}

// recorded ends the recording once all submitted work is done.
func recorded(ctx context.Context, q *queue, x core.Profiling) (*core.Profile, error) {
	if err := q.sync(ctx); err != nil {
		return nil, err
	}
	p, err := x.StopProfile(ctx)
	if err != nil {
		return nil, fmt.Errorf("stop profile: %w", err)
	}
	return p, nil
}

// checkProfile checks the profile of one exp and then some runs of a program, on one stream.
func checkProfile(p *core.Profile, wall time.Duration, name string, runs int) error {
	alone, whole := 0, 0
	var run, last core.ProfileRecord
	var inside []core.ProfileRecord // steps since the last whole run
	for i, r := range p.Records {
		if r.Step < 0 || r.Step >= len(p.Steps) {
			return fmt.Errorf("record %d is of step %d of %d", i, r.Step, len(p.Steps))
		}
		s := p.Steps[r.Step]
		end := r.Start + r.Duration
		switch {
		case r.Start < 0 || r.Duration < 0 || end > wall:
			return fmt.Errorf("record %d is from %v for %v, and %v passed in all", i, r.Start, r.Duration, wall)
		case end < last.Start+last.Duration:
			return fmt.Errorf("record %d ends at %v, before record %d, which ends at %v", i, end, i-1, last.Start+last.Duration)
		case r.Stream != last.Stream && i > 0:
			return fmt.Errorf("record %d is of stream %d, and record %d of %d, of one stream in all", i, r.Stream, i-1, last.Stream)
		}
		last = r
		switch {
		case s.Program == "" && slices.Equal(s.Ops, []string{"exp"}):
			if alone++; whole > 0 {
				return fmt.Errorf("record %d is exp, after a run that followed it", i)
			}
		case s.Program == name && s.Index == core.WholeRun:
			for _, k := range inside {
				if k.Start < r.Start || k.Start < run.Start+run.Duration && whole > 0 {
					return fmt.Errorf("a step of run %d begins at %v, the run at %v", whole, k.Start, r.Start)
				}
			}
			whole, run, inside = whole+1, r, nil
		case s.Program == name && s.Index >= 0 && len(s.Ops) > 0:
			inside = append(inside, r)
		default:
			return fmt.Errorf("record %d is of %q, step %d, ops %q, which was not submitted", i, s.Program, s.Index, s.Ops)
		}
	}
	if alone != 1 || whole != runs || len(inside) > 0 || p.Dropped != 0 {
		return fmt.Errorf("the profile has %d exp, %d runs of %q, %d steps after them and %d dropped, want 1, %d, 0 and 0",
			alone, whole, name, len(inside), p.Dropped, runs)
	}
	return nil
}

func profileRecordings(ctx context.Context, q *queue) error {
	x, err := profilingOf(q)
	if err != nil {
		return err
	}
	in, err := q.put(ctx, numbers(1, 2))
	if err != nil {
		return err
	}
	if _, err := x.StopProfile(ctx); !errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("stop without a start: error is %v, want %v", err, core.ErrNotFound)
	}
	for range 2 {
		if err := x.StartProfile(ctx); err != nil {
			return fmt.Errorf("start profile: %w", err)
		}
		if err := x.StartProfile(ctx); !errors.Is(err, core.ErrAttr) {
			return fmt.Errorf("start of a second recording: error is %v, want %v", err, core.ErrAttr)
		}
		if _, err := q.do(op.Exp, []op.Desc{in}); err != nil {
			return err
		}
		p, err := recorded(ctx, q, x)
		if err != nil {
			return err
		}
		if len(p.Records) != 1 {
			return fmt.Errorf("a profile of one node has %d records", len(p.Records))
		}
		if _, err := q.do(op.Neg, []op.Desc{in}); err != nil { // not recorded
			return err
		}
		if err := q.sync(ctx); err != nil {
			return err
		}
	}
	return q.stillGood(ctx)
}
