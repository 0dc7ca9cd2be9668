package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// double defines a program with the outputs -(x+x)+c, where c is (100, 200), and x.
func (r *rig) double() (core.Programs, core.ProgramID) {
	r.t.Helper()
	programs, ok := core.Extension[core.Programs](r.dev)
	require.True(r.t, ok)
	x, c := vector(1, 2), vector(2, 2)
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Add, b.Do(op.Neg, b.Do(op.Add, x, x)), c)
	require.NoError(r.t, b.Err())
	p := &program.Program{Name: "double", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, x.ID}}
	k := r.put(100, 200)
	id, err := programs.Define(r.t.Context(), r.stream, p, []op.TensorID{k.ID})
	require.NoError(r.t, err)
	require.NoError(r.t, r.stream.Submit(nil, []op.TensorID{k.ID}))
	return programs, id
}

// TestStreamsShare has streams of one device, each with a goroutine, share a tensor and a program.
func TestStreamsShare(t *testing.T) {
	r := open(t, new(driver))
	programs, id := r.double()
	shared := r.put(1, 2)
	ready := r.stream.Signal()
	parallel(t, 16, func(i int) error {
		s, err := r.dev.OpenStream(context.Background())
		if err != nil {
			return err
		}
		if err := s.Wait(ready); err != nil {
			return err
		}
		mine, err := r.write(s, float32(i), 0)
		if err != nil {
			return err
		}
		for k := range 40 {
			n := r.node(op.Add, 1, mine, shared) // mine is overwritten, shared never
			if err := s.Submit([]op.Node{n}, nil); err != nil {
				return err
			}
			mine = n.Outputs[0]
			outs := []op.TensorID{r.dev.NewIDs(1), r.dev.NewIDs(1)}
			if err := programs.Run(s, core.Run{Program: id, Inputs: []op.TensorID{shared.ID}, Outputs: outs}); err != nil {
				return err
			}
			got, err := values(s, vector(outs[0], 2))
			if err != nil {
				return err
			}
			if got[0] != 98 || got[1] != 196 {
				return fmt.Errorf("run %d gives %v", k, got)
			}
			if err := s.Submit(nil, outs); err != nil {
				return err
			}
		}
		got, err := values(s, mine)
		if err == nil && (got[0] != float32(i+40) || got[1] != 80) {
			err = fmt.Errorf("sum is %v", got)
		}
		return errors.Join(err, core.Sync(context.Background(), s), s.Close())
	})
	r.holds(shared, 1, 2)
	r.closed()
}

// TestEventRing passes a tensor round a ring of streams, which only events order.
func TestEventRing(t *testing.T) {
	r := open(t, new(driver))
	const streams, rounds = 5, 60
	type baton struct {
		d op.Desc
		e core.Event
	}
	var at [streams]chan baton
	for i := range at {
		at[i] = make(chan baton, 1)
	}
	one := r.put(1)
	at[0] <- baton{r.put(0), r.stream.Signal()}
	var final atomic.Pointer[baton]
	parallel(t, streams, func(i int) error {
		s, err := r.dev.OpenStream(context.Background())
		if err != nil {
			return err
		}
		for k := range rounds {
			b := <-at[i]
			if err := s.Wait(b.e); err != nil {
				return err
			}
			slow := r.node(op.Exp, 0, one)
			if k%20 != 0 {
				slow = r.node(op.Copy, 0, one)
			}
			n := r.node(op.Add, 1, b.d, one)
			if err := s.Submit([]op.Node{slow, n}, []op.TensorID{slow.Outputs[0].ID}); err != nil {
				return err
			}
			next := baton{n.Outputs[0], s.Signal()}
			if i == streams-1 && k == rounds-1 {
				final.Store(&next)
				break
			}
			at[(i+1)%streams] <- next
		}
		return core.Sync(context.Background(), s)
	})
	last := final.Load()
	require.NoError(t, r.stream.Wait(last.e))
	r.holds(last.d, streams*rounds)
	r.closed()
}

// endedWell returns err, or nil for the error of a closed device.
func endedWell(err error) error {
	if errors.Is(err, core.ErrClosed) {
		return nil
	}
	return err
}

// TestCloseWhileRunning checks that calls that run, wait or open a stream when a device is closed end with ErrClosed, and that no value is left.
func TestCloseWhileRunning(t *testing.T) {
	for round := range 6 {
		r := open(t, new(driver))
		programs, id := r.double()
		shared := r.put(1, 2)
		require.NoError(t, core.Sync(t.Context(), r.stream))
		closing := make(chan struct{})
		go func() {
			time.Sleep(time.Duration(round) * 2 * time.Millisecond)
			_ = r.dev.Close()
			close(closing)
		}()
		parallel(t, 8, func(i int) error {
			s, err := r.dev.OpenStream(context.Background())
			if err != nil {
				return endedWell(err)
			}
			for {
				d, err := r.write(s, 1, 2)
				if err != nil {
					return endedWell(err)
				}
				slow := r.node(op.Exp, 1, d)
				outs := []op.TensorID{r.dev.NewIDs(1), r.dev.NewIDs(1)}
				open := s.Read(shared.ID, make([]byte, 8))
				err = errors.Join(s.Submit([]op.Node{slow}, nil),
					programs.Run(s, core.Run{Program: id, Inputs: []op.TensorID{slow.Outputs[0].ID}, Donated: []bool{true}, Outputs: outs}))
				if i%2 == 0 {
					err = errors.Join(err, open.Wait(context.Background()))
				}
				if i%3 == 0 {
					err = errors.Join(err, core.Sync(context.Background(), s))
				}
				if err != nil {
					return endedWell(err)
				}
			}
		})
		<-closing
		require.ErrorIs(t, r.dev.Close(), core.ErrClosed)
		r.closed()
	}
}

