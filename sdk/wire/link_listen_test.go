//go:build unix

package wire

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// numbers counts the frames that a goroutine receives.
type numbers struct {
	next  atomic.Uint64
	ended chan error
}

// receiveAll receives frames in a goroutine until the stream ends.
func receiveAll(fs *FrameStream) *numbers {
	n := &numbers{ended: make(chan error, 1)}
	go func() {
		for {
			if err := fs.Next(n.handle); err != nil {
				n.ended <- err
				return
			}
		}
	}()
	return n
}

func (n *numbers) handle(f *Frame) error {
	n.next.Add(1)
	f.Free()
	return nil
}

func (n *numbers) come(t *testing.T, want uint64, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return n.next.Load() == want }, 10*time.Second, 100*time.Microsecond, what)
}

// quick returns a pace that has seen frames arrive after 10 µs each.
func quick() *Pace {
	p := new(Pace)
	for range 20 {
		p.Note(10 * time.Microsecond)
	}
	return p
}

// TestWatchThenSleep receives frames in all states of the listener: while somebody watches, shortly afterwards when nobody
// listens, while somebody sleeps, and long after.
func TestWatchThenSleep(t *testing.T) {
	host, plugin := links(t)
	n := receiveAll(plugin)
	pace, sent := quick(), uint64(0)
	send := func() {
		require.NoError(t, host.Send(numbered(sent, 20)))
		sent++
	}
	for range 50 {
		send()
		err := plugin.Watch(pace, func() bool { return n.next.Load() == sent }, n.handle)
		require.NoError(t, err)
		n.come(t, sent, "watched")
		send()
		n.come(t, sent, "nobody watches")
		plugin.Sleep()
		send()
		n.come(t, sent, "somebody sleeps")
		plugin.Wake()
		time.Sleep(quietFor + time.Millisecond)
		send()
		n.come(t, sent, "long after")
	}
	require.NoError(t, plugin.Watch(pace, func() bool { return false }, n.handle), "it gives up in the end")
	require.NoError(t, host.CloseSend())
	require.ErrorIs(t, <-n.ended, io.EOF)
}

// TestCloseWhileQuiet ends a stream while nobody listens, and while it listens.
func TestCloseWhileQuiet(t *testing.T) {
	for _, watched := range []bool{false, true} {
		_, plugin := links(t)
		n := receiveAll(plugin)
		if watched {
			require.NoError(t, plugin.Watch(quick(), func() bool { return false }, n.handle))
		} else {
			plugin.Sleep()
		}
		time.Sleep(time.Millisecond)
		plugin.Close()
		select {
		case err := <-n.ended:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(10 * time.Second):
			t.Fatal("Next waits for ever")
		}
	}
}

// TestFullSocket sends more than the socket takes while nobody receives, and then all of it comes.
func TestFullSocket(t *testing.T) {
	host, plugin := links(t)
	const frames = 64
	done := make(chan error, 1)
	go func() {
		for i := range uint64(frames) {
			if err := host.Send(numbered(i, 256<<10)); err != nil {
				done <- err
				return
			}
		}
		done <- host.CloseSend()
	}()
	time.Sleep(50 * time.Millisecond)
	require.Empty(t, done, "the socket is full")
	n := receiveAll(plugin)
	require.NoError(t, <-done)
	require.ErrorIs(t, <-n.ended, io.EOF)
	require.EqualValues(t, frames, n.next.Load())
}
