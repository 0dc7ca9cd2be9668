package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// known is a tensor of the model: elements, or the error that poisons it.
type known struct {
	v   []float32
	err error
}

// model executes commands one after another on a map. It computes the answers that the engine must return.
type model struct {
	tensors    map[op.TensorID]known
	generation uint16
	failures   map[int][]error // of each stream since the last report
}

func (m *model) fail(stream int, err error) { m.failures[stream] = append(m.failures[stream], err) }

// missing returns the error for an id that does not exist.
func (m *model) missing(id op.TensorID) error {
	if id.Generation() < m.generation {
		return core.ErrStale
	}
	return core.ErrUnknownTensor
}

func (m *model) define(stream int, id op.TensorID, k known) {
	if _, twice := m.tensors[id]; twice {
		m.fail(stream, core.ErrProtocol)
	}
	m.generation = max(m.generation, id.Generation())
	m.tensors[id] = k
}

func (m *model) free(stream int, id op.TensorID) {
	if _, ok := m.tensors[id]; !ok {
		m.fail(stream, m.missing(id))
	}
	delete(m.tensors, id)
}

// operands returns the values of inputs. The error comes from the first poisoned one, else from the first missing one, which is a
// failure of its own.
func (m *model) operands(ids []op.TensorID) (in [][]float32, err error, fresh bool) {
	for _, id := range ids {
		k, ok := m.tensors[id]
		switch {
		case !ok && err == nil:
			err, fresh = m.missing(id), true
		case ok && k.err != nil && (err == nil || fresh):
			err, fresh = k.err, false
		}
		in = append(in, k.v)
	}
	return in, err, fresh
}

func (m *model) node(stream int, n *op.Node) {
	in, err, fresh := m.operands(n.Inputs)
	for i, id := range n.Inputs {
		if n.Drop>>i&1 != 0 {
			delete(m.tensors, id)
		}
	}
	var out []float32
	if err == nil {
		switch n.Op {
		case op.Log:
			err, fresh = core.ErrIndex, true
		case op.Tan:
			err, fresh = core.ErrKernel, true
		}
	}
	if err == nil {
		for i, f := range in[0] {
			switch n.Op {
			case op.Neg:
				f = -f
			case op.Add:
				f += in[1][i]
			}
			out = append(out, f)
		}
	}
	if fresh {
		m.fail(stream, err)
	}
	m.define(stream, n.Outputs[0].ID, known{out, err})
}

// run executes the program of rig.double: -(x+x)+(100,200), and x.
func (m *model) run(stream int, r core.Run) {
	in, err, fresh := m.operands(r.Inputs)
	if r.Donated != nil && r.Donated[0] {
		delete(m.tensors, r.Inputs[0])
	}
	if err == nil && len(in[0]) != 2 {
		err, fresh = core.ErrShape, true
	}
	if fresh {
		m.fail(stream, err)
	}
	if err != nil {
		m.define(stream, r.Outputs[0], known{err: err})
		m.define(stream, r.Outputs[1], known{err: err})
		return
	}
	m.define(stream, r.Outputs[0], known{v: []float32{100 - 2*in[0][0], 200 - 2*in[0][1]}})
	m.define(stream, r.Outputs[1], known{v: in[0]})
}

// player sends random commands to the engine and to the model.
type player struct {
	*rig
	m        *model
	r        *rand.Rand
	streams  []core.Stream
	last     int // the stream of the previous command
	programs core.Programs
	double   core.ProgramID
	ids      []op.TensorID // all ids that were used so far
	sizes    map[op.TensorID]int
	readers  sync.WaitGroup
	wrong    chan error
	late     bool // the queues are asynchronous
}

// at returns the stream of the next command, ordered after the previous one.
func (p *player) at() (core.Stream, int) {
	if k := p.r.IntN(2 * len(p.streams)); k < len(p.streams) && k != p.last {
		e := p.streams[p.last].Signal()
		require.NoError(p.t, p.streams[k].Wait(e))
		p.last = k
	}
	return p.streams[p.last], p.last
}

// id returns the id of a tensor of n elements, mostly of one that lives.
func (p *player) id(n int) op.TensorID {
	for range 30 {
		if len(p.ids) == 0 {
			break
		}
		id := p.ids[p.r.IntN(len(p.ids))]
		_, lives := p.m.tensors[id]
		if p.sizes[id] == n && (lives || p.r.IntN(60) == 0) {
			return id
		}
	}
	return p.dev.NewIDs(1) // of no tensor
}

func (p *player) fresh(n int) op.TensorID {
	id := p.dev.NewIDs(1)
	p.ids, p.sizes[id] = append(p.ids, id), n
	return id
}

func (p *player) write() {
	s, k := p.at()
	n := 2 + p.r.IntN(5)/4
	id := p.fresh(n)
	switch p.r.IntN(50) {
	case 0: // of a later restart
		id = op.NewTensorID(p.m.generation+1, uint64(len(p.ids)))
		p.ids, p.sizes[id] = append(p.ids, id), n
	case 1: // twice
		id = p.ids[p.r.IntN(len(p.ids))]
		n = p.sizes[id]
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(p.r.IntN(9) - 4)
	}
	require.NoError(p.t, s.Write(context.Background(), vector(id, n), bytesOf(v...)))
	p.m.define(k, id, known{v: v})
}

