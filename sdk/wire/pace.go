package wire

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// paceSoon is the average time between frames up to which polling for the next frame is worthwhile: being woken by the system takes
	// some tens of microseconds on both sides.
	paceSoon = 150 * time.Microsecond
	// paceCap bounds the weight of one wait in the average. A long wait, such as the wait for a model's first answer, then matters only for
	// the next few waits.
	paceCap = 2 * paceSoon
	// goschedEvery is the number of polls after which other goroutines may run. Yielding to them at each poll would wake idle threads.
	goschedEvery = 16
)

// Spare reports whether one side of a stream may poll for frames without displacing the other side, which sends them: there must be a
// second processor. A backend that computes on all processors competes with the polling side for the short time that Pace allows, and
// should run equally short programs on fewer processors.
func Spare() bool { return runtime.NumCPU() > 1 }

// Pace tracks the average wait for recent frames. It decides whether a goroutine that waits for the next frame polls for it, and for how
// long, instead of sleeping until it is woken. The zero Pace means slow frames. A Pace is safe for concurrent use.
type Pace struct{ known, average atomic.Int64 }

// limit returns the time for which polling is worthwhile; 0: not at all.
func (p *Pace) limit() time.Duration {
	average := time.Duration(p.average.Load())
	if p.known.Load() == 0 || average > paceSoon {
		return 0
	}
	return 2*average + 20*time.Microsecond
}

// Note records the length of a wait.
func (p *Pace) Note(wait time.Duration) {
	p.known.Store(1)
	average := p.average.Load()
	p.average.Store(average + (min(int64(wait), int64(paceCap))-average)/4)
}

// watch calls look until done, or for as long as that is worthwhile. An error of look ends it.
func (p *Pace) watch(done func() bool, look func() (bool, error)) error {
	limit := p.limit()
	if limit == 0 {
		return nil
	}
	start := time.Now()
	for i := 1; !done(); i++ {
		some, err := look()
		if err != nil {
			return err
		}
		if !some {
			if time.Since(start) > limit {
				return nil
			}
			yield()
			if i%goschedEvery == 0 {
				runtime.Gosched()
			}
		}
	}
	return nil
}
