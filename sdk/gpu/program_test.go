package gpu

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

// maker builds a program.
type maker struct {
	t *testing.T
	p *program.Program
	d map[op.TensorID]op.Desc
}

func newMaker(t *testing.T, name string) *maker {
	return &maker{t, &program.Program{Name: name}, map[op.TensorID]op.Desc{}}
}

func (m *maker) define(d op.Desc) op.Desc {
	d.ID = op.TensorID(len(m.d) + 1)
	m.d[d.ID] = d
	return d
}

func (m *maker) input(dims ...int) op.TensorID {
	d := m.define(op.DescOf(dtype.F32, dims...))
	m.p.Inputs = append(m.p.Inputs, d)
	return d.ID
}

func (m *maker) constant(dims ...int) op.TensorID {
	d := m.define(op.DescOf(dtype.F32, dims...))
	m.p.Consts = append(m.p.Consts, d)
	return d.ID
}

func (m *maker) node(c op.Code, in []op.TensorID, attrs ...op.Attr) op.TensorID {
	var ds []op.Desc
	for _, id := range in {
		ds = append(ds, m.d[id])
	}
	n, err := op.New(c, ds, attrs...)
	require.NoError(m.t, err)
	n.Inputs = in
	for i := range n.Outputs {
		n.Outputs[i] = m.define(n.Outputs[i])
	}
	m.p.Nodes = append(m.p.Nodes, n)
	return n.Outputs[0].ID
}

func (r *rig) programs() core.Programs {
	p, ok := core.Extension[core.Programs](r.dev)
	require.True(r.t, ok)
	return p
}

func (r *rig) define(p *program.Program, consts ...op.TensorID) core.ProgramID {
	id, err := r.programs().Define(context.Background(), r.stream, p, consts)
	require.NoError(r.t, err)
	return id
}

// call runs a program and returns the ids of its outputs.
func (r *rig) call(p core.ProgramID, outputs int, donated []bool, in ...op.TensorID) []op.TensorID {
	var out []op.TensorID
	for range outputs {
		out = append(out, r.dev.NewIDs(1))
	}
	require.NoError(r.t, r.programs().Run(r.stream, core.Run{Program: p, Inputs: in, Donated: donated, Outputs: out}))
	return out
}

func ids(v ...op.TensorID) []op.TensorID { return v }

// chain returns n additions of c.
func chain(m *maker, x, c op.TensorID, n int) op.TensorID {
	for range n {
		x = m.node(op.Add, ids(x, c))
	}
	return x
}

// apart makes each node of a program a kernel of its own.
func (r *rig) apart() *rig {
	s, _ := core.Extension[Statistics](r.dev)
	s.(*device).policy = group.Policy{}
	return r
}

func TestProgram(t *testing.T) {
	r := newRig(t, Options{}, nil)
	m := newMaker(t, "step")
	x, c := m.input(4), m.constant(4)
	y := m.node(op.Mul, ids(m.node(op.Add, ids(x, c)), x))
	z := m.node(op.Copy, ids(y))
	m.p.Outputs = ids(y, z, x, c)
	p := r.define(m.p, r.floats([]int{4}, 1, 1, 1, 1))
	in := r.floats([]int{4}, 1, 2, 3, 4)
	out := r.call(p, 4, nil, in)
	want := []float32{2, 6, 12, 20}
	require.Equal(t, want, r.read(out[0], 4))
	require.Equal(t, want, r.read(out[1], 4))
	require.Equal(t, []float32{1, 2, 3, 4}, r.read(out[2], 4))
	require.Equal(t, []float32{1, 1, 1, 1}, r.read(out[3], 4))
	require.EqualValues(t, 1, r.fake.launches.Load())
	require.NoError(t, r.programs().Undefine(p))
}

// TestConstantsAreThereForAllStreams runs a program on another stream while the device is slow to compute the nodes that depend on
// constants alone.
func TestConstantsAreThereForAllStreams(t *testing.T) {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.pause = 100 * time.Millisecond })
	m := newMaker(t, "folds")
	x, c := m.input(4), m.constant(4)
	m.p.Outputs = ids(m.node(op.Add, ids(x, m.node(op.CumSum, ids(c), op.Int("axis", 0)))))
	p := r.define(m.p, r.floats([]int{4}, 1, 2, 3, 4))
	require.EqualValues(t, 1, r.fake.launches.Load(), "the sum is computed once")
	s, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	other := *r
	other.stream = s
	out := other.call(p, 1, nil, other.floats([]int{4}, 10, 20, 30, 40))
	require.Equal(t, []float32{11, 23, 36, 50}, other.read(out[0], 4))
}

