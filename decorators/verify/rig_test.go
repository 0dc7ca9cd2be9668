package verify_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/plugins/cpu"
)

var ctx = context.Background()

// rig is a device behind verify, with the reported faults and leaks.
type rig struct {
	t       testing.TB
	backend core.Backend
	core.Device
	log   verify.Log
	leaks []verify.Leak
}

// over opens b behind verify.
func over(t testing.TB, b core.Backend, options ...verify.Option) *rig {
	t.Helper()
	r := &rig{t: t}
	options = append(options, verify.OnFault(r.log.Add), verify.OnLeak(func(l verify.Leak) { r.leaks = append(r.leaks, l) }))
	r.backend = verify.Wrap(b, options...)
	t.Cleanup(func() { _ = r.backend.Close() })
	r.Device = r.open()
	return r
}

func reference(t testing.TB, options ...verify.Option) *rig { return over(t, ref.New(), options...) }

func processor(t testing.TB, options ...verify.Option) *rig {
	b, err := cpu.New(core.Config{Threads: 1})
	require.NoError(t, err)
	return over(t, b, options...)
}

func (r *rig) open() core.Device {
	d, err := r.backend.Open(ctx, 0)
	require.NoError(r.t, err)
	return d
}

func (r *rig) stream() core.Stream {
	s, err := r.OpenStream(ctx)
	require.NoError(r.t, err)
	return s
}

// desc returns an f32[n] description with a new id.
func (r *rig) desc(n int) op.Desc {
	return op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{n}}
}

func (r *rig) write(s core.Stream, v ...float32) op.Desc {
	d := r.desc(len(v))
	require.NoError(r.t, s.Write(ctx, d, dtype.Bytes(v)))
	return d
}

// node returns a node with new outputs.
func (r *rig) node(c op.Code, in ...op.Desc) op.Node {
	n, err := op.New(c, in)
	require.NoError(r.t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = r.NewIDs(1)
	}
	return n
}

func (r *rig) do(s core.Stream, c op.Code, in ...op.Desc) op.Desc {
	n := r.node(c, in...)
	require.NoError(r.t, s.Submit([]op.Node{n}, nil))
	return n.Outputs[0]
}

func (r *rig) read(s core.Stream, d op.Desc) []float32 {
	v := make([]float32, d.Shape.Size())
	require.NoError(r.t, core.Read(ctx, s, d.ID, dtype.Bytes(v)))
	return v
}

func (r *rig) free(s core.Stream, ds ...op.Desc) error {
	var list []op.TensorID
	for _, d := range ds {
		list = append(list, d.ID)
	}
	return s.Submit(nil, list)
}

// refused checks that err is the last reported fault, has the kind and the sentinel, and contains all parts.
func (r *rig) refused(err error, kind verify.Kind, sentinel error, parts ...string) *verify.Fault {
	r.t.Helper()
	require.ErrorIs(r.t, err, sentinel)
	var f *verify.Fault
	require.ErrorAs(r.t, err, &f)
	require.Equal(r.t, kind, f.Kind, "%v", err)
	for _, p := range parts {
		require.Contains(r.t, err.Error(), p)
	}
	faults, n := r.log.Report()
	require.NotZero(r.t, n)
	require.Same(r.t, f, faults[len(faults)-1], "the returned fault is not the reported one")
	return f
}

// clean checks that nothing was reported.
func (r *rig) clean() {
	r.t.Helper()
	faults, _ := r.log.Report()
	for _, f := range faults {
		r.t.Errorf("%v", f)
	}
}

// programs returns the Programs extension.
func (r *rig) programs() core.Programs {
	p, ok := core.Extension[core.Programs](r.Device)
	require.True(r.t, ok)
	return p
}

// doubling returns a program of one input and output: c·x + x, with the constant c.
func doubling(t testing.TB, n int) *program.Program {
	x, c := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{n}}, op.Desc{ID: 2, DType: dtype.F32, Shape: []int{n}}
	mul, err := op.New(op.Mul, []op.Desc{c, x})
	require.NoError(t, err)
	mul.Outputs[0].ID = 3
	add, err := op.New(op.Add, []op.Desc{mul.Outputs[0], x})
	require.NoError(t, err)
	add.Outputs[0].ID = 4
	return &program.Program{Name: "doubling", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: []op.Node{mul, add}, Outputs: []op.TensorID{4}}
}
