package engine

import "sync/atomic"

// latch opens once. The data that it guards is written before it opens; goroutines that see it open may read the data. The first waiter
// creates the channel, so that a latch without waiters costs nothing.
type latch struct {
	isOpen atomic.Bool
	wait   atomic.Pointer[chan struct{}]
}

// open opens the latch. It is called once.
func (l *latch) open() {
	l.isOpen.Store(true)
	if c := l.wait.Load(); c != nil {
		close(*c)
	}
}

// opened returns a channel that is closed when the latch opens.
func (l *latch) opened() <-chan struct{} {
	c := l.wait.Load()
	for c == nil {
		made := make(chan struct{})
		if l.wait.CompareAndSwap(nil, &made) {
			c = &made
		} else {
			c = l.wait.Load()
		}
	}
	if l.isOpen.Load() { // the latch may have opened before the channel existed
		return closed
	}
	return *c
}

var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
