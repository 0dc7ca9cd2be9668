package bench

import (
	"context"
	"time"
)

// Contestant is a workload whose speed is measured.
type Contestant interface {
	// Turn runs for about d, at least once, and records the times.
	Turn(ctx context.Context, d time.Duration) error
	// Stats returns the statistics of all turns.
	Stats() Stats
}

// Rounds is the number of turns of each contestant, so that a slow phase of the machine affects all of them.
const Rounds = 4

// Race lets contestants take turns until each has run for about total. Between turns it waits for pause, in which the threads of
// the previous contestant go to sleep.
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

// sampler times calls in batches that are long enough for the resolution of the clock.
type sampler struct {
	atLeast time.Duration // least duration of a sample; 0 means minSample
	batch   int           // calls per sample; 0 until known
	calls   int
	samples []time.Duration
}

// minSample is the least duration of a sample. Probes, which wait for no other thread, use the shorter probeSample, so that some
// samples are undisturbed on a busy machine.
const (
	minSample   = time.Millisecond
	probeSample = 200 * time.Microsecond
)

// maxBatch limits the calls per sample, and so the length of a device's queue.
const maxBatch = 4096

// turn takes samples for about d. run executes the given number of calls and waits for the last one.
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

// Stats returns the statistics of the samples.
func (s *sampler) Stats() Stats {
	st := Summarize(s.samples)
	st.Runs = s.calls
	return st
}
