package gpu

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// images returns a program of n convolutions with filters of one element, each followed by tanh, and a last convolution.
func images(t *testing.T, n int) *maker {
	m := newMaker(t, "images")
	x, w := m.input(1, 1, 2, 2), m.constant(1, 1, 1, 1)
	for range n {
		x = m.node(op.Tanh, ids(m.conv(x, w, 1, 0, 1)))
	}
	m.p.Outputs = ids(m.conv(x, w, 1, 0, 1))
	return m
}

// session runs a plan. Its outputs are kept, so that each run has new ones.
type session struct {
	t    *testing.T
	d    *device
	q    *queue
	plan *plan
	m    *maker
	outs [][]*block
}

func newSession(t *testing.T, d *device, m *maker, consts ...float32) *session {
	d.kernel.Supports = nil
	s := &session{t: t, d: d, q: d.queue(t), m: m}
	var cs []*block
	for i, c := range consts {
		cs = append(cs, s.up(m.p.Consts[i], c))
	}
	var err error
	s.plan, err = d.prepare(context.Background(), s.q, m.p, cs)
	require.NoError(t, err)
	for _, b := range cs {
		d.pool.release(b)
	}
	return s
}

func (s *session) up(d op.Desc, v float32) *block {
	x := make([]float32, d.Shape.Size())
	for i := range x {
		x[i] = v + float32(i)
	}
	b, err := s.q.Enqueue(d, dtype.Bytes(x), func() {})
	require.NoError(s.t, err)
	return b
}

// run runs the plan and keeps its outputs.
func (s *session) run(in ...*block) []*block {
	out := make([]*block, len(s.m.p.Outputs))
	require.NoError(s.t, s.plan.Run(s.q, in, make([]bool, len(in)), out))
	s.outs = append(s.outs, out)
	return out
}

func (s *session) read(b *block, n int) []float32 {
	got := make([]float32, n)
	require.NoError(s.t, s.q.Fetch(dtype.Bytes(got), op.Desc{}, b))
	m, err := s.q.Record()
	require.NoError(s.t, err)
	require.NoError(s.t, m.Wait())
	return got
}

func (s *session) close() {
	for _, o := range s.outs {
		for _, b := range o {
			s.d.pool.release(b)
		}
	}
	s.plan.Close()
}

// TestCallsThatRefuseToChange runs a program with library calls on new memory each time, and checks that if graphs refuse to update their calls,
// the results are the same and few graphs are created.
func TestCallsThatRefuseToChange(t *testing.T) {
	run := func(refuse bool) ([][]float32, Stats) {
		l := &convolutions{}
		d, _ := openDevice(t, Options{ChannelsFirst: true}, func(d *fakeDevice) {
			d.libraries, d.jitter = []Library{l}, true
			if refuse {
				d.refuse = func(s *Step) error {
					if s.Call != nil {
						return core.ErrUnsupported
					}
					return nil
				}
			}
		})
		s := newSession(t, d, images(t, 6), 0.5)
		defer s.close()
		for i := range 20 {
			in := s.up(s.m.p.Inputs[0], float32(i)/8)
			s.run(in)
			s.d.pool.release(in)
		}
		var all [][]float32
		for _, o := range s.outs {
			all = append(all, s.read(o[0], 4))
		}
		return all, d.Stats()
	}
	want, s := run(false)
	require.EqualValues(t, 1, s.Graphs)
	require.EqualValues(t, 7, s.LibraryCalls)
	require.EqualValues(t, 19, s.GraphRuns)
	got, s := run(true)
	require.Equal(t, want, got)
	require.LessOrEqual(t, s.Graphs, int64(4))
	require.Greater(t, s.GraphRuns, int64(12))
}

// TestGraphsOfRepeatedMemory checks that runs on repeated memory use graphs, and that at most maxInstances are kept.
func TestGraphsOfRepeatedMemory(t *testing.T) {
	l := &convolutions{}
	d, fake := openDevice(t, Options{ChannelsFirst: true}, func(d *fakeDevice) {
		d.libraries = []Library{l}
		d.refuse = func(s *Step) error {
			if s.Call != nil {
				return core.ErrUnsupported
			}
			return nil
		}
	})
	s := newSession(t, d, images(t, 6), 0.5)
	defer s.close()
	a, b := s.up(s.m.p.Inputs[0], 1), s.up(s.m.p.Inputs[0], 2)
	first := map[*block][]float32{}
	for i := range 40 {
		in := []*block{a, b}[i%2]
		out := s.run(in)
		got := s.read(out[0], 4)
		if want, seen := first[in]; seen {
			require.Equal(t, want, got)
		}
		first[in] = got
		s.outs = nil
		d.pool.release(out[0])
	}
	require.LessOrEqual(t, fake.graphs.Load(), int64(maxInstances))
	require.Greater(t, d.Stats().GraphRuns, int64(25))
	d.pool.release(a)
	d.pool.release(b)
}

