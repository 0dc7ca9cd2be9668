package fusion_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/plugins/cpu"
)

var ctx = context.Background()

// rig is a device behind fusion, with a stream.
type rig struct {
	t testing.TB
	core.Device
	core.Stream
	report *fusion.Report
}

func over(t testing.TB, b core.Backend, options ...fusion.Option) *rig {
	t.Helper()
	r := &rig{t: t, report: &fusion.Report{}}
	b = fusion.Wrap(b, append([]fusion.Option{fusion.With(r.report), fusion.Idle(time.Hour)}, options...)...)
	t.Cleanup(func() { _ = b.Close() })
	r.open(b)
	return r
}

func (r *rig) open(b core.Backend) {
	d, err := b.Open(ctx, 0)
	require.NoError(r.t, err)
	r.Device = d
	r.Stream, err = d.OpenStream(ctx)
	require.NoError(r.t, err)
}

// bare returns a device without fusion.
func bare(t testing.TB, b core.Backend) *rig {
	t.Cleanup(func() { _ = b.Close() })
	r := &rig{t: t}
	r.open(b)
	return r
}

func processor(t testing.TB) core.Backend {
	b, err := cpu.New(core.Config{Threads: 1})
	require.NoError(t, err)
	return b
}

func reference() core.Backend { return ref.New() }

// Close closes the device. The method is necessary because Device and Stream both have one.
func (r *rig) Close() error { return r.Device.Close() }

// stats returns the statistics of the device that was opened last.
func (r *rig) stats() fusion.Stats {
	all := r.report.Stats()
	return all[len(all)-1]
}

func (r *rig) desc(dims ...int) op.Desc {
	return op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: dims}
}

func (r *rig) write(v ...float32) op.Desc {
	d := r.desc(len(v))
	require.NoError(r.t, r.Write(ctx, d, dtype.Bytes(v)))
	return d
}

func (r *rig) read(d op.Desc) []float32 {
	r.t.Helper()
	v := make([]float32, d.Shape.Size())
	require.NoError(r.t, core.Read(ctx, r.Stream, d.ID, dtype.Bytes(v)))
	return v
}

// node returns a node with new outputs and the drop mask mask.
func (r *rig) node(c op.Code, mask uint64, in []op.Desc, attrs ...op.Attr) op.Node {
	n, err := op.New(c, in, attrs...)
	require.NoError(r.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = r.NewIDs(1)
	}
	n.Drop = mask
	return n
}

// do submits one node and returns its first output.
func (r *rig) do(c op.Code, mask uint64, in []op.Desc, attrs ...op.Attr) op.Desc {
	r.t.Helper()
	n := r.node(c, mask, in, attrs...)
	require.NoError(r.t, r.Submit([]op.Node{n}, nil))
	return n.Outputs[0]
}

func (r *rig) free(ds ...op.Desc) {
	r.t.Helper()
	var ids []op.TensorID
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	require.NoError(r.t, r.Submit(nil, ids))
}

func (r *rig) full(v float64, dims ...int) op.Desc {
	return r.do(op.Full, 0, nil, op.Dims("shape", dims), op.ScalarFloat("value", v), op.Type("dtype", dtype.F32))
}

type ds = []op.Desc

// fetch reads a tensor and returns the error.
func (r *rig) fetch(d op.Desc) error {
	return core.Read(ctx, r.Stream, d.ID, make([]byte, d.Bytes()))
}
