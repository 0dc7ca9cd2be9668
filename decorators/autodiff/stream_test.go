package autodiff_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/autodiff"
)

var ctx = context.Background()

// rig is a device with the Gradients extension and one of its streams.
type rig struct {
	t testing.TB
	core.Device
	core.Gradients
	s core.Stream
}

// device opens a device of the cpu backend. under, if not nil, wraps the backend first; autodiff then wraps it levels times.
func device(t testing.TB, levels int, under func(core.Backend) core.Backend) *rig {
	t.Helper()
	b, err := core.Open("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	if under != nil {
		b = under(b)
	}
	for range levels {
		b = autodiff.Wrap(b)
	}
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	r := &rig{t: t, Device: d}
	r.Gradients, _ = core.Extension[core.Gradients](d)
	r.s = r.stream()
	return r
}

func (r *rig) stream() core.Stream {
	s, err := r.OpenStream(ctx)
	require.NoError(r.t, err)
	return s
}

func bytesOf(v ...float64) (b []byte) {
	for _, e := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e))
	}
	return b
}

func (r *rig) write(s core.Stream, v ...float64) op.Desc {
	d := op.Desc{ID: r.NewIDs(1), DType: dtype.F64, Shape: []int{len(v)}}
	require.NoError(r.t, s.Write(ctx, d, bytesOf(v...)))
	return d
}

func (r *rig) node(c op.Code, in ...op.Desc) (op.Node, op.Desc) {
	n, err := op.New(c, in)
	require.NoError(r.t, err)
	for i, d := range in {
		n.Inputs[i] = d.ID
	}
	n.Outputs[0].ID = r.NewIDs(1)
	return n, n.Outputs[0]
}

// do submits one node and the tensors to free to s and returns the output of the node.
func (r *rig) do(s core.Stream, c op.Code, in []op.Desc, free ...op.Desc) op.Desc {
	n, out := r.node(c, in...)
	require.NoError(r.t, s.Submit([]op.Node{n}, ids(free...)))
	return out
}

func ids(ds ...op.Desc) (list []op.TensorID) {
	for _, d := range ds {
		list = append(list, d.ID)
	}
	return list
}

