package cpu

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/sdk/engine"
)

var ctx = context.Background()

func open(t testing.TB, c core.Config) (core.Backend, *bed) {
	t.Helper()
	d, err := newDriver(c)
	require.NoError(t, err)
	w := &watched{driver: d}
	b := engine.New[kernel.Array](w)
	t.Cleanup(func() { b.Close() })
	return b, openBed(t, b, w)
}

// watched is a driver that records its last plan for a test.
type watched struct {
	*driver
	last *plan
	gate chan struct{} // if not nil, nodes execute only after it is closed
}

type watchedDevice struct {
	*device
	w *watched
}

func (w *watched) Open(ctx context.Context, i int) (engine.Device[kernel.Array], error) {
	d, err := w.driver.Open(ctx, i)
	return watchedDevice{d.(*device), w}, err
}

func (d watchedDevice) OpenQueue() (engine.Queue[kernel.Array], error) {
	q, err := d.device.OpenQueue()
	if err != nil || d.w.gate == nil {
		return q, err
	}
	return gatedQueue{q.(*queue), d.w.gate}, nil
}

// gatedQueue is a queue whose nodes wait for a gate.
type gatedQueue struct {
	*queue
	gate <-chan struct{}
}

func (q gatedQueue) Execute(c *engine.Call[kernel.Array]) error {
	<-q.gate
	return q.queue.Execute(c)
}

func (d watchedDevice) Plan(ctx context.Context, q engine.Queue[kernel.Array], p *program.Program, consts []engine.Const[kernel.Array]) (engine.Plan[kernel.Array], error) {
	pl, err := d.device.Plan(ctx, q, p, consts)
	if err == nil {
		d.w.last = pl.(*plan)
	}
	return pl, err
}

// bed is a device with a stream and a counter of tensor ids.
type bed struct {
	t testing.TB
	core.Stream
	dev  core.Device
	w    *watched
	last op.TensorID
}

func newBed(t testing.TB) *bed {
	_, b := open(t, core.Config{Threads: 2})
	return b
}

func openBed(t testing.TB, be core.Backend, w *watched) *bed {
	t.Helper()
	d, err := be.Open(ctx, 0)
	require.NoError(t, err)
	s, err := d.OpenStream(ctx)
	require.NoError(t, err)
	return &bed{t: t, Stream: s, dev: d, w: w}
}

func (b *bed) Submit(nodes []op.Node) error   { return b.Stream.Submit(nodes, nil) }
func (b *bed) Free(ids []op.TensorID) error   { return b.Stream.Submit(nil, ids) }
func (b *bed) Sync(ctx context.Context) error { return core.Sync(ctx, b.Stream) }
func (b *bed) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	return core.Read(ctx, b.Stream, id, dst)
}

// Define, Run and Undefine are core.Programs on the bed's stream.
func (b *bed) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	return extension[core.Programs](b).Define(ctx, b.Stream, p, consts)
}

func (b *bed) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	return extension[core.Programs](b).Run(b.Stream, core.Run{Program: id, Inputs: inputs, Outputs: outputs})
}

func (b *bed) Undefine(id core.ProgramID) error { return extension[core.Programs](b).Undefine(id) }

func (b *bed) Memory() core.Memory { return extension[core.MemoryStats](b).Memory() }

// extension returns an extension that the device must have.
func extension[T any](b *bed) T {
	x, ok := core.Extension[T](b.dev)
	require.True(b.t, ok)
	return x
}

// address returns the address of the elements of a tensor.
func (b *bed) address(id op.TensorID) (p unsafe.Pointer) {
	b.t.Helper()
	require.NoError(b.t, extension[core.HostMemory](b).View(ctx, b.Stream, id, func(data []byte) error {
		p = unsafe.Pointer(unsafe.SliceData(data))
		return nil
	}))
	return p
}

func (b *bed) id() op.TensorID {
	b.last++
	return b.last
}

func bytesOf[T any](v []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(z)))
}

// put writes a tensor with the elements v.
func put[T dtype.Native](b *bed, v []T, dims ...int) op.Desc {
	b.t.Helper()
	d := op.Desc{ID: b.id(), DType: dtype.Of[T](), Shape: dims}
	require.NoError(b.t, b.Write(ctx, d, bytesOf(v)))
	return d
}

// node returns a node with new ids for its outputs.
func (b *bed) node(c op.Code, in []op.Desc, attrs ...op.Attr) op.Node {
	b.t.Helper()
	n, err := op.New(c, in, attrs...)
	require.NoError(b.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = b.id()
	}
	return n
}

// do submits one node and returns its outputs.
func (b *bed) do(c op.Code, in []op.Desc, attrs ...op.Attr) []op.Desc {
	b.t.Helper()
	n := b.node(c, in, attrs...)
	require.NoError(b.t, b.Submit([]op.Node{n}))
	return n.Outputs
}

// get returns the elements of a tensor.
func get[T dtype.Native](b *bed, d op.Desc) []T {
	b.t.Helper()
	require.Equal(b.t, dtype.Of[T](), d.DType)
	v := make([]T, d.Shape.Size())
	require.NoError(b.t, b.Read(ctx, d.ID, bytesOf(v)))
	return v
}

func list(ds ...op.Desc) []op.Desc { return ds }

func seq[T float32 | float64 | int64 | int32 | uint8](n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(i)
	}
	return v
}

func dims(d ...int) op.Attr { return op.Dims("shape", shape.Shape(d)) }
