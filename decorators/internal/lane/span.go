package lane

import (
	"context"
	"time"

	"github.com/goburn/burn/core"
)

// Span measures the time between two positions in several lanes. It begins when the devices have completed all commands before Begin, at
// the earliest with the call of Begin. It ends when they have completed all commands before End.
type Span struct {
	begun         time.Time
	before, after []*Gate
}

// Begin begins a span in each of the lanes that has had commands.
func Begin(lanes ...*Lane) *Span {
	x := &Span{begun: time.Now()}
	for _, l := range lanes {
		if l.Used() {
			x.before = append(x.before, l.Mark())
		}
	}
	return x
}

// End ends the span in lanes, after their commands so far.
func (x *Span) End(lanes ...*Lane) {
	for _, l := range lanes {
		x.after = append(x.after, l.Mark())
	}
}

// atOnce is a threshold for waits: if a wait takes less time, its event is assumed to have occurred before the wait began.
const atOnce = 50 * time.Microsecond

// Time waits for both ends and returns the time between them. It must be called as soon as the span has ended: if it is called later, it
// measures the begin too late. own are the caller's lanes to the same devices. These lanes must not have other commands, because other
// commands would delay the begin. Waiting in these lanes leaves the failures of the measured lanes to their own callers. ok is false if a
// device or a gate has failed, or if own has no lane for a device.
func (x *Span) Time(own ...*Lane) (seconds float64, ok bool) {
	looked := time.Now()
	if !came(own, x.before) {
		return 0, false
	}
	start := time.Now()
	if start.Sub(looked) < atOnce {
		start = x.begun
	}
	ok = came(own, x.after)
	return time.Since(start).Seconds(), ok
}

// came waits until the devices have executed the commands before the gates, and reports whether all succeeded.
func came(own []*Lane, gates []*Gate) bool {
	for _, g := range gates {
		<-g.open
	}
	events, ok := behind(own, gates)
	for _, e := range events {
		ok = ok && e.Wait(context.Background()) == nil
	}
	return ok
}

// behind returns events of the lanes own that follow the gates.
func behind(own []*Lane, gates []*Gate) (events []core.Event, ok bool) {
	for _, g := range gates {
		var e core.Event
		for _, l := range own {
			if l.Device != g.Lane.Device {
				continue
			}
			l.Do(func() {
				if l.Stream.Wait(g.event) == nil {
					e = l.Stream.Signal()
				}
			})
		}
		if e == nil {
			return nil, false
		}
		events = append(events, e)
	}
	return events, true
}
