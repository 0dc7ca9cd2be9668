package libtorch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

// submit submits the nodes of a program one by one. Each node drops its operands of which keep says no and which no later node reads.
func (r *rig) submit(p *program.Program, at map[op.TensorID]op.Desc, keep map[op.TensorID]bool) {
	last := map[op.TensorID]int{}
	for i := range p.Nodes {
		for _, id := range p.Nodes[i].Inputs {
			last[id] = i
		}
	}
	for i := range p.Nodes {
		n := p.Nodes[i]
		ids := n.Inputs
		n.Inputs, n.Outputs = nil, nil
		for k, id := range ids {
			n.Inputs = append(n.Inputs, at[id].ID)
			if last[id] == i && !keep[id] {
				n.Drop |= 1 << k
			}
		}
		for _, d := range p.Nodes[i].Outputs {
			id := d.ID
			d.ID = r.d.NewIDs(1)
			n.Outputs, at[id] = append(n.Outputs, d), d
		}
		require.NoError(r.t, r.s.Submit([]op.Node{n}, nil))
	}
}

// A gradient that is submitted node by node gives what its nodes give if each result stays.
func TestAhead(t *testing.T) {
	r := newRig(t)
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range lessons {
		p := l.program(t)
		given, results, all := map[op.TensorID]op.Desc{}, map[op.TensorID]bool{}, map[op.TensorID]bool{}
		for _, d := range p.Inputs {
			given[d.ID], results[d.ID] = r.write(d, random.NormFloat64), true
		}
		for id := range p.Descs() {
			all[id] = true
		}
		for _, id := range p.Outputs {
			results[id] = true
		}
		fused, plain := map[op.TensorID]op.Desc{}, map[op.TensorID]op.Desc{}
		for id, d := range given {
			fused[id], plain[id] = d, d
		}
		r.submit(p, fused, results)
		r.submit(p, plain, all)
		for i, id := range p.Outputs {
			require.NoError(t, alike(r.fetched(fused[id]), r.fetched(plain[id])), "%s, result %d", l.name, i)
		}
	}
}

// script passes the nodes of a program to a queue whose worker does not run, and returns the kinds of the commands that were queued.
func script(t *testing.T, p *program.Program, dropped bool, after func(q *queue)) (kinds []kind) {
	q := &queue{dev: bare(), ended: make(chan struct{})}
	q.dev.limit = 1 << 30
	q.wake.L, q.reach.L = &q.mu, &q.mu
	values, descs := map[op.TensorID]*tensor{}, p.Descs()
	last, kept := map[op.TensorID]int{}, map[op.TensorID]bool{}
	for _, d := range p.Inputs {
		values[d.ID], kept[d.ID] = newTensor(d, q), true
	}
	for _, id := range p.Outputs {
		kept[id] = true
	}
	for i := range p.Nodes {
		for _, id := range p.Nodes[i].Inputs {
			last[id] = i
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		c := &engine.Call[*tensor]{Node: n, Out: make([]*tensor, len(n.Outputs))}
		dead := map[*tensor]bool{}
		for k, id := range n.Inputs {
			c.In, c.Descs = append(c.In, values[id]), append(c.Descs, descs[id])
			if dropped && last[id] == i && !kept[id] {
				dead[values[id]] = true
				if k == 0 || n.Inputs[0] != id { // the engine calls no operand owned that occurs twice
					c.Owned |= 1 << k
				}
			}
		}
		if len(n.Inputs) == 2 && n.Inputs[0] == n.Inputs[1] {
			c.Owned = 0
		}
		require.NoError(t, q.Execute(c))
		for x := range dead {
			x.drop()
		}
		for k, d := range n.Outputs {
			values[d.ID] = c.Out[k]
		}
	}
	if after != nil {
		after(q)
	}
	for _, c := range q.pend {
		kinds = append(kinds, c.kind)
	}
	return kinds
}

// Only a gradient whose other results are dropped becomes one command, whatever is queued before it.
func TestAheadQueues(t *testing.T) {
	record := func(q *queue) {
		_, err := q.Record()
		require.NoError(t, err)
	}
	for _, l := range lessons[:11] { // the others read operands that no node reads, or have one node
		p := l.program(t)
		require.Equal(t, []kind{doNode, doGroup}, script(t, p, true, nil), l.name)
		kinds := script(t, p, false, record)
		require.Len(t, kinds, len(p.Nodes), l.name)
		require.NotContains(t, kinds, doGroup, l.name)
	}
	p := lessons[0].program(t)
	short := *p
	short.Nodes = p.Nodes[:len(p.Nodes)-1]
	require.Equal(t, []kind{doNode}, script(t, &short, true, nil), "held back")
	require.Len(t, script(t, &short, true, record), len(short.Nodes), "a mark is behind all commands")
	square := p.Nodes[1]
	square.Outputs = []op.Desc{square.Outputs[0]}
	square.Outputs[0].ID = 1000
	twice := *p
	twice.Nodes = append([]op.Node{p.Nodes[0], square}, p.Nodes[1:]...)
	require.Equal(t, []kind{doNode, doNode, doGroup}, script(t, &twice, true, nil), "a sequence that begins within another")
}

// The gradient of gelu at 1 is Φ(1) + φ(1); an operand that failed makes the gradient fail, and nothing else.
func TestAheadValue(t *testing.T) {
	r := newRig(t)
	p := lessons[0].program(t)
	at := map[op.TensorID]op.Desc{}
	for _, d := range p.Inputs {
		at[d.ID] = d
	}
	x := r.node(op.Reshape, []op.Desc{r.full(1, 15)}, op.Dims("shape", []int{3, 5}))
	at[p.Inputs[0].ID] = x
	at[p.Inputs[1].ID] = r.write(p.Inputs[1], func() float64 { return 1 })
	r.submit(p, at, map[op.TensorID]bool{p.Inputs[0].ID: true, p.Inputs[1].ID: true, p.Outputs[0]: true, p.Outputs[1]: true})
	require.InDelta(t, 1.0833154705876864, r.fetched(at[p.Outputs[1]])[0], 1e-6)

	lost := map[op.TensorID]op.Desc{p.Inputs[1].ID: at[p.Inputs[1].ID]}
	row := r.node(op.Gather, []op.Desc{r.full(1, 2, 5), r.node(op.Full, nil, op.ScalarInt("value", 7), op.Type("dtype", dtype.I64), op.Dims("shape", []int{3}))}, op.Int("axis", 0))
	lost[p.Inputs[0].ID] = row
	r.submit(p, lost, map[op.TensorID]bool{p.Inputs[0].ID: true, p.Inputs[1].ID: true, p.Outputs[0]: true, p.Outputs[1]: true})
	_, err := r.read(lost[p.Outputs[1]])
	require.ErrorIs(t, err, core.ErrIndex)
	_, err = r.read(at[p.Outputs[0]])
	require.NoError(t, err)
}

// Near -3.5 oneDNN's gelu has a greater error than the contract allows.
func TestGeluNear(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 5, 4096, 4099} {
		d := op.DescOf(dtype.F32, n)
		i := 0
		x := r.write(d, func() float64 { i++; return -3.6 + 0.2*float64(i)/float64(n) })
		got, want := r.fetched(r.node(op.Gelu, []op.Desc{x})), r.fetched(r.node(op.Gelu, []op.Desc{r.node(op.Cast, []op.Desc{x}, op.Type("dtype", dtype.F64))}))
		for k := range want {
			require.InDelta(t, want[k], got[k], 5e-7, "%d of %d", k, n)
		}
	}
}
