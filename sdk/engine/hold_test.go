package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// TestHold checks that on a held stream no command starts by itself: the goroutine that waits executes the commands, a wait that can be canceled
// has the worker execute them, and Unhold starts them.
func TestHold(t *testing.T) { synctest.Test(t, hold) }

func hold(t *testing.T) {
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

	synctest.Wait() // the worker sleeps
	held.Hold()
	y := r.do(op.Neg, 0, x)
	synctest.Wait()
	require.EqualValues(t, 1, tensors(), "nobody waits for it")
	got, err := values(r.stream, y)
	require.NoError(t, err)
	require.Equal(t, []float32{-1, -2}, got)

	z := r.do(op.Neg, 0, y)
	held.Unhold()
	synctest.Wait()
	require.EqualValues(t, 3, tensors(), "it begins")

	held.Hold()
	w := r.do(op.Neg, 0, z)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dst := make([]byte, 8)
	require.NoError(t, core.Read(ctx, r.stream, w.ID, dst))
	require.Equal(t, bytesOf(-1, -2), dst)
	r.closed()
}

// TestHoldWhileWorkerEnds checks that a command that is queued on a held stream just after the worker found the queue empty is executed,
// although the waiter finds the worker executing.
func TestHoldWhileWorkerEnds(t *testing.T) { synctest.Test(t, holdWhileWorkerEnds) }

func holdWhileWorkerEnds(t *testing.T) {
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
	synctest.Wait() // the worker sleeps
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
	synctest.Wait() // the waiter has left the work to the worker
	close(proceed)
	require.NoError(t, <-got)
	require.Equal(t, bytesOf(1, 2), dst)
	r.closed()
}