func (r *rig) read(s core.Stream, d op.Desc) []float64 {
	b := make([]byte, d.Bytes())
	require.NoError(r.t, core.Read(ctx, s, d.ID, b))
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

func (r *rig) tensors() int64 {
	require.NoError(r.t, core.Sync(ctx, r.s))
	m, ok := core.Extension[core.MemoryStats](r.Device)
	require.True(r.t, ok)
	return m.Memory().Tensors
}

// Forward passes run on one stream, backward passes on another, and a third frees the last result that holds a tape. The tape frees its
// tensors after their last reads, without events from the host.
func TestStreamsOfOneTape(t *testing.T) {
	r := device(t, 1, nil)
	b, c := r.stream(), r.stream()
	w := r.write(r.s, 2, 3)
	require.NoError(t, r.Track([]op.TensorID{w.ID}))
	before := r.tensors()
	for i := range 200 {
		x := r.write(c, float64(i), 1)
		require.NoError(t, r.s.Wait(c.Signal()))
		h := r.do(r.s, op.Mul, []op.Desc{x, w})
		y := r.do(r.s, op.Mul, []op.Desc{h, h}, h)
		one := r.write(r.s, 1, 1)
		m := r.do(r.s, op.Mul, []op.Desc{one, w}, one)
		z := r.do(r.s, op.Exp, []op.Desc{m}, m) // another root over w, freed by c
		forward := r.s.Signal()
		require.NoError(t, c.Wait(forward))
		require.NoError(t, c.Submit(nil, ids(x))) // the tape still needs it
		require.NoError(t, b.Wait(forward))
		seed := r.write(b, 1, 1)
		g, err := r.Backward(b, []op.Desc{y}, []op.Desc{seed}, nil)
		require.NoError(t, err)
		require.Len(t, g, 1)
		require.Equal(t, []float64{4 * float64(i*i), 6}, r.read(b, g[0].Desc)) // 2·x²·w
		require.NoError(t, b.Submit(nil, ids(y, seed, g[0].Desc)))
		require.NoError(t, c.Submit(nil, ids(z)))
		for _, s := range []core.Stream{r.s, b, c} {
			if i%20 == 0 {
				require.NoError(t, core.Sync(ctx, s))
			}
		}
	}
	for _, s := range []core.Stream{r.s, b, c} {
		require.NoError(t, core.Sync(ctx, s))
	}
	assert.Equal(t, before, r.tensors())
}

// pair returns two devices of one wrapped backend that have joined a group.
func pair(t *testing.T) (rs [2]*rig, gs [2]core.Group) {
	b, err := core.Open("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	b = autodiff.Wrap(b)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	var wg sync.WaitGroup
	for i := range rs {
		d, err := b.Open(ctx, 0)
		require.NoError(t, err)
		rs[i] = &rig{t: t, Device: d}
		rs[i].Gradients, _ = core.Extension[core.Gradients](d)
		rs[i].s = rs[i].stream()
		cs, ok := core.Extension[core.Collectives](d)
		require.True(t, ok)
		wg.Go(func() {
			var err error
			gs[i], err = cs.Join(ctx, "pair", i, 2)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	return rs, gs
}

// A backward pass that waits on its stream still finds the tensors of the tape, although the host frees the last result that holds the tape
// on another stream in the meantime.
func TestFreesWaitForReaders(t *testing.T) {
	rs, gs := pair(t)
	r, b, c := rs[0], rs[0].stream(), rs[0].stream()
	w, x := r.write(r.s, 2), r.write(r.s, 5)
	require.NoError(t, r.Track(ids(w)))
	h := r.do(r.s, op.Mul, []op.Desc{w, x}, x)
	y, z := r.do(r.s, op.Neg, []op.Desc{h}), r.do(r.s, op.Exp, []op.Desc{h}, h)
	forward := r.s.Signal()
	require.NoError(t, b.Wait(forward))
	require.NoError(t, c.Wait(forward))
	// b waits in the collective until the other rank takes part.
	seed := r.write(b, 1)
	held := op.Desc{ID: r.NewIDs(1), DType: dtype.F64, Shape: []int{1}}
	require.NoError(t, gs[0].AllReduce(b, core.ReduceSum, seed.ID, held))
	g, err := r.Backward(b, []op.Desc{y}, []op.Desc{seed}, nil)
	require.NoError(t, err)
	require.NoError(t, b.Submit(nil, ids(y)))
	require.NoError(t, c.Submit(nil, ids(z))) // the last result that held the tape
	time.Sleep(20 * time.Millisecond)
	out := held
	out.ID = rs[1].NewIDs(1)
	require.NoError(t, gs[1].AllReduce(rs[1].s, core.ReduceSum, rs[1].write(rs[1].s, 1).ID, out))
	assert.Equal(t, []float64{-5}, r.read(b, g[0].Desc))
	require.NoError(t, core.Sync(ctx, c))
}

// Several goroutines, each with its own stream, record and differentiate concurrently over shared tracked tensors.
func TestConcurrentStreams(t *testing.T) {
	for _, levels := range []int{1, 2} {
		r := device(t, levels, nil)
		w := r.write(r.s, 3)
		require.NoError(t, r.Track([]op.TensorID{w.ID}))
		shared := r.do(r.s, op.Mul, []op.Desc{w, w})
		ready := r.s.Signal()
		var wg sync.WaitGroup
		for k := range 4 {
			s := r.stream()
			require.NoError(t, s.Wait(ready))
			wg.Go(func() {
				for i := range 50 {
					v := float64(k*50 + i)
					x, seed := r.write(s, v), r.write(s, 1)
					y := r.do(s, op.Mul, []op.Desc{shared, x}, x)
					g, err := r.Backward(s, []op.Desc{y}, []op.Desc{seed}, []op.TensorID{w.ID})
					if !assert.NoError(t, err) || !assert.Equal(t, []float64{6 * v}, r.read(s, g[0].Desc)) {
						return
					}
					assert.NoError(t, s.Submit(nil, ids(y, seed, g[0].Desc)))
				}
				assert.NoError(t, core.Sync(ctx, s))
				assert.NoError(t, s.Close())
			})
		}
		wg.Wait()
		assert.EqualValues(t, 2, r.tensors(), "w and its square, %d levels", levels)
	}
}

// The tape frees its tensors also if there are more streams than it can distinguish.
func TestManyStreams(t *testing.T) {
	r := device(t, 1, nil)
	w := r.write(r.s, 3)
	require.NoError(t, r.Track([]op.TensorID{w.ID}))
	first := r.s.Signal()
	for range 70 {
		s := r.stream()
		require.NoError(t, s.Wait(first))
		y := r.do(s, op.Mul, []op.Desc{w, w})
		z := r.do(s, op.Exp, []op.Desc{y}, y)
		require.NoError(t, r.s.Wait(s.Signal()))
		require.NoError(t, r.s.Submit(nil, ids(z)))
	}
	assert.EqualValues(t, 1, r.tensors())
}

// If a run donates a tensor that the tape needs, the program receives a copy, and the tensor is freed when the tape ends.
func TestDonationKeepsWhatTheTapeNeeds(t *testing.T) {
	r := device(t, 1, nil)
	ps, ok := core.Extension[core.Programs](r.Device)
	require.True(t, ok)
	in := op.Desc{ID: 1, DType: dtype.F64, Shape: []int{2}}
	last := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	out := b.Do(op.Neg, in)
	require.NoError(t, b.Err())
	p := &program.Program{Name: "neg", Inputs: []op.Desc{in}, Nodes: b.Nodes, Outputs: []op.TensorID{out.ID}}
	id, err := ps.Define(ctx, r.s, p, nil)
	require.NoError(t, err)

	w, x, seed := r.write(r.s, 2, 3), r.write(r.s, 5, 7), r.write(r.s, 1, 1)
	require.NoError(t, r.Track(ids(w)))
	before := r.tensors()
	y := r.do(r.s, op.Mul, []op.Desc{w, x})
	minus := r.NewIDs(1)
	require.NoError(t, ps.Run(r.s, core.Run{Program: id, Inputs: ids(x), Donated: []bool{true}, Outputs: []op.TensorID{minus}}))
	assert.Equal(t, []float64{-5, -7}, r.read(r.s, op.Desc{ID: minus, DType: dtype.F64, Shape: []int{2}}))
	g, err := r.Backward(r.s, []op.Desc{y}, []op.Desc{seed}, nil)
	require.NoError(t, err)
	assert.Equal(t, []float64{5, 7}, r.read(r.s, g[0].Desc))
	require.ErrorIs(t, r.s.Submit(nil, ids(x)), core.ErrUnknownTensor, "the host has donated it")
	require.NoError(t, r.s.Submit(nil, []op.TensorID{y.ID, minus, g[0].Desc.ID}))
	assert.Equal(t, before-1, r.tensors(), "x is freed with the tape")

	// A tracked input: the nodes are recorded, and the donation is a free.
	v := r.do(r.s, op.Exp, []op.Desc{w})
	require.NoError(t, ps.Run(r.s, core.Run{Program: id, Inputs: ids(v), Donated: []bool{true}, Outputs: []op.TensorID{minus + 1<<20}}))
	g, err = r.Backward(r.s, []op.Desc{{ID: minus + 1<<20, DType: dtype.F64, Shape: []int{2}}}, []op.Desc{seed}, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{-math.Exp(2), -math.Exp(3)}, r.read(r.s, g[0].Desc), 1e-12)
	require.ErrorIs(t, r.s.Submit(nil, ids(v)), core.ErrUnknownTensor)
	require.NoError(t, ps.Undefine(id))
}

// moody is a backend whose streams refuse the next Submit after refuse is set.
type moody struct {
	core.Backend
	refuse bool
}

type (
	moodyDevice struct {
		core.Device
		m *moody
	}
	moodyStream struct {
		core.Stream
		m *moody
	}
)

func (m *moody) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := m.Backend.Open(ctx, i)
	return moodyDevice{d, m}, err
}

func (d moodyDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return moodyStream{s, d.m}, err
}

func (d moodyDevice) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && d.Device.Extend(target)
}

var errMood = errors.New("not today")

func (s moodyStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if s.m.refuse {
		s.m.refuse = false
		return errMood
	}
	return s.Stream.Submit(nodes, free)
}

// TestRefusedSubmit checks that a command that the device below refuses has no effect: operands that it would release still
// exist, its results do not.
func TestRefusedSubmit(t *testing.T) {
	m := &moody{}
	r := device(t, 1, func(b core.Backend) core.Backend { m.Backend = b; return m })
	w, x, seed := r.write(r.s, 2, 3), r.write(r.s, 5, 7), r.write(r.s, 1, 1)
	require.NoError(t, r.Track(ids(w)))
	y := r.do(r.s, op.Mul, []op.Desc{w, x}, x)
	before := r.tensors()
	n1, h := r.node(op.Mul, y, y)
	n2, z := r.node(op.Exp, h)
	n1.Drop, n2.Drop = 1, 1
	m.refuse = true
	require.ErrorIs(t, r.s.Submit([]op.Node{n1, n2}, ids(seed)), errMood)
	assert.False(t, r.Tracked(z.ID))
	require.NoError(t, r.s.Submit([]op.Node{n1, n2}, nil), "the refused nodes are accepted like new ones")
	g, err := r.Backward(r.s, []op.Desc{z}, []op.Desc{seed}, nil)
	require.NoError(t, err)
	want := func(w, x float64) float64 { return 2 * w * x * x * math.Exp(w*w*x*x) } // the derivative of exp((w·x)²) by w
	assert.InEpsilonSlice(t, []float64{want(2, 5), want(3, 7)}, r.read(r.s, g[0].Desc), 1e-12)
	require.NoError(t, r.s.Submit(nil, ids(z, g[0].Desc)))
	assert.Equal(t, before-2, r.tensors(), "y and, with the tape, x are gone")
}

type private interface{ Private() }

// extended is a device that claims every extension.
type extended struct{ core.Device }

func (extended) Extend(target any) bool { return true }

type extending struct{ core.Backend }

func (b extending) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return extended{d}, err
}

// autodiff denies extensions that it does not know, and those that the device below lacks.
func TestExtensions(t *testing.T) {
	r := device(t, 1, func(b core.Backend) core.Backend { return extending{b} })
	_, ok := core.Extension[private](r.Device)
	assert.False(t, ok, "autodiff does not know this extension")
	_, ok = core.Extension[core.Gradients](r.Device)
	assert.True(t, ok)

	m := &moody{}
	r = device(t, 1, func(b core.Backend) core.Backend { m.Backend = b; return m })
	_, programs := core.Extension[core.Programs](r.Device)
	_, host := core.Extension[core.HostMemory](r.Device)
	_, peers := core.Extension[core.PeerCopy](r.Device)
	_, together := core.Extension[core.Collectives](r.Device)
	_, stats := core.Extension[core.MemoryStats](r.Device)
	assert.Equal(t, []bool{false, false, false, false, true}, []bool{programs, host, peers, together, stats})
}

// The results of PeerCopy and of collectives are not tracked. A collective over a tracked tensor is refused, except on an untracked stream.
func TestPeersAndCollectives(t *testing.T) {
	rs, gs := pair(t)
	x := rs[0].write(rs[0].s, 1, 2)
	require.NoError(t, rs[0].Track(ids(x)))
	pc, ok := core.Extension[core.PeerCopy](rs[1].Device)
	require.True(t, ok)
	to := op.Desc{ID: rs[1].NewIDs(1), DType: dtype.F64, Shape: []int{2}}
	require.NoError(t, rs[1].s.Wait(rs[0].s.Signal()))
	require.NoError(t, pc.CopyFrom(rs[1].s, to, rs[0].Device, x.ID))
	assert.Equal(t, []float64{1, 2}, rs[1].read(rs[1].s, to))
	assert.False(t, rs[1].Tracked(to.ID))

	var wg sync.WaitGroup
	for i, r := range rs {
		wg.Go(func() {
			in, s, g := to, r.s, gs[i]
			out := op.Desc{ID: r.NewIDs(1), DType: dtype.F64, Shape: []int{2}}
			if i == 0 {
				in = x
				assert.ErrorIs(t, g.AllReduce(s, core.ReduceSum, in.ID, out), core.ErrUnsupported, "its input is tracked")
				s = r.Untracked(s)
			}
			assert.NoError(t, g.AllReduce(s, core.ReduceSum, in.ID, out))
			assert.Equal(t, []float64{2, 4}, r.read(r.s, out))
			assert.False(t, r.Tracked(out.ID))
			assert.NoError(t, g.Close())
		})
	}
	wg.Wait()
}

// The wrapped device supports a composite op that has a gradient rule of its own, although the device below does not claim it, if the
// device claims the ops of its decomposition.
func TestClaims(t *testing.T) {
	r := device(t, 1, func(b core.Backend) core.Backend { return bare{b} })
	target := core.TargetOf("autodiff", r.Device)
	n, _ := r.node(op.Softplus, op.DescOf(dtype.F32, 2))
	how, _ := autodiff.Gradient(op.Softplus)
	require.Equal(t, "rule", how)
	assert.NoError(t, target.Supports(&n, []op.Desc{op.DescOf(dtype.F32, 2)}), "autodiff lowers it")
	require.ErrorIs(t, core.TargetOf("cpu", bareOf(t)).Supports(&n, []op.Desc{op.DescOf(dtype.F32, 2)}), core.ErrUnsupported)
}

// bare is a backend without the composite op softplus.
type bare struct{ core.Backend }

type bareDevice struct{ core.Device }

func (b bare) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, i)
	return bareDevice{d}, err
}

func (d bareDevice) Capabilities() *core.Capabilities {
	c := *d.Device.Capabilities()
	c.Ops = map[string]core.OpCapability{}
	for name, claim := range d.Device.Capabilities().Ops {
		if name != "softplus" {
			c.Ops[name] = claim
		}
	}
	return &c
}

func (bareDevice) Extend(any) bool { return false }

func bareOf(t testing.TB) core.Device {
	return device(t, 0, func(b core.Backend) core.Backend { return bare{b} }).Device
}
