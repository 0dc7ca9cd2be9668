package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// buffer is the value of the driver of these tests: f32 elements, overwritten in place whenever the engine says that
// nobody else will use them.
type buffer struct {
	data     []float32
	released atomic.Bool
	release  func() // of adopted memory
}

// driver computes neg and add; copy, abs and exp return their operand, exp after 2 ms. Log fails and tan panics. It records
// whether each value was released, and fails calls that use a released value.
type driver struct {
	limit   int64 // bytes of all values; 0 for none
	adopts  bool
	views   bool
	panics  atomic.Bool // of Upload and Download
	execute func(c *engine.Call[*buffer])
	emptied func() // is called when queued commands are done, by the goroutine that executes

	live  atomic.Int64 // values
	bytes atomic.Int64
	twice atomic.Int64 // values that were released more than once
	late  atomic.Int64 // values that were released after their device had been closed
}

func (d *driver) Info() core.Info {
	return core.Info{Name: "test", Version: "1", Devices: []core.DeviceInfo{{Name: "test", Kind: "cpu"}}}
}

func (d *driver) Open(context.Context, int) (engine.Device[*buffer], error) {
	v := &device{d: d, caps: &core.Capabilities{Types: dtype.Any, Limits: core.Limits{Rank: shape.MaxRank}, Ops: map[string]core.OpCapability{}}}
	for _, c := range []op.Code{op.Neg, op.Add, op.Copy, op.Abs, op.Log, op.Tan, op.Exp} {
		v.caps.Ops[c.String()] = core.Uniform(op.Lookup(c).Version, dtype.SetOf(dtype.F32))
	}
	switch {
	case d.adopts && d.views:
		return lending{v}, nil
	default:
		return v, nil
	}
}

func (d *driver) Close() error { return nil }

func (d *driver) make(n int) (*buffer, error) {
	if total := d.bytes.Add(int64(4 * n)); d.limit > 0 && total > d.limit {
		d.bytes.Add(int64(-4 * n))
		return nil, fmt.Errorf("%d bytes: %w", total, core.ErrOutOfMemory)
	}
	d.live.Add(1)
	return &buffer{data: make([]float32, n)}, nil
}

type device struct {
	d      *driver
	caps   *core.Capabilities
	closed atomic.Bool
}

func (v *device) Capabilities() *core.Capabilities { return v.caps }

func (v *device) Upload(d op.Desc, data []byte) (*buffer, error) {
	if v.d.panics.Load() {
		panic("upload")
	}
	b, err := v.d.make(d.Shape.Size())
	if err != nil {
		return nil, err
	}
	for i := range b.data {
		b.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return b, nil
}

func (v *device) Download(dst []byte, _ op.Desc, b *buffer) error {
	if v.d.panics.Load() {
		panic("download")
	}
	if b.released.Load() || v.closed.Load() {
		return fmt.Errorf("download of what was released: %w", core.ErrKernel)
	}
	for i, f := range b.data {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(f))
	}
	return nil
}

func (v *device) Release(b *buffer) {
	if b.released.Swap(true) {
		v.d.twice.Add(1)
		return
	}
	if v.closed.Load() {
		v.d.late.Add(1)
	}
	v.d.live.Add(-1)
	if b.release != nil {
		b.release()
		return
	}
	v.d.bytes.Add(int64(-4 * len(b.data)))
}

func (v *device) OpenQueue() (engine.Queue[*buffer], error) { return queue{v}, nil }

func (v *device) Close() { v.closed.Store(true) }

// lending computes on adopted host memory and lends its own.
type lending struct{ *device }

func (l lending) Adopt(d op.Desc, data []byte, release func()) (*buffer, error) {
	if len(data) == 4 {
		return nil, fmt.Errorf("too short: %w", core.ErrUnsupported)
	}
	l.d.live.Add(1)
	return &buffer{data: dtype.Slice[float32](data), release: release}, nil
}

func (l lending) View(_ op.Desc, b *buffer) ([]byte, bool) { return dtype.Bytes(b.data), true }

type queue struct{ v *device }

