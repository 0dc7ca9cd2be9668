package bench

import (
	"context"
	"time"
)

// Contestant is something whose speed is measured.
type Contestant interface {
	// Turn runs for about d, at least once, and keeps the times.
	Turn(ctx context.Context, d time.Duration) error
	// Stats sums up all turns.
	Stats() Stats
}

// Rounds is how often contestants take turns, so that a slow spell of the machine meets all of them.
const Rounds = 4

// Race lets contestants take turns until each has run for about total. Between turns it waits for pause, in which threads of
// the one before go to sleep.
func Race(ctx context.Context, total, pause time.Duration, cs ...Contestant) error {
	for range Rounds {
		for _, c := range cs {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := c.Turn(ctx, total/Rounds); err != nil {
				return err
			}
			if len(cs) > 1 {
				time.Sleep(pause)
			}
		}
	}
	return nil
}

// sampler times calls in batches long enough for the clock.
type sampler struct {
	atLeast time.Duration // how long a sample takes; 0: minSample
	batch   int           // calls in a sample; 0: not known yet
	calls   int
	samples []time.Duration
}

// minSample is how long a sample takes at least; probes, which do not wait for anyone, make do with probeSample, so that some
// are undisturbed on a machine with other work.
const (
	minSample   = time.Millisecond
	probeSample = 200 * time.Microsecond
)

// maxBatch bounds the calls in a sample, and with them what a device's queue holds.
const maxBatch = 4096

// turn samples run, which makes that many calls and waits for the last, for about d.
func (s *sampler) turn(ctx context.Context, d time.Duration, run func(calls int) error) error {
	least := s.atLeast
	if least == 0 {
		least = minSample
	}
	for end := time.Now().Add(d); ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := max(1, s.batch)
		start := time.Now()
		if err := run(n); err != nil {
			return err
		}
		took := time.Since(start)
		if s.batch == 0 || took < least/2 && s.batch < maxBatch { // warm-up
			if took >= least/2 || n >= maxBatch {
				s.batch = n
			} else {
				s.batch = min(maxBatch, max(n+1, int(float64(n)*1.2*float64(least)/float64(max(took, 1)))))
			}
			continue
		}
		s.calls += n
		s.samples = append(s.samples, took/time.Duration(n))
		if time.Now().After(end) {
			return nil
		}
	}
}

// Stats sums up the samples.
func (s *sampler) Stats() Stats {
	st := Summarize(s.samples)
	st.Runs = s.calls
	return st
}
