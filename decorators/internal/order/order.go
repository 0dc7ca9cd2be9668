// Package order tracks the happens-before relation between commands of several streams. Streams is a vector clock with one entry for each
// stream (Mattern, Virtual Time and Global States of Distributed Systems, 1989). Next numbers a command. A command happens before another
// one if the other's stream, or the host, has waited for it (Join, Saw). The package knows no backends: the caller decides what counts as a
// stream, an event or a wait.
//
// Nothing here is safe for concurrent use.
package order

import "fmt"

// Clock is a vector clock: for each slot, the number of its commands that happen before.
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

// Join merges clock o into c: for each slot, the maximum.
func (c *Clock) Join(o Clock) {
	for i, n := range o {
		if n > c.at(i) {
			c.set(i, n)
		}
	}
}

// Command is a position in a stream.
type Command struct {
	Slot   int    // index in clocks
	Tick   uint64 // number of the command in its slot, from 1
	What   string // what it does, for messages
	stream int    // number of the stream, for messages
	number uint64 // of the command within its stream
}

// String prints "add (command 7 of stream 1)".
func (c Command) String() string {
	return fmt.Sprintf("%s (command %d of stream %d)", c.What, c.number, c.stream)
}

// Before reports whether c happens before a command that has clock k.
func (c Command) Before(k Clock) bool { return c.Tick <= k.at(c.Slot) }

// Streams is the order of the commands of all streams. The zero Streams has no streams.
type Streams struct {
	ticks  Clock // commands so far, by slot
	idle   []int // slots without a stream
	host   Clock // commands that the host has waited for
	opened int
}

// Stream is a stream of a Streams. Its Clock contains the commands that happen before its next one. The caller joins the clocks of events
// that it waits for.
type Stream struct {
	Number int // in the order of opening, from 0
	Clock  Clock
	Closed bool

	slot int
	base uint64 // ticks of the slot before the stream
}

// Open returns a new stream. It may reuse the slot of a closed one: by then the host knows that the commands of that stream are done.
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

// Close closes a stream. The host then knows that its commands are done or dropped. A stream is closed once; later calls do nothing.
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

// Next numbers the next command of a stream. The commands that the stream and the host have waited for happen before it.
func (s *Streams) Next(x *Stream, what string) Command {
	x.Clock.Join(s.host)
	s.ticks[x.slot]++
	n := s.ticks[x.slot]
	x.Clock.set(x.slot, n)
	return Command{Slot: x.slot, Tick: n, What: what, stream: x.Number, number: n - x.base}
}

// Saw records that the host has waited for everything in clock c.
func (s *Streams) Saw(c Clock) { s.host.Join(c) }
