// Package order knows which commands of several streams are done before which others. Its Streams are a vector clock with one entry
// for each stream (Mattern, Virtual Time and Global States of Distributed Systems, 1989): a command gets a number when its stream is
// given it (Next), and comes before another command where that one's stream, or the host, has waited for it (Join, Saw). It knows
// no backends: what is a stream, an event or a wait is decided by whoever calls it.
//
// Nothing here is safe for concurrent use.
package order

import "fmt"

// Clock says how many commands of each slot come before.
type Clock []uint64

func (c Clock) at(slot int) uint64 {
	if slot < len(c) {
		return c[slot]
	}
	return 0
}

func (c *Clock) set(slot int, n uint64) {
	for len(*c) <= slot {
		*c = append(*c, 0)
	}
	(*c)[slot] = n
}

// Join adds what o knows.
func (c *Clock) Join(o Clock) {
	for i, n := range o {
		if n > c.at(i) {
			c.set(i, n)
		}
	}
}

// Command is a place in a stream.
type Command struct {
	Slot   int    // entry in clocks
	Tick   uint64 // of the slot; above 0
	What   string // what it does, for people
	stream int    // number of the stream, for people
	number uint64 // of the command within its stream
}

// String prints "add (command 7 of stream 1)".
func (c Command) String() string {
	return fmt.Sprintf("%s (command %d of stream %d)", c.What, c.number, c.stream)
}

// Before reports whether c is done before a command that has clock k.
func (c Command) Before(k Clock) bool { return c.Tick <= k.at(c.Slot) }

// Streams is the order of the commands of all streams. The zero Streams has none.
type Streams struct {
	ticks  Clock // commands so far, by slot
	idle   []int // slots without a stream
	host   Clock // what the host has waited for
	opened int
}

// Stream is one of them. Its Clock holds the commands before its next one. The caller joins the clocks of events that it waits for.
type Stream struct {
	Number int // in the order of opening, from 0
	Clock  Clock
	Closed bool

	slot int
	base uint64 // ticks of the slot before the stream
}

// Open returns a new stream. It may have the slot of one that was closed: by then the host knows that stream's commands done.
func (s *Streams) Open() *Stream {
	x := &Stream{Number: s.opened}
	s.opened++
	if n := len(s.idle); n > 0 {
		x.slot, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		x.slot = len(s.ticks)
		s.ticks = append(s.ticks, 0)
	}
	x.base = s.ticks[x.slot]
	return x
}

// Close closes a stream, whose commands are done or dropped then, as the host knows. A stream is closed once; later calls do nothing.
func (s *Streams) Close(x *Stream) {
	if x.Closed {
		return
	}
	x.Closed = true
	s.host.set(x.slot, s.ticks[x.slot])
	s.idle = append(s.idle, x.slot)
}

// IsOpen reports whether c is a command of x, or of an earlier stream in its slot, that the host does not know to be done.
func (s *Streams) IsOpen(c Command, x *Stream) bool { return c.Slot == x.slot && !c.Before(s.host) }

// Next numbers the next command of a stream. It comes behind all that the stream and the host have waited for.
func (s *Streams) Next(x *Stream, what string) Command {
	x.Clock.Join(s.host)
	s.ticks[x.slot]++
	n := s.ticks[x.slot]
	x.Clock.set(x.slot, n)
	return Command{Slot: x.slot, Tick: n, What: what, stream: x.Number, number: n - x.base}
}

// Saw notes that the host has waited for what has clock c.
func (s *Streams) Saw(c Clock) { s.host.Join(c) }
