package fusion_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/fusion"
)

// lowered lowers a node for the device, submits the result and returns the node.
func (r *rig) lowered(n op.Node, in ...op.Desc) op.Node {
	nodes, free, err := program.LowerNode(core.TargetOf("test", r.Device), &n, in, func() op.TensorID { return r.NewIDs(1) })
	require.NoError(r.t, err)
	require.NoError(r.t, r.Submit(nodes, free))
	return n
}

// drops runs a window of several random ops and returns the bytes of its results. The first op begins at the state (seed, counter). gap is
// the additional distance of the last op's counter.
func (r *rig) drops(seed, counter, gap int, x op.Desc) []byte {
	state := func(at int, more ...op.Attr) []op.Attr {
		return append([]op.Attr{op.Int("seed", seed), op.Int("counter", counter+at)}, more...)
	}
	n := r.lowered(r.node(op.Dropout, 0, ds{x}, state(0, op.Float("p", 0.5))...), x)
	u := r.lowered(r.node(op.RandomUniform, 0, nil, state(3, op.Ints("shape", 9), op.Type("dtype", dtype.F32))...)).Outputs[0]
	b := r.lowered(r.node(op.Bernoulli, 1, ds{u}, state(6)...), u).Outputs[0]
	y := r.do(op.Add, 3, ds{n.Outputs[0], b})
	w := r.do(op.RandomBits, 0, nil, state(9+gap, op.Ints("shape", 9), op.Type("dtype", dtype.I32))...)
	z := r.do(op.Add, 3, ds{y, r.do(op.Cast, 1, ds{w}, op.Type("dtype", dtype.F32))})
	var all []byte
	for _, d := range []op.Desc{z, n.Outputs[1]} {
		v := make([]byte, d.Bytes())
		require.NoError(r.t, core.Read(ctx, r.Stream, d.ID, v))
		all = append(all, v...)
	}
	r.free(z, n.Outputs[1])
	return all
}

// Windows whose random ops continue each other's counters share one program for each distance between the counters. Their results are
// bitwise equal to those of single nodes.
func TestDraws(t *testing.T) {
	for name, b := range map[string]func() core.Backend{"cpu": func() core.Backend { return processor(t) }, "reference": reference} {
		t.Run(name, func(t *testing.T) {
			plain, r := bare(t, b()), over(t, b())
			v := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
			x, px := r.write(v...), plain.write(v...)
			var seen [][]byte
			at := func(seed, counter, gap int) {
				got := r.drops(seed, counter, gap, x)
				require.Equal(t, plain.drops(seed, counter, gap, px), got, "seed %d, counter %d, gap %d", seed, counter, gap)
				seen = append(seen, got)
			}
			for i := range 20 {
				at(7, 1<<32-40+12*i, 0)
			}
			s := r.stats()
			require.EqualValues(t, 18, s.Hits, "%+v", s)
			require.EqualValues(t, 1, s.Compiled)
			for i, a := range seen {
				for _, b := range seen[:i] {
					require.NotEqual(t, a, b, "two rounds drew the same numbers")
				}
			}
			at(-1<<62, -5, 0) // another generator
			require.EqualValues(t, 1, r.stats().Compiled)
			require.EqualValues(t, 19, r.stats().Hits)
			for i := range 4 { // other distances
				at(7, 12*i, 1)
			}
			require.EqualValues(t, 2, r.stats().Compiled)
			at(7, 0, 0)
			at(7, 5, 2)
			if m, ok := core.Extension[core.MemoryStats](r.Device); ok {
				require.LessOrEqual(t, m.Memory().Tensors, int64(3), "states of generators must be freed")
			}

			var text bytes.Buffer
			require.NoError(t, r.report.Save(&text))
			again := &rig{t: t, report: &fusion.Report{}}
			require.NoError(t, again.report.Load(&text))
			w := fusion.Wrap(b(), fusion.With(again.report))
			defer w.Close()
			again.open(w)
			x = again.write(v...)
			for i := range 3 {
				require.Equal(t, plain.drops(9, 100*i, 0, px), again.drops(9, 100*i, 0, x))
			}
			require.EqualValues(t, 3, again.stats().Hits)
		})
	}
}