// TestRunsKeepTheirOutputs runs a program a hundred times and reads all results at the end.
func TestRunsKeepTheirOutputs(t *testing.T) {
	for _, plain := range []bool{true, false} {
		r := newRig(t, Options{Plain: plain}, func(d *fakeDevice) { d.jitter = true }).apart()
		m := newMaker(t, "long")
		x, c := m.input(8), m.constant(8)
		m.p.Outputs = ids(chain(m, x, c, 10))
		p := r.define(m.p, r.floats([]int{8}, 1, 1, 1, 1, 1, 1, 1, 1))
		var outs []op.TensorID
		in := r.floats([]int{8}, 0, 1, 2, 3, 4, 5, 6, 7)
		for range 100 {
			in = r.call(p, 1, nil, in)[0]
			outs = append(outs, in)
		}
		for i, id := range outs {
			got := r.read(id, 8)
			for k := range got {
				require.Equal(t, float32(k+10*(i+1)), got[k])
			}
		}
		if !plain {
			s := r.stats()
			require.EqualValues(t, 1, s.Graphs)
			require.EqualValues(t, 99, s.GraphRuns)
		}
	}
}

func TestDonationIsInPlace(t *testing.T) {
	r := newRig(t, Options{}, nil)
	m := newMaker(t, "update")
	x, g := m.input(4), m.input(4)
	m.p.Outputs = ids(m.node(op.Sub, ids(x, g)))
	p := r.define(m.p)
	w, grad := r.floats([]int{4}, 10, 10, 10, 10), r.floats([]int{4}, 1, 2, 3, 4)
	r.read(grad, 4)
	before := r.stats().Pool.Requests
	for range 3 {
		w = r.call(p, 1, []bool{true, false}, w, grad)[0]
	}
	require.Equal(t, []float32{7, 4, 1, -2}, r.read(w, 4))
	require.Equal(t, before, r.stats().Pool.Requests, "a run has asked for memory")
}

// apartInMemory checks that temporaries with overlapping lifetimes do not overlap in memory.
func apartInMemory(t *testing.T, p *plan) {
	for i, x := range p.buffers {
		for k, y := range p.buffers[:i] {
			if x.kind != isTemp || y.kind != isTemp || x.root != i || y.root != k || x.last == none || y.last == none || x.last < y.first || y.last < x.first {
				continue
			}
			require.False(t, x.offset < y.offset+y.bytes && y.offset < x.offset+x.bytes, "buffers %d and %d of %v", k, i, p.graph.Program)
		}
	}
}

// TestDonationWaitsForReaders: a result takes the memory of an operand only where each element is read before it is written.
func TestDonationWaitsForReaders(t *testing.T) {
	r := newRig(t, Options{}, nil)
	m := newMaker(t, "turn")
	x := m.input(90, 70)
	m.p.Outputs = ids(m.node(op.Permute, ids(x), op.Ints("axes", 1, 0)))
	p := r.define(m.p)
	v := make([]float32, 90*70)
	for i := range v {
		v[i] = float32(i)
	}
	out := r.call(p, 1, []bool{true}, r.floats([]int{90, 70}, v...))
	for i, got := range r.read(out[0], len(v)) {
		require.Equal(t, v[i%90*70+i/90], got)
	}

	m = newMaker(t, "late")
	x = m.input(2, 3)
	y := m.node(op.Permute, ids(m.node(op.Neg, ids(x))), op.Ints("axes", 1, 0))
	m.p.Outputs = ids(m.node(op.Add, ids(m.node(op.ReduceMax, ids(y), op.Ints("axes", 0), op.Flag("keep_dims", true)), y)))
	p = r.define(m.p)
	out = r.call(p, 1, []bool{true}, r.floats([]int{2, 3}, 1, 2, 3, 4, 5, 6))
	require.Equal(t, []float32{-2, -8, -3, -9, -4, -10}, r.read(out[0], 6))
}