func (p *player) submit() {
	s, k := p.at()
	var nodes []op.Node
	var free []op.TensorID
	for range p.r.IntN(5) {
		n := 2 + p.r.IntN(5)/4
		code := []op.Code{op.Neg, op.Add, op.Add, op.Add, op.Copy, op.Abs, op.Neg, op.Add, op.Copy, op.Log, op.Tan}[p.r.IntN(11)]
		if (code == op.Log || code == op.Tan) && p.r.IntN(4) != 0 {
			code = op.Copy // failures spread to all that uses them
		}
		in := []op.Desc{vector(p.id(n), n)}
		if code == op.Add {
			in = append(in, vector(p.id(n), n))
		}
		node, err := op.New(code, in)
		require.NoError(p.t, err)
		node.Outputs[0].ID, node.Drop = p.fresh(n), p.r.Uint64()&p.r.Uint64()
		p.m.node(k, &node)
		nodes = append(nodes, node)
	}
	for range p.r.IntN(3) {
		id := p.id(2 + p.r.IntN(2))
		free = append(free, id)
		p.m.free(k, id)
	}
	require.NoError(p.t, s.Submit(nodes, free))
}

func (p *player) run() {
	s, k := p.at()
	n := 2 + p.r.IntN(20)/19
	run := core.Run{Program: p.double, Inputs: []op.TensorID{p.id(n)}, Outputs: []op.TensorID{p.fresh(2), p.fresh(2)}}
	if p.r.IntN(2) == 0 {
		run.Donated = []bool{p.r.IntN(3) != 0}
	}
	p.m.run(k, run)
	require.NoError(p.t, p.programs.Run(s, run))
}

// read starts a read. In most cases another goroutine waits for it while commands continue; some waits are canceled.
func (p *player) read() {
	s, _ := p.at()
	n := 2 + p.r.IntN(5)/4
	id := p.id(n)
	want, ok := p.m.tensors[id]
	if !ok {
		want.err = p.m.missing(id)
	}
	dst := make([]byte, 4*n)
	if want.err == nil && len(want.v) != n { // was written twice
		want.err = core.ErrShape
	}
	ticket := s.Read(id, dst)
	how, text := p.r.IntN(8), fmt.Sprint("read ", id)
	check := func() error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if how == 0 {
			cancel()
		}
		if how < 4 {
			ctx = context.WithoutCancel(ctx)
		}
		err := ticket.Wait(ctx)
		switch {
		case how == 0 && ctx.Err() != nil:
			if !errors.Is(err, core.ErrCanceled) {
				return fmt.Errorf("%s of a canceled context: %w", text, err)
			}
		case want.err != nil:
			if !errors.Is(err, want.err) {
				return fmt.Errorf("%s: got %v, want %w", text, err, want.err)
			}
		case err != nil:
			return fmt.Errorf("%s: %w, want %v", text, err, want.v)
		case string(dst) != string(bytesOf(want.v...)):
			return fmt.Errorf("%s: got % x, want %v", text, dst, want.v)
		}
		return nil
	}
	if how == 7 {
		require.NoError(p.t, check())
		return
	}
	p.readers.Go(func() {
		if err := check(); err != nil {
			select {
			case p.wrong <- err:
			default:
			}
		}
	})
}

func (p *player) sync() {
	s, k := p.at()
	err, want := core.Sync(context.Background(), s), p.m.failures[k]
	switch {
	case len(want) == 0:
		require.NoError(p.t, err)
	case p.late: // a queue may learn of its failure after another one
		require.True(p.t, slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }), "%v, want one of %v", err, want)
	default:
		require.ErrorIs(p.t, err, want[0])
	}
	delete(p.m.failures, k)
}

// TestRandomCommands plays sequences of writes, nodes, frees, runs, reads and syncs, some of them of missing, stale and poisoned
// tensors, on streams that events put in one order. Every answer must equal the model's, whatever memory was overwritten in
// place, and in the end no value is left.
func TestRandomCommands(t *testing.T) {
	for seed := range rounds(60) {
		play(open(t, new(driver)), seed, false)
	}
}

// rounds returns n, or n/6 in short tests.
func rounds(n int) int {
	if testing.Short() {
		return n / 6
	}
	return n
}

// play sends 300 random commands to a device, and closes it.
func play(r *rig, seed int, late bool) {
	t := r.t
	p := &player{rig: r, m: &model{tensors: map[op.TensorID]known{}, failures: map[int][]error{}}, r: rand.New(rand.NewPCG(uint64(seed), 1)),
		streams: []core.Stream{r.stream}, sizes: map[op.TensorID]int{}, wrong: make(chan error, 1), late: late}
	p.programs, p.double = r.double()
	for range seed % 4 {
		s, err := r.dev.OpenStream(t.Context())
		require.NoError(t, err)
		p.streams = append(p.streams, s)
	}
	for range 300 {
		switch p.r.IntN(10) {
		case 0, 1:
			p.write()
		case 2, 3, 4, 5:
			p.submit()
		case 6:
			p.run()
		case 7, 8:
			p.read()
		default:
			if p.r.IntN(3) == 0 {
				p.sync()
			}
		}
	}
	p.readers.Wait()
	select {
	case err := <-p.wrong:
		t.Fatalf("seed %d: %v", seed, err)
	default:
	}
	stats, _ := core.Extension[core.MemoryStats](r.dev)
	for _, s := range p.streams {
		_ = core.Sync(context.Background(), s)
	}
	require.EqualValues(t, len(p.m.tensors), stats.Memory().Tensors, "seed %d", seed)
	for id, k := range p.m.tensors {
		if k.err == nil {
			r.holds(vector(id, len(k.v)), k.v...)
		}
	}
	r.closed()
}
