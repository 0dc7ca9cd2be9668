package lane

import (
	"context"
	"time"

	"github.com/goburn/burn/core"
)

// Span is the time between two places in some lanes: from when the devices have done all that is before Begin, or from Begin if they
// had done it by then, until they have done all that is before End.
type Span struct {
	begun         time.Time
	before, after []*Gate
}

// Begin marks what is before a span in lanes that have had commands.
func Begin(lanes ...*Lane) *Span {
	x := &Span{begun: time.Now()}
	for _, l := range lanes {
		if l.Used() {
			x.before = append(x.before, l.Mark())
		}
	}
	return x
}

// End marks what is in the span.
func (x *Span) End(lanes ...*Lane) {
	for _, l := range lanes {
		x.after = append(x.after, l.Mark())
	}
}

// atOnce is the time within which an event that is waited for had come before.
const atOnce = 50 * time.Microsecond

// Opened waits until the devices were given the commands of a span, or the lanes are closed.
func (x *Span) Opened() {
	for _, g := range append(x.before[:len(x.before):len(x.before)], x.after...) {
		<-g.open
	}
}

// Events returns what to wait for at both ends of a span that is opened, by lanes of the caller's own to the same devices, so that
// it takes no failure from whoever waits for the lanes of the span. ok is false where a gate has failed or one of own is in use.
func (x *Span) Events(own ...*Lane) (begin, end []core.Event, ok bool) {
	if begin, ok = behind(own, x.before); ok {
		end, ok = behind(own, x.after)
	}
	return begin, end, ok
}

// behind returns an event of own behind each gate.
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

// came waits for events, and reports whether all have come.
func came(events []core.Event) bool {
	for _, e := range events {
		if e.Wait(context.Background()) != nil {
			return false
		}
	}
	return true
}
