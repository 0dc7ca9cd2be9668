package gpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// drawn returns a random program of many nodes with few shapes, so that temporaries reuse each other's memory.
func drawn(t *testing.T, seed uint64) *maker {
	r := rand.New(rand.NewPCG(seed, 1))
	m := newMaker(t, "drawn")
	var pool []op.TensorID
	for range 3 {
		pool = append(pool, m.input(64), m.input(8, 64))
	}
	for range 40 {
		pick := func() op.TensorID { return pool[max(r.IntN(len(pool)), r.IntN(len(pool)))] }
		x := pick()
		switch r.IntN(4) {
		case 0:
			pool = append(pool, m.node(op.Tanh, ids(x)))
		case 1:
			pool = append(pool, m.node(op.Sum, ids(x), op.Ints("axes", 0), op.Flag("keep_dims", true)))
			if len(m.d[x].Shape) == 1 {
				pool[len(pool)-1] = m.node(op.Add, ids(pool[len(pool)-1], x))
			}
		default:
			pool = append(pool, m.node([]op.Code{op.Add, op.Sub}[r.IntN(2)], ids(x, m.node(op.Sin, ids(pick())))))
		}
	}
	m.p.Outputs = append(ids(pool[len(pool)-1], pool[len(pool)-2]), pool[len(pool)-7])
	m.p = m.p.Live()
	return m
}

// TestStepsInAnyOrder runs programs as graphs whose steps run in any order that their dependencies allow, with donated inputs: the
// results equal those of plain runs.
func TestStepsInAnyOrder(t *testing.T) {
	loose := 0
	for seed := range uint64(25) {
		run := func(graphs bool) [][]float32 {
			r := newRig(t, Options{}, func(d *fakeDevice) {
				d.noGraphs = !graphs
				d.newGraph = func(steps []Step) error {
					for i, s := range steps {
						require.NotNil(t, s.After)
						if i > 0 && !slices.Contains(s.After, i-1) {
							loose++
						}
					}
					return nil
				}
			}).apart()
			m := drawn(t, seed)
			p := r.define(m.p)
			var all [][]float32
			for turn := range 5 {
				var in []op.TensorID
				var donated []bool
				for i, d := range m.p.Inputs {
					v := make([]float32, d.Shape.Size())
					for k := range v {
						v[k] = float32((k*(i+3)+turn)%11)/8 - 0.5
					}
					in, donated = append(in, r.floats(d.Shape, v...)), append(donated, (i+turn)%2 == 0)
				}
				for i, id := range r.call(p, len(m.p.Outputs), donated, in...) {
					all = append(all, r.read(id, m.d[m.p.Outputs[i]].Shape.Size()))
				}
			}
			if graphs {
				require.Positive(t, r.stats().GraphRuns)
			}
			return all
		}
		require.Equal(t, run(false), run(true), "seed %d", seed)
	}
	require.Greater(t, loose, 25*5)
}

// TestBranches checks that steps wait only for the steps whose results they read.
func TestBranches(t *testing.T) {
	var after [][]int
	r := newRig(t, Options{}, func(d *fakeDevice) {
		d.newGraph = func(steps []Step) error {
			for _, s := range steps {
				after = append(after, s.After)
			}
			return nil
		}
	}).apart()
	m := newMaker(t, "branches")
	x := m.input(64)
	a, b := m.node(op.Tanh, ids(x)), m.node(op.Sin, ids(x))
	for range 3 {
		a, b = m.node(op.Tanh, ids(a)), m.node(op.Sin, ids(b))
	}
	m.p.Outputs = ids(m.node(op.Add, ids(a, b)))
	p := r.define(m.p)
	for range 2 {
		r.read(r.call(p, 1, nil, r.floats([]int{64}, make([]float32, 64)...))[0], 64)
	}
	require.Len(t, after, 9)
	roots := 0
	for _, deps := range after {
		if len(deps) == 0 {
			roots++
		}
	}
	require.Equal(t, 2, roots, "%v", after)
	require.Len(t, after[8], 2, "%v", after)
}
