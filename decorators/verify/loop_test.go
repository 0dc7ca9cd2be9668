package verify_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/verify"
)

// A ring of streams, each driven by a goroutine, passes tensors around. Each stream reads, donates or frees the tensors of the previous
// stream and creates the next ones; only events order the streams. verify reports no fault, and the results are right.
func TestRing(t *testing.T) {
	r := reference(t)
	const size, rounds = 4, 25
	type baton struct {
		x, old op.Desc // old was last used by the previous stream
		done   core.Event
	}
	setup := r.stream()
	c := r.write(setup, 1, 1)
	p, err := r.programs().Define(ctx, setup, doubling(t, 2), []op.TensorID{c.ID})
	require.NoError(t, err)
	next := make([]chan baton, size)
	for i := range next {
		next[i] = make(chan baton, 1)
	}
	first := r.write(setup, 1, 3)
	next[0] <- baton{x: first, old: r.write(setup, 0), done: setup.Signal()}
	var group sync.WaitGroup
	for i := range size {
		s := r.stream()
		group.Go(func() {
			for range rounds {
				b := <-next[i]
				fail := func(err error) {
					if err != nil {
						t.Error(err)
					}
				}
				fail(s.Wait(b.done))
				values := make([]float32, 2)
				ticket := s.Read(b.x.ID, dtype.Bytes(values))
				old := r.desc(1)
				fail(s.Write(ctx, old, make([]byte, 4)))
				out := b.x
				out.ID = r.NewIDs(1)
				fail(r.programs().Run(s, core.Run{Program: p, Inputs: []op.TensorID{b.x.ID}, Donated: []bool{true}, Outputs: []op.TensorID{out.ID}}))
				fail(s.Submit(nil, []op.TensorID{b.old.ID}))
				half := r.desc(2)
				fail(s.Write(ctx, half, dtype.Bytes([]float32{0.5, 0.5})))
				n, err := op.New(op.Mul, []op.Desc{out, half})
				fail(err)
				n.Drop, n.Outputs[0].ID = 3, r.NewIDs(1)
				fail(s.Submit([]op.Node{n}, nil))
				next[(i+1)%size] <- baton{x: n.Outputs[0], old: old, done: s.Signal()}
				fail(ticket.Wait(ctx))
				if values[0] != 1 || values[1] != 3 { // 2x/2
					t.Errorf("got %v, want 1 and 3", values)
				}
			}
		})
	}
	group.Wait()
	last := <-next[0]
	require.NoError(t, setup.Wait(last.done))
	require.NoError(t, r.free(setup, last.x, last.old, c))
	require.NoError(t, core.Sync(ctx, setup))
	require.NoError(t, r.programs().Undefine(p))
	require.NoError(t, r.Close())
	require.Empty(t, r.leaks)
	r.clean()
}

// Copies between devices, and collectives, are checked on both devices.
func TestDevices(t *testing.T) {
	r := reference(t)
	a := &rig{t: t, backend: r.backend, Device: r.open()}
	b := &rig{t: t, backend: r.backend, Device: r.open()}
	sa, sb := a.stream(), b.stream()
	peers, ok := core.Extension[core.PeerCopy](b.Device)
	require.True(t, ok)
	x := a.write(sa, 1, 2)
	copied := b.desc(2)
	r.refused(peers.CopyFrom(sb, copied, a.Device, x.ID), verify.Order, core.ErrProtocol, "is copied")
	require.NoError(t, sb.Wait(sa.Signal()))
	r.refused(peers.CopyFrom(sb, b.desc(3), a.Device, x.ID), verify.Invalid, core.ErrShape)
	require.NoError(t, peers.CopyFrom(sb, copied, a.Device, x.ID))
	r.refused(a.free(sa, x), verify.Order, core.ErrProtocol, "copy from")
	require.NoError(t, sa.Wait(sb.Signal()))
	require.NoError(t, a.free(sa, x))
	require.Equal(t, []float32{1, 2}, b.read(sb, copied))
	other := reference(t)
	require.ErrorIs(t, peers.CopyFrom(sb, b.desc(2), other.Device, 1), core.ErrUnsupported)

	group := func(d *rig, rank int) core.Group {
		c, ok := core.Extension[core.Collectives](d.Device)
		require.True(t, ok)
		g, err := c.Join(ctx, "all", rank, 2)
		if err != nil {
			t.Error(err)
		}
		return g
	}
	var ga, gb core.Group
	var both sync.WaitGroup
	both.Go(func() { ga = group(a, 0) })
	both.Go(func() { gb = group(b, 1) })
	both.Wait()
	xa, xb := a.write(sa, 1, 2), b.write(sb, 10, 20)
	sum, all, same := a.desc(2), a.desc(4), a.desc(2)
	require.NoError(t, ga.AllReduce(sa, core.ReduceSum, xa.ID, sum))
	require.NoError(t, ga.AllGather(sa, xa.ID, all))
	require.NoError(t, ga.Broadcast(sa, 1, xa.ID, same))
	require.NoError(t, gb.AllReduce(sb, core.ReduceSum, xb.ID, b.desc(2)))
	require.NoError(t, gb.AllGather(sb, xb.ID, b.desc(4)))
	require.NoError(t, gb.Broadcast(sb, 1, xb.ID, b.desc(2)))
	require.Equal(t, []float32{11, 22}, a.read(sa, sum))
	require.Equal(t, []float32{1, 2, 10, 20}, a.read(sa, all))
	require.Equal(t, []float32{10, 20}, a.read(sa, same))
	r.refused(ga.AllReduce(sa, core.ReduceSum, xa.ID, a.desc(3)), verify.Invalid, core.ErrShape)
	r.refused(ga.AllGather(sa, xa.ID, a.desc(3)), verify.Invalid, core.ErrShape, "2 ranks give f32[2]")
	r.refused(ga.Broadcast(sa, 2, xa.ID, a.desc(2)), verify.Invalid, core.ErrAttr, "rank 2 gives")
	r.refused(ga.Broadcast(sa, 1, xa.ID, sum), verify.Identity, core.ErrProtocol)
	require.NoError(t, ga.Close())
	require.NoError(t, gb.Close())
}

