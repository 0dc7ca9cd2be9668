package fusion_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/fusion"
)

// nothing is a backend that executes nothing: a benchmark over it measures the decorator alone.
type nothing struct{ core.Backend }

func (n nothing) Open(c context.Context, i int) (core.Device, error) {
	d, err := n.Backend.Open(c, i)
	return nothingDevice{d}, err
}

type nothingDevice struct{ core.Device }

func (d nothingDevice) OpenStream(context.Context) (core.Stream, error) { return nothingStream{}, nil }

func (d nothingDevice) Extend(target any) bool {
	t, ok := target.(*core.Programs)
	if ok {
		*t = nothingPrograms{}
	}
	return ok
}

type nothingStream struct{}

func (nothingStream) Submit([]op.Node, []op.TensorID) error        { return nil }
func (nothingStream) Write(context.Context, op.Desc, []byte) error { return nil }
func (nothingStream) Read(op.TensorID, []byte) core.Ticket         { return core.Failed(nil) }
func (nothingStream) Signal() core.Event                           { return core.Failed(nil) }
func (nothingStream) Wait(core.Event) error                        { return nil }
func (nothingStream) Close() error                                 { return nil }

type nothingPrograms struct{}

func (nothingPrograms) Define(context.Context, core.Stream, *program.Program, []op.TensorID) (core.ProgramID, error) {
	return 1, nil
}
func (nothingPrograms) Run(core.Stream, core.Run) error { return nil }
func (nothingPrograms) Undefine(core.ProgramID) error   { return nil }

// feed submits windows of 512 nodes with one or two operands in lists of 32, as package tensor does. With distinct, no two windows are
// equal.
func feed(b *testing.B, r *rig, distinct bool) {
	const length, list = 512, 32
	w := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{16, 16}}
	require.NoError(b, r.Write(ctx, w, make([]byte, w.Bytes())))
	nodes := make([]op.Node, length)
	frees := make([][]op.TensorID, length/list)
	x := w
	for i := range nodes {
		switch i % 4 {
		case 0:
			nodes[i] = r.node(op.Mul, uint64(min(i, 1)), ds{x, w})
		case 1:
			nodes[i] = r.node(op.Permute, 1, ds{x}, op.Ints("axes", 1, 0))
		case 2:
			nodes[i] = r.node(op.Add, 2, ds{w, x})
		case 3:
			nodes[i] = r.node(op.LeakyRelu, 1, ds{x}, op.Float("alpha", 0.1))
		}
		x = nodes[i].Outputs[0]
	}
	n, last := 0, make([]op.TensorID, 1)
	one := func() {
		n++
		shift := op.TensorID(length)
		for i := range nodes {
			for k, id := range nodes[i].Inputs {
				if id != w.ID {
					nodes[i].Inputs[k] = id + shift
				}
			}
			nodes[i].Outputs[0].ID += shift
		}
		if distinct {
			nodes[3].Attrs[0] = op.Float("alpha", float64(n))
		}
		for i := 0; i < length; i += list {
			if r.Submit(nodes[i:i+list], frees[i/list]) != nil {
				b.Fatal("refused")
			}
		}
		r.Signal()
		last[0] = nodes[length-1].Outputs[0].ID
		if r.Submit(nil, last) != nil {
			b.Fatal("refused")
		}
	}
	for range 3 {
		one()
	}
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/length, "ns/node")
}

// BenchmarkNode measures the time per node in the decorator: for windows that run as programs ("hit") and for windows that never repeat
// ("never"). "without" runs without the decorator and so measures the cost of the benchmark itself.
func BenchmarkNode(b *testing.B) {
	b.Run("without", func(b *testing.B) { feed(b, bare(b, nothing{reference()}), false) })
	b.Run("hit", func(b *testing.B) {
		r := over(b, nothing{reference()}, fusion.Idle(time.Hour))
		feed(b, r, false)
		require.Positive(b, r.stats().Hits)
	})
	b.Run("never", func(b *testing.B) {
		r := over(b, nothing{reference()}, fusion.Idle(time.Hour))
		feed(b, r, true)
		require.Zero(b, r.stats().Hits)
	})
}

// BenchmarkNeverRepeats runs nodes that never repeat on the cpu backend, with and without the decorator.
func BenchmarkNeverRepeats(b *testing.B) {
	run := func(b *testing.B, r *rig) {
		x := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{64, 64}}
		require.NoError(b, r.Write(ctx, x, make([]byte, x.Bytes())))
		i := 0.0
		for b.Loop() {
			y := x
			for k := range 32 {
				i++
				if k%2 == 0 {
					y = r.do(op.LeakyRelu, uint64(min(k, 1)), ds{y}, op.Float("alpha", i))
				} else {
					y = r.do(op.Tanh, 1, ds{y})
				}
			}
			r.free(y)
			require.NoError(b, core.Sync(ctx, r.Stream))
		}
	}
	b.Run("without", func(b *testing.B) { run(b, bare(b, processor(b))) })
	b.Run("with", func(b *testing.B) { run(b, over(b, processor(b))) })
}
