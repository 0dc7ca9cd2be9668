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

// Begin begins a span in those of the lanes that have had commands.
func Begin(lanes ...*Lane) *Span {
	x := &Span{begun: time.Now()}
	for _, l := range lanes {
		if l.Used() {
			x.before = append(x.before, l.Mark())
		}
	}
	return x
}

// End ends the commands of the span.
func (x *Span) End(lanes ...*Lane) {
	for _, l := range lanes {
		x.after = append(x.after, l.Mark())
	}
}

// atOnce is the duration of a wait up to which the event is assumed to have occurred before the wait.
const atOnce = 50 * time.Microsecond

// Opened waits until the commands of the span have been passed to the devices, or the lanes are closed.
func (x *Span) Opened() {
	for _, g := range append(x.before[:len(x.before):len(x.before)], x.after...) {
		<-g.open
	}
}

// Events returns events for both ends of a span whose gates are open. The events are of own, other lanes to the same devices, so that
// waiting for them consumes no failure of the span's lanes. ok is false if a gate has failed or if one of own is in use.
func (x *Span) Events(own ...*Lane) (begin, end []core.Event, ok bool) {
	if begin, ok = behind(own, x.before); ok {
		end, ok = behind(own, x.after)
	}
	return begin, end, ok
}

// behind returns events of own that follow the gates.
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

// Time waits for the events of both ends and returns the time between them. ok is false where a device has failed.
func (x *Span) Time(begin, end []core.Event) (seconds float64, ok bool) {
	looked := time.Now()
	if !came(begin) {
		return 0, false
	}
	start := time.Now()
	if start.Sub(looked) < atOnce {
		start = x.begun
	}
	ok = came(end)
	return time.Since(start).Seconds(), ok
}

// came waits for events, and reports whether all have occurred.
func came(events []core.Event) bool {
	for _, e := range events {
		if e.Wait(context.Background()) != nil {
			return false
		}
	}
	return true
}