// regression returns a program of one training step of y = relu(x·w1)·w2 with the sum of squared errors as loss. Inputs: w1 [1, hidden], w2
// [hidden, 1], x and y [batch, 1]. Outputs: the new w1 and w2, and the loss.
func regression(t *testing.T, batch, hidden int, rate float64) *program.Program {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	param := func(dims ...int) op.Desc { return op.Desc{ID: next(), DType: dtype.F32, Shape: dims} }
	w1, w2, x, y := param(1, hidden), param(hidden, 1), param(batch, 1), param(batch, 1)
	p := &program.Program{Name: "step", Inputs: []op.Desc{w1, w2, x, y}}
	node := func(c op.Code, in []op.Desc, attrs ...op.Attr) op.Desc {
		n, err := op.New(c, in, attrs...)
		require.NoError(t, err)
		n.Outputs[0].ID = next()
		p.Nodes = append(p.Nodes, n)
		return n.Outputs[0]
	}
	product := func(a, b op.Desc, ta, tb bool) op.Desc {
		return node(op.MatMul, []op.Desc{a, b}, op.Flag("transpose_a", ta), op.Flag("transpose_b", tb))
	}
	scaled := func(d op.Desc, f float64) op.Desc {
		return node(op.Mul, []op.Desc{d, node(op.Full, nil, op.Dims("shape", d.Shape), op.Type("dtype", dtype.F32), op.ScalarFloat("value", f))})
	}
	h := node(op.Relu, []op.Desc{product(x, w1, false, false)})
	diff := node(op.Sub, []op.Desc{product(h, w2, false, false), y})
	loss := node(op.Sum, []op.Desc{node(op.Mul, []op.Desc{diff, diff})}, op.Ints("axes", 0, 1))
	dz := scaled(diff, 2)
	dw2 := product(h, dz, true, false)
	dh := node(op.Mul, []op.Desc{product(dz, w2, false, true), node(op.Sign, []op.Desc{h})})
	dw1 := product(x, dh, true, false)
	n1 := node(op.Sub, []op.Desc{w1, scaled(dw1, rate)})
	n2 := node(op.Sub, []op.Desc{w2, scaled(dw2, rate)})
	p.Outputs = []op.TensorID{n1.ID, n2.ID, loss.ID}
	require.NoError(t, p.Check())
	return p
}

// verify reports no fault in a training loop that donates its parameters, writes batches on a separate stream and reads losses while the
// next step runs.
func TestTraining(t *testing.T) {
	const batch, hidden, steps = 16, 8, 60
	for name, b := range map[string]core.Backend{"cpu": processor(t).backend, "ref": ref.New()} {
		for _, options := range [][]verify.Option{nil, {verify.NotFinite()}} {
			r := over(t, b, options...)
			step := regression(t, batch, hidden, 0.002)
			lowered, err := program.Lower(core.TargetOf(name, r.Device), step)
			require.NoError(t, err)
			compute, feed := r.stream(), r.stream()
			id, err := r.programs().Define(ctx, compute, lowered, nil)
			require.NoError(t, err)
			source := rand.New(rand.NewPCG(1, 2))
			tensor := func(s core.Stream, dims []int, fill func(i int) float32) op.Desc {
				d := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: dims}
				v := make([]float32, d.Shape.Size())
				for i := range v {
					v[i] = fill(i)
				}
				require.NoError(t, s.Write(ctx, d, dtype.Bytes(v)))
				return d
			}
			draw := func(int) float32 { return float32(source.Float64()*2 - 1) }
			w1, w2 := tensor(compute, []int{1, hidden}, draw), tensor(compute, []int{hidden, 1}, draw)
			losses := make([]float32, steps)
			tickets := make([]core.Ticket, steps)
			for i := range steps {
				values := make([]float32, batch)
				x := tensor(feed, []int{batch, 1}, func(k int) float32 { values[k] = draw(k); return values[k] })
				y := tensor(feed, []int{batch, 1}, func(k int) float32 { return float32(math.Abs(float64(values[k]))) })
				require.NoError(t, compute.Wait(feed.Signal()))
				first := r.NewIDs(3)
				require.NoError(t, r.programs().Run(compute, core.Run{Program: id, Inputs: []op.TensorID{w1.ID, w2.ID, x.ID, y.ID},
					Donated: []bool{true, true, true, true}, Outputs: []op.TensorID{first, first + 1, first + 2}}))
				w1.ID, w2.ID = first, first+1
				tickets[i] = compute.Read(first+2, dtype.Bytes(losses[i:i+1]))
				require.NoError(t, compute.Submit(nil, []op.TensorID{first + 2}))
			}
			for _, ticket := range tickets {
				require.NoError(t, ticket.Wait(ctx))
			}
			require.Less(t, losses[steps-1], losses[0]/2, "it learns |x|")
			require.NoError(t, feed.Wait(compute.Signal()))
			require.NoError(t, r.free(feed, w1, w2))
			require.NoError(t, core.Sync(ctx, feed))
			require.NoError(t, r.programs().Undefine(id))
			require.NoError(t, r.Close())
			require.Empty(t, r.leaks)
			r.clean()
		}
	}
}
