package lane

import (
	"testing"
	"time"
)

// A command that push executes at once may release the room that it took on the host.
func TestLaneLeavesAtOnce(t *testing.T) {
	l := New(&Device{}, nil, 8, nil)
	if err := l.take(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		l.Produce(nil, nil, nil, func() error { return nil }, func() { l.leave(8) })
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the command waits for the lock that push holds")
	}
	if l.held != 0 {
		t.Fatalf("%d bytes are held", l.held)
	}
}
