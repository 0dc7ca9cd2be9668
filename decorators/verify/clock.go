package verify

import "fmt"

// clock is a vector clock: how many commands of each slot come before.
type clock []uint64

func (c clock) at(slot int) uint64 {
	if slot < len(c) {
		return c[slot]
	}
	return 0
}

func (c *clock) set(slot int, n uint64) {
	for len(*c) <= slot {
		*c = append(*c, 0)
	}
	(*c)[slot] = n
}

// join adds what o knows.
func (c *clock) join(o clock) {
	for i, n := range o {
		if n > c.at(i) {
			c.set(i, n)
		}
	}
}

// command is a place in a stream.
type command struct {
	slot   int
	tick   uint64
	stream int    // number of the stream, for people
	number uint64 // of the command within its stream
	what   string
}

// String prints "add (command 7 of stream 1)".
func (c command) String() string {
	return fmt.Sprintf("%s (command %d of stream %d)", c.what, c.number, c.stream)
}

// before reports whether c is done before a command that has clock k.
func (c command) before(k clock) bool { return c.tick <= k.at(c.slot) }

// enter assigns a slot to a new stream. A slot is reused only after all commands of its last stream are known to the host, so its
// ticks continue. The caller holds mu.
func (w *world) enter(s *stream) {
	if n := len(w.idle); n > 0 {
		s.slot, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		s.slot = len(w.ticks)
		w.ticks = append(w.ticks, 0)
	}
	s.number, s.base = w.streams, w.ticks[s.slot]
	w.streams++
}

// leave ends a stream that the backend has closed: its work is done or dropped, and the host knows that. The caller holds mu.
func (w *world) leave(s *stream) {
	if s.left {
		return
	}
	s.left = true
	for _, t := range s.dev.tensors {
		if t.made.slot == s.slot && !t.made.before(w.host) {
			t.uncertain = true
		}
	}
	w.host.set(s.slot, w.ticks[s.slot])
	w.idle = append(w.idle, s.slot)
	delete(s.dev.open, s)
}

// next numbers a command of s. The caller holds mu.
func (s *stream) next(what string) command {
	s.clock.join(s.host)
	s.ticks[s.slot]++
	n := s.ticks[s.slot]
	s.clock.set(s.slot, n)
	return command{s.slot, n, s.number, n - s.base, what}
}

// saw records in all streams what the host has waited for.
func (w *world) saw(c clock) {
	w.mu.Lock()
	w.host.join(c)
	w.mu.Unlock()
}