// TestCloseUnderWait checks that a stream that waits for a stream that is being closed continues.
func TestCloseUnderWait(t *testing.T) {
	r := open(t, new(driver))
	other, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	x := r.put(1)
	for range 20 {
		require.NoError(t, other.Submit([]op.Node{r.node(op.Exp, 0, x)}, nil))
	}
	require.NoError(t, r.stream.Wait(other.Signal()))
	done := make(chan error, 1)
	go func() {
		_, err := values(r.stream, x)
		done <- err
	}()
	require.NoError(t, other.Close())
	require.NoError(t, <-done)
	r.closed()
}

// TestTicketsOfManyWaiters has other goroutines wait for tickets, some with a canceled context, while the stream continues.
func TestTicketsOfManyWaiters(t *testing.T) {
	r := open(t, new(driver))
	x, one := r.put(0), r.put(1)
	const n = 200
	tickets, dsts := make([]core.Ticket, n), make([][]byte, n)
	told := make(chan error, n)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range n {
		dsts[i] = make([]byte, 4)
		tickets[i] = r.stream.Read(x.ID, dsts[i])
		go func() {
			if i%5 == 0 {
				if err := tickets[i].Wait(gone); !errors.Is(err, core.ErrCanceled) {
					told <- fmt.Errorf("ticket %d: %w", i, err)
					return
				}
				told <- nil
				return
			}
			err := tickets[i].Wait(context.Background())
			if got := dsts[i]; err == nil && string(got) != string(bytesOf(float32(i))) {
				err = fmt.Errorf("ticket %d gives % x", i, got)
			}
			told <- err
		}()
		x = r.do(op.Add, 1, x, one)
	}
	for range n {
		require.NoError(t, <-told)
	}
	r.holds(x, n)
	r.closed()
}

// TestGroupsAtOnce has ranks of three groups join, compute and leave, each on a goroutine of its own.
func TestGroupsAtOnce(t *testing.T) {
	d := new(driver)
	b := engineOf(d)
	parallel(t, 9, func(i int) error { // three groups of three
		dev, err := b.Open(context.Background(), 0)
		if err != nil {
			return err
		}
		s, err := dev.OpenStream(context.Background())
		if err != nil {
			return err
		}
		c, _ := core.Extension[core.Collectives](dev)
		g, err := c.Join(context.Background(), fmt.Sprint("group ", i/3), i%3, 3)
		if err != nil {
			return err
		}
		x := vector(dev.NewIDs(1), 1)
		if err := s.Write(context.Background(), x, bytesOf(float32(i))); err != nil {
			return err
		}
		for range 20 {
			sum := vector(dev.NewIDs(1), 1)
			if err := g.AllReduce(s, core.ReduceSum, x.ID, sum); err != nil {
				return err
			}
			got, err := values(s, sum)
			if err != nil {
				return err
			}
			if first := float32(i / 3 * 3); got[0] != 3*first+3 {
				return fmt.Errorf("sum is %v, want %v", got[0], 3*first+3)
			}
		}
		return errors.Join(g.Close(), dev.Close())
	})
	require.NoError(t, b.Close())
	require.Zero(t, d.live.Load())
	require.Zero(t, d.twice.Load())
}

// TestCloseOfDeviceWaitsForStreams checks that closing a device, while another goroutine closes one of its streams, waits for the command that
// the stream executes.
func TestCloseOfDeviceWaitsForStreams(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	r := open(t, &driver{execute: func(c *engine.Call[*buffer]) {
		if c.Node.Op == op.Neg {
			close(begun)
			<-release
		}
	}})
	x := r.put(1)
	require.NoError(t, core.Sync(t.Context(), r.stream))
	s, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Submit([]op.Node{r.node(op.Neg, 0, x)}, nil))
	var both sync.WaitGroup
	both.Go(func() { _ = core.Sync(context.Background(), s) })
	<-begun
	both.Go(func() { _ = s.Close() })
	for s.Submit(nil, nil) == nil { // until the stream is being closed
		runtime.Gosched()
	}
	closed := make(chan struct{})
	both.Go(func() { _ = r.dev.Close(); close(closed) })
	select {
	case <-closed:
		t.Error("the device was closed while a stream of it executed")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	both.Wait()
	r.closed()
}
