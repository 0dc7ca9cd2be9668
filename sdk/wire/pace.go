package wire

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// paceSoon is how soon frames have to come, on average, for it to be worth while to look for the next: being woken by the
	// system takes some tens of microseconds on both sides.
	paceSoon = 150 * time.Microsecond
	// paceCap bounds what one long wait counts for, so that the wait for a model's first answer is forgotten after a few more.
	paceCap = 2 * paceSoon
	// goschedEvery is how many looks other goroutines wait for at most; yielding to them each time would wake idle threads.
	goschedEvery = 16
)

// Spare reports whether one side of a stream may look for frames without taking the place of the other, which makes them: there
// is a second processor. A backend that computes on all of them is in the way of who looks for the short time that Pace
// allows, and should run programs that are as short on fewer.
func Spare() bool { return runtime.NumCPU() > 1 }

// Pace is how soon frames came of late. It decides whether the one who waits for the next keeps looking for it, and for how
// long, instead of sleeping until it is woken. The zero Pace is that of slow ones. It is safe for concurrent use.
type Pace struct{ known, average atomic.Int64 }

// limit returns how long it is worth while to look; 0: not at all.
func (p *Pace) limit() time.Duration {
	average := time.Duration(p.average.Load())
	if p.known.Load() == 0 || average > paceSoon {
		return 0
	}
	return 2*average + 20*time.Microsecond
}

// Note counts a wait.
func (p *Pace) Note(wait time.Duration) {
	p.known.Store(1)
	average := p.average.Load()
	p.average.Store(average + (min(int64(wait), int64(paceCap))-average)/4)
}

// watch calls look until done, or for as long as that is worth while. An error of look ends it.
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
