package router_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/plugins/cpu"
)

var ctx = context.Background()

// processor returns a cpu backend of one thread.
func processor(t testing.TB) core.Backend {
	b, err := cpu.New(core.Config{Threads: 1})
	require.NoError(t, err)
	return b
}

// place returns the first device of a backend.
func place(spec string, b core.Backend) *core.Place { return &core.Place{Backend: b, Spec: spec} }

// two returns two devices of separate backends: transfers go through the host.
func two(t testing.TB) []*core.Place {
	return []*core.Place{place("a", processor(t)), place("b", processor(t))}
}

// peers returns two devices of one backend, which copy directly.
func peers(t testing.TB) []*core.Place {
	b := processor(t)
	return []*core.Place{place("a", b), place("b", b)}
}

// rig is a router's device with a stream.
type rig struct {
	t testing.TB
	*router.Router
	core.Device
	s core.Stream
}

func over(t testing.TB, places []*core.Place, options ...router.Option) *rig {
	t.Helper()
	r, err := router.New(places, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	d, err := r.Open(ctx, 0)
	require.NoError(t, err)
	x := &rig{t: t, Router: r, Device: d}
	x.s = x.stream()
	return x
}

func (r *rig) stream() core.Stream {
	s, err := r.OpenStream(ctx)
	require.NoError(r.t, err)
	return s
}

// on returns a view of s that prefers a member.
func (r *rig) on(s core.Stream, member int) core.Stream {
	v, err := router.On(s, member)
	require.NoError(r.t, err)
	return v
}

func (r *rig) OpenStream(ctx context.Context) (core.Stream, error) { return r.Device.OpenStream(ctx) }

func (r *rig) write(s core.Stream, v ...float32) op.Desc {
	d := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{len(v)}}
	require.NoError(r.t, s.Write(ctx, d, dtype.Bytes(v)))
	return d
}

// node returns a node with new outputs.
func (r *rig) node(c op.Code, in []op.Desc, attrs ...op.Attr) op.Node {
	n, err := op.New(c, in, attrs...)
	require.NoError(r.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = r.NewIDs(1)
	}
	return n
}

func (r *rig) do(s core.Stream, c op.Code, in ...op.Desc) op.Desc {
	n := r.node(c, in)
	require.NoError(r.t, s.Submit([]op.Node{n}, nil))
	return n.Outputs[0]
}

func (r *rig) read(s core.Stream, d op.Desc) []float32 {
	v := make([]float32, d.Shape.Size())
	require.NoError(r.t, core.Read(ctx, s, d.ID, dtype.Bytes(v)))
	return v
}

func (r *rig) free(s core.Stream, ds ...op.Desc) {
	var list []op.TensorID
	for _, d := range ds {
		list = append(list, d.ID)
	}
	require.NoError(r.t, s.Submit(nil, list))
}

// live returns the number of tensors on all members once the work is done.
func (r *rig) live(s core.Stream) int64 {
	require.NoError(r.t, core.Sync(ctx, s))
	m, ok := core.Extension[core.MemoryStats](r.Device)
	require.True(r.t, ok)
	return m.Memory().Tensors
}

// moved returns the numbers of tensors and bytes that were transferred so far.
func (r *rig) moved() (tensors, bytes int64) {
	for _, l := range r.Stats().Links {
		tensors += l.Tensors
		bytes += l.Bytes
	}
	return tensors, bytes
}