func TestAProgramWithoutAGraph(t *testing.T) {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.newGraph = func([]Step) error { return errors.New("no") } }).apart()
	m := newMaker(t, "chain")
	x, c := m.input(2), m.constant(2)
	m.p.Outputs = ids(chain(m, x, c, 9))
	p := r.define(m.p, r.floats([]int{2}, 1, 2))
	for range 4 {
		require.Equal(t, []float32{9, 18}, r.read(r.call(p, 1, nil, r.floats([]int{2}, 0, 0))[0], 2))
	}
	require.EqualValues(t, 1, r.stats().GraphFailures)
	require.Zero(t, r.stats().GraphRuns)
}

// TestMemoryOfManyShapes runs programs of fifty shapes three times and checks that they share scratch memory and that the number of graphs is
// bounded.
func TestMemoryOfManyShapes(t *testing.T) {
	r := newRig(t, Options{GraphSteps: 100, MemoryLimit: 24 << 20}, nil).apart()
	var ps []core.ProgramID
	for i := range 50 {
		m := newMaker(t, fmt.Sprint("shape", i))
		x, y := m.input(1000*(i+1)), m.input(1000*(i+1))
		for range 10 {
			x = m.node(op.Add, ids(x, y))
		}
		m.p.Outputs = ids(x)
		ps = append(ps, r.define(m.p))
	}
	for round := range 3 {
		for i, p := range ps {
			n := 1000 * (i + 1)
			v := make([]float32, n)
			v[n-1] = 1
			a, b := r.floats([]int{n}, v...), r.floats([]int{n}, v...)
			out := r.call(p, 1, []bool{true, true}, a, b)
			require.Equal(t, float32(11), r.read(out[0], n)[n-1], "round %d, shape %d", round, i)
			require.NoError(t, r.stream.Submit(nil, out))
			require.LessOrEqual(t, r.fake.graphs.Load(), int64(10))
		}
	}
	s := r.stats()
	require.Less(t, s.Pool.Reserved, int64(16<<20))
	require.Positive(t, s.GraphRuns)
	for _, p := range ps {
		require.NoError(t, r.programs().Undefine(p))
	}
}

// TestNoAllocationAfterTheFirstRuns checks that after three runs the driver allocates nothing and compiles nothing.
func TestNoAllocationAfterTheFirstRuns(t *testing.T) {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.jitter = true }).apart()
	m := newMaker(t, "chain")
	x, c := m.input(100_000), m.input(100_000)
	m.p.Outputs = ids(chain(m, x, c, 10))
	p := r.define(m.p)
	a, b := r.floats([]int{100_000}, make([]float32, 100_000)...), r.floats([]int{100_000}, make([]float32, 100_000)...)
	var before, compiled int64
	for i := range 30 {
		if i == 3 {
			before, compiled = r.fake.allocs.Load(), r.stats().Kernels.Compiled
		}
		a = r.call(p, 1, []bool{true, false}, a, b)[0]
		r.read(a, 100_000)
	}
	require.Equal(t, before, r.fake.allocs.Load())
	require.Equal(t, compiled, r.stats().Kernels.Compiled)
}

// TestProgramsTakeTurns interleaves two programs that read each other's results, with inputs that are freed at once or bound twice, while
// Trim releases unused memory.
func TestProgramsTakeTurns(t *testing.T) {
	for _, plain := range []bool{false, true} {
		r := newRig(t, Options{Plain: plain}, func(d *fakeDevice) { d.jitter = true }).apart()
		stats, _ := core.Extension[Statistics](r.dev)
		var ps []core.ProgramID
		for k := range 2 {
			m := newMaker(t, fmt.Sprint(k))
			x, y := m.input(300), m.input(300)
			for i := range 8 {
				if i%2 == k {
					x = m.node(op.Add, ids(x, y))
				} else {
					x = m.node(op.Sub, ids(y, x))
				}
			}
			m.p.Outputs = ids(x, y)
			ps = append(ps, r.define(m.p))
		}
		f := func(k int, x, y float32) float32 {
			for i := range 8 {
				if i%2 == k {
					x += y
				} else {
					x = y - x
				}
			}
			return x
		}
		ones := make([]float32, 300)
		for i := range ones {
			ones[i] = float32(i)
		}
		x := r.floats([]int{300}, ones...)
		want := ones[7]
		for i := range 60 {
			k := i % 2
			in, out := ids(x, x), []op.TensorID(nil)
			if i%7 == 3 {
				z := r.floats([]int{300}, ones...)
				in[1] = z
				out = r.call(ps[k], 2, []bool{true, true}, in...)
				want = f(k, want, ones[7])
			} else {
				out = r.call(ps[k], 2, nil, in...)
				require.NoError(t, r.stream.Submit(nil, ids(x)))
				want = f(k, want, want)
			}
			require.NoError(t, r.stream.Submit(nil, out[1:]))
			x = out[0]
			if i%10 == 9 {
				_, err := stats.Trim()
				require.NoError(t, err)
			}
			if want > 1e6 || want < -1e6 {
				require.InEpsilon(t, want, r.read(x, 300)[7], 1e-6)
				require.NoError(t, r.stream.Submit(nil, ids(x)))
				x, want = r.floats([]int{300}, ones...), ones[7]
			}
		}
		require.InDelta(t, want, r.read(x, 300)[7], 1e-3*max(float64(want), 1))
	}
}
