//go:build unix

package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

// links returns the two ends of a stream.
func links(t testing.TB) (host, plugin *FrameStream) {
	a, b, err := pair()
	require.NoError(t, err)
	ca, err := fileConn(a)
	require.NoError(t, err)
	cb, err := fileConn(b)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	host, err = HostLink(context.Background(), ca)
	require.NoError(t, err)
	plugin, err = PluginLink(context.Background(), cb, true)
	require.NoError(t, err)
	t.Cleanup(func() { host.Close(); plugin.Close() })
	return host, plugin
}

// numbered returns a frame of n bytes, more than 8, that starts with its number and ends with its lowest byte.
func numbered(number uint64, n int) *Frame {
	b := make([]byte, n)
	binary.LittleEndian.PutUint64(b, number)
	b[n-1] = byte(number)
	return NewFrame(b)
}

// TestPollOrder receives frames of all sizes in two goroutines. Each frame is handled once, whole and in order, and without the arrival
// of another frame after it.
func TestPollOrder(t *testing.T) {
	host, plugin := links(t)
	const frames = 3000
	var next atomic.Uint64
	handle := func(f *Frame) error {
		defer f.Free()
		return f.Bytes(func(b []byte) error {
			want := next.Load()
			if binary.LittleEndian.Uint64(b) != want || b[len(b)-1] != byte(want) {
				return errors.New("out of order")
			}
			next.Add(1)
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if err := plugin.Next(handle); err != nil {
				ended <- err
				return
			}
		}
	}()
	stop := make(chan struct{})
	polled := make(chan int, 1)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				polled <- n
				return
			default:
			}
			if some, err := plugin.Poll(handle); err != nil {
				t.Error(err)
			} else if some {
				n++
			}
		}
	}()
	r := rand.New(rand.NewPCG(1, 1))
	for i := uint64(0); i < frames; i++ {
		n := 9 + r.IntN(100)
		switch r.IntN(50) {
		case 0:
			n = 1<<20 + r.IntN(1<<20)
		case 1, 2:
			n = 100<<10 + r.IntN(100<<10)
		}
		require.NoError(t, host.Send(numbered(i, n)))
		if r.IntN(20) == 0 { // all must come without another frame behind them
			require.Eventually(t, func() bool { return next.Load() == i+1 }, 5*time.Second, 10*time.Microsecond)
		}
	}
	require.Eventually(t, func() bool { return next.Load() == frames }, 5*time.Second, time.Millisecond)
	require.NoError(t, host.CloseSend())
	require.ErrorIs(t, <-ended, io.EOF, "the end is seen by the one who waits, whoever looked at it before")
	close(stop)
	require.Positive(t, <-polled)
}

// TestPollFault: Poll leaves an invalid frame to the goroutine that waits.
func TestPollFault(t *testing.T) {
	host, plugin := links(t)
	require.NoError(t, host.link.writeAll([]byte{0xff, 0xff, 0xff, 0xff}))
	never := func(*Frame) error { return errors.New("no frame has come") }
	some, err := plugin.Poll(never)
	require.NoError(t, err)
	require.False(t, some)
	require.ErrorIs(t, plugin.Next(never), core.ErrProtocol)
	require.ErrorIs(t, plugin.Next(never), core.ErrProtocol, "again")
}

// TestPace checks that polling happens only while frames arrive soon.
func TestPace(t *testing.T) {
	var p Pace
	require.Zero(t, p.limit(), "nothing is known")
	for range 20 {
		p.Note(10 * time.Microsecond)
	}
	require.Equal(t, 40*time.Microsecond, p.limit().Round(10*time.Microsecond))
	for range 3 {
		p.Note(time.Second)
	}
	require.Zero(t, p.limit(), "three long waits")
	for range 4 {
		p.Note(10 * time.Microsecond)
	}
	require.NotZero(t, p.limit())
	require.NoError(t, p.watch(func() bool { return true }, func() (bool, error) { panic("done already") }))
	start := time.Now()
	require.NoError(t, p.watch(func() bool { return false }, func() (bool, error) { return false, nil }))
	require.Less(t, time.Since(start), time.Minute, "bounded")
	require.Error(t, p.watch(func() bool { return false }, func() (bool, error) { return false, io.EOF }))
}
