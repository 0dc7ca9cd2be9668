package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// TestHold checks that on a held stream no command starts by itself: the goroutine that waits executes the commands, a wait that can be canceled
// has the worker execute them, and Unhold starts them.
func TestHold(t *testing.T) {
	r := open(t, new(driver))
	held := r.stream.(interface {
		Hold()
		Unhold()
	})
	stats, ok := core.Extension[core.MemoryStats](r.dev)
	require.True(t, ok)
	x := r.put(1, 2)
	require.NoError(t, core.Sync(context.Background(), r.stream))
	tensors := func() int64 { return stats.Memory().Tensors }

	time.Sleep(20 * time.Millisecond) // the worker may have been woken before
	held.Hold()
	y := r.do(op.Neg, 0, x)
	time.Sleep(20 * time.Millisecond)
	require.EqualValues(t, 1, tensors(), "nobody waits for it")
	got, err := values(r.stream, y)
	require.NoError(t, err)
	require.Equal(t, []float32{-1, -2}, got)

	z := r.do(op.Neg, 0, y)
	held.Unhold()
	require.Eventually(t, func() bool { return tensors() == 3 }, 10*time.Second, time.Millisecond, "it begins")

	held.Hold()
	w := r.do(op.Neg, 0, z)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	dst := make([]byte, 8)
	require.NoError(t, core.Read(ctx, r.stream, w.ID, dst))
	require.Equal(t, bytesOf(-1, -2), dst)
	r.closed()
}

// TestHoldWhileWorkerEnds checks that a command that is queued on a held stream just after the worker found the queue empty is executed,
// although the waiter finds the worker executing.
func TestHoldWhileWorkerEnds(t *testing.T) {
	ending, proceed := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	r := open(t, &driver{emptied: func() {
		if armed.Swap(false) {
			close(ending)
			<-proceed
		}
	}})
	x := r.put(1, 2)
	require.NoError(t, core.Sync(context.Background(), r.stream))
	time.Sleep(20 * time.Millisecond) // the worker sleeps
	armed.Store(true)

	y := r.do(op.Neg, 0, x)
	<-ending
	held := r.stream.(interface{ Hold() })
	held.Hold()
	z := r.do(op.Neg, 0, y)
	got := make(chan error, 1)
	dst := make([]byte, 8)
	k := r.stream.Read(z.ID, dst)
	go func() { got <- k.Wait(context.Background()) }()
	time.Sleep(20 * time.Millisecond) // the waiter has left the work to the worker
	close(proceed)
	select {
	case err := <-got:
		require.NoError(t, err)
		require.Equal(t, bytesOf(1, 2), dst)
	case <-time.After(10 * time.Second):
		require.Fail(t, "nobody executes what is queued")
	}
	r.closed()
}