func (q queue) Close() {}

func (q queue) Begin() {}

func (q queue) End() {
	if q.v.d.emptied != nil {
		q.v.d.emptied()
	}
}

func (q queue) Execute(c *engine.Call[*buffer]) error {
	if q.v.d.execute != nil {
		q.v.d.execute(c)
	}
	for i, b := range c.In {
		if b.released.Load() {
			return fmt.Errorf("operand %d was released: %w", i, core.ErrKernel)
		}
	}
	switch c.Node.Op {
	case op.Log:
		return core.ErrIndex
	case op.Tan:
		panic("planted")
	case op.Exp:
		time.Sleep(2 * time.Millisecond)
	}
	a := c.In[0]
	var out *buffer
	if c.Owned&1 != 0 && a.release == nil {
		out = c.Take(0)
	} else {
		var err error
		if out, err = q.v.d.make(len(a.data)); err != nil {
			return err
		}
	}
	for i, f := range a.data {
		switch c.Node.Op {
		case op.Neg:
			f = -f
		case op.Add:
			f += c.In[1].data[i]
		}
		out.data[i] = f
	}
	c.Out[0] = out
	return nil
}

// rig is a device of a driver, with one stream.
type rig struct {
	t      *testing.T
	d      *driver
	back   core.Backend
	dev    core.Device
	stream core.Stream
}

func open(t *testing.T, d *driver) *rig {
	b := engine.New[*buffer](d)
	dev, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := dev.OpenStream(t.Context())
	require.NoError(t, err)
	return &rig{t, d, b, dev, s}
}

// closed closes the device and checks that every value was released once, before the device was closed.
func (r *rig) closed() {
	r.t.Helper()
	if err := r.dev.Close(); err != nil {
		require.ErrorIs(r.t, err, core.ErrClosed)
	}
	require.NoError(r.t, r.back.Close())
	require.Zero(r.t, r.d.twice.Load(), "values released twice")
	require.Zero(r.t, r.d.live.Load(), "values never released")
	require.Zero(r.t, r.d.late.Load(), "values released after the device was closed")
}

func vector(id op.TensorID, n int) op.Desc {
	d := op.DescOf(dtype.F32, n)
	d.ID = id
	return d
}

func bytesOf(f ...float32) []byte { return dtype.Bytes(f) }

// write writes a new tensor on s.
func (r *rig) write(s core.Stream, f ...float32) (op.Desc, error) {
	d := vector(r.dev.NewIDs(1), len(f))
	return d, s.Write(context.Background(), d, bytesOf(f...))
}

// put is like write, on the rig's stream, and must succeed.
func (r *rig) put(f ...float32) op.Desc {
	r.t.Helper()
	d, err := r.write(r.stream, f...)
	require.NoError(r.t, err)
	return d
}

// node returns a node with a new output.
func (r *rig) node(c op.Code, drop uint64, in ...op.Desc) op.Node {
	n, err := op.New(c, in)
	if err != nil {
		panic(err) // the tests make no faulty nodes
	}
	n.Outputs[0].ID, n.Drop = r.dev.NewIDs(1), drop
	return n
}

// do submits a node and returns its output.
func (r *rig) do(c op.Code, drop uint64, in ...op.Desc) op.Desc {
	r.t.Helper()
	n := r.node(c, drop, in...)
	require.NoError(r.t, r.stream.Submit([]op.Node{n}, nil))
	return n.Outputs[0]
}

func values(s core.Stream, d op.Desc) ([]float32, error) {
	data := make([]byte, d.Bytes())
	if err := core.Read(context.Background(), s, d.ID, data); err != nil {
		return nil, err
	}
	return dtype.Slice[float32](data), nil
}

func (r *rig) holds(d op.Desc, want ...float32) {
	r.t.Helper()
	got, err := values(r.stream, d)
	require.NoError(r.t, err)
	require.Equal(r.t, want, got)
}

// parallel calls f for 0 to n-1 at once and fails the test on an error.
func parallel(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for i, err := range errs {
		require.NoError(t, err, "%d", i)
	}
}
