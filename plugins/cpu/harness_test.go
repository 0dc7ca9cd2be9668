package cpu

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var ctx = context.Background()

func open(t testing.TB, c core.Config) (core.Backend, core.Stream) {
	t.Helper()
	b, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	s, err := b.OpenStream(ctx, 0)
	require.NoError(t, err)
	return b, s
}

// bed is a stream with a counter for ids.
type bed struct {
	t testing.TB
	core.Stream
	last op.TensorID
}

func newBed(t testing.TB) *bed {
	_, s := open(t, core.Config{Threads: 2})
	return &bed{t: t, Stream: s}
}

func (b *bed) id() op.TensorID {
	b.last++
	return b.last
}

func bytesOf[T any](v []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(z)))
}

// put writes a tensor.
func put[T dtype.Native](b *bed, v []T, dims ...int) op.Desc {
	b.t.Helper()
	d := op.Desc{ID: b.id(), DType: dtype.Of[T](), Shape: dims}
	require.NoError(b.t, b.Write(ctx, d, bytesOf(v)))
	return d
}

// node makes a node with ids for its outputs.
func (b *bed) node(c op.Code, in []op.Desc, attrs ...op.Attr) op.Node {
	b.t.Helper()
	n, err := op.New(c, in, attrs...)
	require.NoError(b.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = b.id()
	}
	return n
}

// do submits one node and gives its outputs.
func (b *bed) do(c op.Code, in []op.Desc, attrs ...op.Attr) []op.Desc {
	b.t.Helper()
	n := b.node(c, in, attrs...)
	require.NoError(b.t, b.Submit([]op.Node{n}))
	return n.Outputs
}

// get reads a tensor.
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
