package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// TestCollectives has every rank contribute its own numbers and compares the results of each with sums computed by hand.
func TestCollectives(t *testing.T) {
	rigs, groups := groupOfTwo(t, new(driver))
	two := func(i int) op.Desc { return rigs[i].put(float32(1+i), float32(10*(1+i))) }
	in := [2]op.Desc{two(0), two(1)}
	all := func(what string, n int, ask func(i int, out op.Desc) error, want ...float32) {
		t.Helper()
		parallel(t, 2, func(i int) error {
			out := vector(rigs[i].dev.NewIDs(1), n)
			if err := ask(i, out); err != nil {
				return err
			}
			got, err := values(rigs[i].stream, out)
			if err == nil {
				require.Equal(t, want, got, "%s, rank %d", what, i)
			}
			return err
		})
	}
	all("sum", 2, func(i int, out op.Desc) error {
		return groups[i].AllReduce(rigs[i].stream, core.ReduceSum, in[i].ID, out)
	}, 3, 30)
	all("gather", 4, func(i int, out op.Desc) error { return groups[i].AllGather(rigs[i].stream, in[i].ID, out) }, 1, 10, 2, 20)
	all("broadcast", 2, func(i int, out op.Desc) error { return groups[i].Broadcast(rigs[i].stream, 1, in[i].ID, out) }, 2, 20)
	for i := range rigs { // operands are as before
		rigs[i].holds(in[i], float32(1+i), float32(10*(1+i)))
	}
	require.ErrorIs(t, groups[0].Broadcast(rigs[0].stream, 2, in[0].ID, vector(rigs[0].dev.NewIDs(1), 2)), core.ErrAttr)
	require.ErrorIs(t, groups[0].AllReduce(rigs[1].stream, core.ReduceSum, in[0].ID, vector(rigs[0].dev.NewIDs(1), 2)), core.ErrAttr)

	// A rank without a valid tensor fails the round on all, and the next one is right again.
	bad := [2]op.Desc{rigs[0].do(op.Log, 0, in[0]), in[1]}
	parallel(t, 2, func(i int) error {
		out := vector(rigs[i].dev.NewIDs(1), 2)
		if err := groups[i].AllReduce(rigs[i].stream, core.ReduceSum, bad[i].ID, out); err != nil {
			return err
		}
		if _, err := values(rigs[i].stream, out); !errors.Is(err, core.ErrIndex) {
			return errors.Join(errors.New("want the error of rank 0"), err)
		}
		return nil
	})
	all("sum after a failure", 2, func(i int, out op.Desc) error {
		return groups[i].AllReduce(rigs[i].stream, core.ReduceSum, in[i].ID, out)
	}, 3, 30)
	parallel(t, 2, func(i int) error { // a shape that two ranks do not make
		out := vector(rigs[i].dev.NewIDs(1), 5)
		if err := groups[i].AllGather(rigs[i].stream, in[i].ID, out); err != nil {
			return err
		}
		if _, err := values(rigs[i].stream, out); !errors.Is(err, core.ErrShape) {
			return errors.Join(errors.New("want a shape error"), err)
		}
		return nil
	})
	require.NoError(t, groups[0].Close())
	require.ErrorIs(t, groups[0].AllReduce(rigs[0].stream, core.ReduceSum, in[0].ID, vector(rigs[0].dev.NewIDs(1), 2)), core.ErrClosed)
	sum := vector(rigs[1].dev.NewIDs(1), 2)
	require.NoError(t, groups[1].AllReduce(rigs[1].stream, core.ReduceSum, in[1].ID, sum))
	within(t, "the rank that stayed", func() {
		_, err := values(rigs[1].stream, sum)
		require.ErrorIs(t, err, core.ErrClosed)
	})
	require.NoError(t, rigs[0].back.Close())
	require.Zero(t, rigs[0].d.live.Load())
	require.Zero(t, rigs[0].d.twice.Load())
}

// TestJoinErrors checks that wrong ranks and sizes are refused, and that ranks that wait for a canceled one get an error.
func TestJoinErrors(t *testing.T) {
	r := open(t, new(driver))
	c, _ := core.Extension[core.Collectives](r.dev)
	for _, bad := range [][2]int{{-1, 2}, {2, 2}, {0, 0}} {
		_, err := c.Join(t.Context(), "bad", bad[0], bad[1])
		require.ErrorIs(t, err, core.ErrAttr)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Join(context.Background(), "three", 1, 3)
		waiting <- err
	}()
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	within(t, "the rank that waits", func() {
		for {
			_, err := c.Join(gaveUp, "three", 0, 3)
			require.ErrorIs(t, err, core.ErrCanceled)
			select {
			case err := <-waiting:
				require.ErrorIs(t, err, core.ErrClosed)
				return
			case <-time.After(time.Millisecond): // it has not joined yet
			}
		}
	})
	alone, err := c.Join(t.Context(), "three", 0, 1) // the key is free again
	require.NoError(t, err)
	require.NoError(t, alone.Close())
	r.closed()
}

// TestCopyFromPeers copies tensors between devices of one backend: valid, poisoned and unknown ones.
func TestCopyFromPeers(t *testing.T) {
	for _, late := range []bool{false, true} {
		d := new(driver)
		b := engineOf(d)
		if late {
			b = engineOfLate(d)
		}
		var devs [2]core.Device
		var streams [2]core.Stream
		var err error
		for i := range devs {
			devs[i], err = b.Open(t.Context(), 0)
			require.NoError(t, err)
			streams[i], err = devs[i].OpenStream(t.Context())
			require.NoError(t, err)
		}
		from, to := &rig{t, d, b, devs[0], streams[0]}, &rig{t, d, b, devs[1], streams[1]}
		peers, ok := core.Extension[core.PeerCopy](to.dev)
		require.True(t, ok)
		x := from.do(op.Neg, 0, from.put(1, 2))
		bad := from.do(op.Log, 0, x)
		ready := from.stream.Signal()
		copied := func(id op.TensorID, n int) (op.Desc, error) {
			out := vector(to.dev.NewIDs(1), n)
			require.NoError(t, to.stream.Wait(ready))
			require.NoError(t, peers.CopyFrom(to.stream, out, from.dev, id))
			_, err := values(to.stream, out)
			return out, err
		}
		out, err := copied(x.ID, 2)
		require.NoError(t, err)
		to.holds(to.do(op.Neg, 0, out), 1, 2)
		_, err = copied(bad.ID, 2)
		require.ErrorIs(t, err, core.ErrIndex)
		var n *core.NodeError
		require.ErrorAs(t, err, &n)
		require.Equal(t, "log", n.Op, "the node that failed is on the other device")
		_, err = copied(x.ID, 3)
		require.ErrorIs(t, err, core.ErrShape)
		_, err = copied(from.dev.NewIDs(1), 2)
		require.ErrorIs(t, err, core.ErrUnknownTensor)
		other := open(t, new(driver))
		require.ErrorIs(t, peers.CopyFrom(to.stream, op.Desc{ID: 1, DType: dtype.F32}, other.dev, x.ID), core.ErrUnsupported)
		require.ErrorIs(t, peers.CopyFrom(other.stream, op.Desc{ID: 1, DType: dtype.F32}, from.dev, x.ID), core.ErrAttr)
		other.closed()
		require.NoError(t, from.dev.Close())
		_, err = copied(x.ID, 2)
		require.ErrorIs(t, err, core.ErrClosed)
		require.NoError(t, b.Close())
		require.Zero(t, d.live.Load(), "late %v", late)
		require.Zero(t, d.twice.Load())
	}
}
