package gpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// memoryOf checks the offsets of the temporaries of a plan pair by pair and step by step, and returns the most bytes that live at one
// time.
func memoryOf(t testing.TB, p *plan) (most int64) {
	sum, top := int64(0), int64(0)
	for i := range p.buffers {
		if !p.temporary(i) {
			continue
		}
		x := &p.buffers[i]
		require.Zero(t, x.offset%grain)
		top, sum = max(top, x.offset+x.bytes), sum+roundUp(max(x.bytes, 1), grain)
		for k := range i {
			y := &p.buffers[k]
			if p.temporary(k) && x.first <= y.last && y.first <= x.last {
				require.True(t, x.offset+x.bytes <= y.offset || y.offset+y.bytes <= x.offset, "buffers %d and %d live at one time and overlap", k, i)
			}
		}
	}
	for s := range p.steps {
		live := int64(0)
		for i := range p.buffers {
			if x := &p.buffers[i]; p.temporary(i) && x.first <= s && s <= x.last {
				live += roundUp(max(x.bytes, 1), grain)
			}
		}
		most = max(most, live)
		p.steps[s].each(func(a *arg) { // nothing is used outside of its lifetime
			if a.buffer != none && p.temporary(a.buffer) {
				require.LessOrEqual(t, p.buffers[a.buffer].first, s)
				require.GreaterOrEqual(t, p.buffers[a.buffer].last, s)
			}
		})
	}
	require.LessOrEqual(t, top, p.scratch)
	require.LessOrEqual(t, most, p.scratch)
	require.LessOrEqual(t, p.scratch, sum)
	return most
}

// TestPlacesOfTemporaries checks random programs, with and without groups.
func TestPlacesOfTemporaries(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.dry = true })
	q := d.queue(t)
	groups, all, needed := d.policy, int64(0), int64(0)
	for i := range 200 {
		if d.policy = groups; i%2 == 0 {
			d.policy.Kinds, d.policy.Absorb = 0, 0
		}
		m := randomProgram(t, rng)
		var consts []*block
		for _, c := range m.p.Consts {
			b, err := d.pool.alloc(&q.tenant, int64(c.Bytes()), forTensor)
			require.NoError(t, err)
			consts = append(consts, b)
		}
		p, err := d.prepare(t.Context(), q, m.p, consts)
		require.NoError(t, err)
		live := memoryOf(t, p)
		require.Equal(t, live, p.needs().Live)
		all, needed = all+p.scratch, needed+live
		p.Close()
		for _, b := range consts {
			d.pool.release(b)
		}
	}
	require.Less(t, float64(all), 1.05*float64(needed), "what is lost between temporaries")
}

// TestNeeds compares Needs with hand-computed numbers for a chain whose first result is read again at the end.
func TestNeeds(t *testing.T) {
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.dry = true })
	q := d.queue(t)
	d.policy.Kinds, d.policy.Absorb = 0, 0
	m := newMaker(t, "needs")
	x := m.input(1000)
	a := m.node(op.Sin, ids(x))
	b := m.node(op.CumSum, ids(a), op.Int("axis", 0))
	c := m.node(op.CumSum, ids(b), op.Int("axis", 0))
	m.p.Outputs = ids(m.node(op.Sub, ids(c, a)))
	p, err := d.prepare(t.Context(), q, m.p, nil)
	require.NoError(t, err)
	defer p.Close()
	require.Empty(t, d.Needs(), "it has not run")
	in, err := d.pool.alloc(&q.tenant, 4000, forTensor)
	require.NoError(t, err)
	out := make([]*block, 1)
	require.NoError(t, p.Run(q, []*block{in}, []bool{false}, out))
	d.pool.release(in)
	d.pool.release(out[0])
	all := d.Needs()
	require.Len(t, all, 1)
	n := all[0]
	require.Equal(t, "needs", n.Name)
	require.EqualValues(t, 4000, n.Inputs)
	require.EqualValues(t, 4000, n.Outputs)
	require.EqualValues(t, 4000, n.Reused, "if x is donated")
	require.EqualValues(t, 2*4096, n.Live, "sin x and its sums: the sums of these are where the result is")
	require.Equal(t, n.Live, memoryOf(t, p))
	made := map[string]TensorNeeds{}
	for _, x := range n.Tensors {
		made[x.Made] = x
		require.True(t, x.First <= n.Peak && n.Peak <= x.Last)
	}
	sin := made["sin -> f32 [1000]"]
	require.Equal(t, TensorNeeds{Count: 1, Bytes: 4000, First: 0, Last: n.Steps - 1, Made: "sin -> f32 [1000]", Read: "sub"}, sin)
	require.Equal(t, 1, made["cumsum -> f32 [1000]"].Count)
}
