package gpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// rig is an opened device with a stream.
type rig struct {
	t      *testing.T
	driver *fakeDriver
	fake   *fakeDevice
	dev    core.Device
	stream core.Stream
}

func newRig(t *testing.T, o Options, setup func(d *fakeDevice)) *rig {
	o.NoCache = o.Cache == ""
	r := &rig{t: t, driver: &fakeDriver{setup: setup}}
	b := New(r.driver, o)
	var err error
	r.dev, err = b.Open(context.Background(), 0)
	require.NoError(t, err)
	r.fake = r.driver.opened[0]
	r.stream, err = r.dev.OpenStream(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.Zero(t, r.fake.inUse.Load(), "device memory that was not freed")
		require.Zero(t, r.fake.graphs.Load(), "graphs that were not closed")
		require.Zero(t, r.fake.events.Load(), "events that were not released")
	})
	return r
}

func (r *rig) stats() Stats {
	s, ok := core.Extension[Statistics](r.dev)
	require.True(r.t, ok)
	return s.Stats()
}

// floats writes a new tensor.
func (r *rig) floats(dims []int, v ...float32) op.TensorID {
	id := r.dev.NewIDs(1)
	require.NoError(r.t, r.stream.Write(context.Background(), op.Desc{ID: id, DType: dtype.F32, Shape: dims}, dtype.Bytes(v)))
	return id
}

func (r *rig) read(id op.TensorID, n int) []float32 {
	v := make([]float32, n)
	require.NoError(r.t, r.stream.Read(id, dtype.Bytes(v)).Wait(context.Background()))
	return v
}

// run submits a node and returns the ids of its results.
func (r *rig) run(c op.Code, in []op.TensorID, descs []op.Desc, drop uint64, attrs ...op.Attr) []op.TensorID {
	n, err := op.New(c, descs, attrs...)
	require.NoError(r.t, err)
	n.Inputs, n.Drop = in, drop
	var ids []op.TensorID
	for i := range n.Outputs {
		n.Outputs[i].ID = r.dev.NewIDs(1)
		ids = append(ids, n.Outputs[i].ID)
	}
	require.NoError(r.t, r.stream.Submit([]op.Node{n}, nil))
	return ids
}

func TestEager(t *testing.T) {
	r := newRig(t, Options{}, nil)
	d := op.DescOf(dtype.F32, 2, 2)
	a, b := r.floats(d.Shape, 1, 2, 3, 4), r.floats(d.Shape, 10, 20, 30, 40)
	c := r.run(op.Add, []op.TensorID{a, b}, []op.Desc{d, d}, 0)[0]
	require.Equal(t, []float32{11, 22, 33, 44}, r.read(c, 4))
	e := r.run(op.Mul, []op.TensorID{c, c}, []op.Desc{d, d}, 0)[0]
	require.Equal(t, []float32{121, 484, 1089, 1936}, r.read(e, 4))
	f := r.run(op.Neg, []op.TensorID{e}, []op.Desc{d}, 1)[0]
	require.Equal(t, []float32{-121, -484, -1089, -1936}, r.read(f, 4))
	require.EqualValues(t, 3, r.fake.launches.Load())
}

// TestANodeTakesTheMemoryOfWhatIsFreed checks that the result of a node uses the memory of an operand that the node owns, the first if it owns
// both.
func TestANodeTakesTheMemoryOfWhatIsFreed(t *testing.T) {
	d, _ := openDevice(t, Options{}, nil)
	q := d.queue(t)
	desc := op.DescOf(dtype.F32, 300)
	n, err := op.New(op.Sub, []op.Desc{desc, desc})
	require.NoError(t, err)
	p, err := d.single(&n, []op.Desc{desc, desc})
	require.NoError(t, err)
	defer p.Close()
	for _, c := range []struct {
		owned []bool
		taken int
	}{{[]bool{true, false}, 0}, {[]bool{false, true}, 1}, {[]bool{true, true}, 0}, {[]bool{false, false}, none}} {
		var in []*block
		for k := range 2 {
			v := make([]float32, 300)
			for i := range v {
				v[i] = float32((i%7 + 1) * (3 - k))
			}
			b, err := q.Enqueue(desc, dtype.Bytes(v), func() {})
			require.NoError(t, err)
			in = append(in, b)
		}
		owned, out := append([]bool(nil), c.owned...), make([]*block, 1)
		require.NoError(t, p.Run(q, in, owned, out))
		for k, b := range in {
			require.Equal(t, k == c.taken, b == out[0])
			if k != c.taken {
				require.Equal(t, c.owned[k], owned[k])
				d.pool.release(b)
			}
		}
		got := make([]float32, 300)
		require.NoError(t, q.Fetch(dtype.Bytes(got), desc, out[0]))
		m, err := q.Record()
		require.NoError(t, err)
		require.NoError(t, m.Wait())
		for i := range got {
			require.Equal(t, float32(i%7+1), got[i])
		}
		d.pool.release(out[0])
	}
}
