package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/internal/bench"
)

// recorder is a backend that records the commands of one stream, so that a step that is written op by op can be run as one
// program, which is the upper bound for fusion. Its device does not offer programs, so that all work arrives as nodes.
type recorder struct {
	core.Backend
	dev    core.Device // the device below
	stream core.Stream // the stream below

	mu    sync.Mutex
	log   *record
	types map[op.TensorID]op.Desc // descriptions of all tensors that were created
}

// record contains the commands of one step.
type record struct {
	nodes   []op.Node
	freed   map[op.TensorID]bool
	written map[op.TensorID][]byte
	read    []op.TensorID
}

func (r *recorder) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := r.Backend.Open(ctx, i)
	r.dev = d
	return recordingDevice{d, r}, err
}

type recordingDevice struct {
	core.Device
	r *recorder
}

func (d recordingDevice) Extend(target any) bool {
	_, ok := target.(*core.MemoryStats)
	return ok && d.Device.Extend(target)
}

func (d recordingDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	d.r.stream = s
	return recordingStream{s, d.r}, err
}

type recordingStream struct {
	core.Stream
	r *recorder
}

func (s recordingStream) Submit(nodes []op.Node, free []op.TensorID) error {
	s.r.mu.Lock()
	for i := range nodes {
		s.r.made(nodes[i].Outputs...)
	}
	if l := s.r.log; l != nil {
		for _, n := range nodes {
			l.nodes = append(l.nodes, n)
			for i, id := range n.Inputs {
				if i < 64 && n.Drop>>i&1 != 0 {
					l.freed[id] = true
				}
			}
		}
		for _, id := range free {
			l.freed[id] = true
		}
	}
	s.r.mu.Unlock()
	return s.Stream.Submit(nodes, free)
}

func (s recordingStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	s.r.mu.Lock()
	s.r.made(d)
	if l := s.r.log; l != nil {
		l.written[d.ID] = slices.Clone(data)
	}
	s.r.mu.Unlock()
	return s.Stream.Write(ctx, d, data)
}

func (s recordingStream) Read(id op.TensorID, dst []byte) core.Ticket {
	s.r.mu.Lock()
	if l := s.r.log; l != nil {
		l.read = append(l.read, id)
	}
	s.r.mu.Unlock()
	return s.Stream.Read(id, dst)
}

// made records the descriptions of new tensors. The caller holds mu.
func (r *recorder) made(ds ...op.Desc) {
	for _, d := range ds {
		r.types[d.ID] = d
	}
}

// step records the commands that f sends to the stream.
func (r *recorder) step(f func() error) (*record, error) {
	r.mu.Lock()
	r.log = &record{freed: map[op.TensorID]bool{}, written: map[op.TensorID][]byte{}}
	r.mu.Unlock()
	err := f()
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.log
	r.log = nil
	return l, err
}

// place identifies a result of a node of a record.
type place struct{ node, at int }

// inputs returns the tensors that the nodes of a record read but do not create, in the order of first use, and the places of the
// tensors that they create.
func (l *record) inputs() (in []op.TensorID, made map[op.TensorID]place) {
	made = map[op.TensorID]place{}
	for i := range l.nodes {
		for _, id := range l.nodes[i].Inputs {
			if _, own := made[id]; !own && !slices.Contains(in, id) {
				in = append(in, id)
			}
		}
		for k, d := range l.nodes[i].Outputs {
			made[d.ID] = place{i, k}
		}
	}
	return in, made
}

// draw returns a node that draws the random bits of node n from a state that is an operand of the program, so that each run draws
// new numbers. state contains the seed and counter of the first draw of the step; the new node stores the seed and counter of n as
// differences from these.
func draw(n op.Node, first *op.Node, state op.Desc) (op.Node, error) {
	past := func(name string) op.Attr { return op.Int(name, n.Attrs.Int(name)-first.Attrs.Int(name)) }
	return op.New(op.RandomBitsAt, []op.Desc{state}, past("seed"), past("counter"), op.Ints("shape", n.Attrs.Ints("shape")...), op.Type("dtype", n.Outputs[0].DType))
}

// compiled is a training step as one program: a bench.Contestant.
type compiled struct {
	*trainer // the trainer from which it was recorded; it runs on the trainer's device
	stream   core.Stream
	programs core.Programs
	id       core.ProgramID
	dev1     core.Device
	nodes    int
	inputs   []input
	state    []op.TensorID // results of the last run
	outputs  []op.Desc
	loss     int // index of the output that is the loss
	donated  []bool
	drawn    []int64 // seed and counter of the next run; nil: the step draws nothing
	samples  []time.Duration
}

// drawsOfStep is greater than the number of counters that a step uses.
const drawsOfStep = 1 << 32

// input is the source of an input: a result of the previous run, an upload, or a constant tensor.
type input struct {
	carried int // index of the result of the previous run; -1 for none
	data    []byte
	desc    op.Desc
	id      op.TensorID
}

// newCompiled trains a few steps op by op, records two of them, and converts the second to a program. The tensors that the first step
// creates and the second reads are the state, which each run passes to the next run.
func newCompiled(ctx context.Context, c contest, s settings) (x *compiled, err error) {
	r := &recorder{types: map[op.TensorID]op.Desc{}}
	t, err := newTrainer(ctx, c, s, burn.WithDecorator(func(p *core.Place) *core.Place {
		return p.With(func(b core.Backend) core.Backend { r.Backend = b; return r })
	}))
	if err != nil {
		return nil, err
	}
	x = &compiled{trainer: t, stream: r.stream, dev1: r.dev}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	once := func() error { _, err := t.step(ctx); return errors.Join(err, t.dev.Sync(ctx)) }
	if err := errors.Join(once(), once()); err != nil {
		return nil, err
	}
	before, err := r.step(once)
	if err != nil {
		return nil, err
	}
	now, err := r.step(once)
	if err != nil {
		return nil, err
	}
	return x, x.build(ctx, r.types, before, now)
}

func (x *compiled) build(ctx context.Context, types map[op.TensorID]op.Desc, before, now *record) error {
	var ok bool
	if x.programs, ok = core.Extension[core.Programs](x.dev1); !ok {
		return errors.New("the device has no programs")
	}
	_, made := before.inputs()
	in, _ := now.inputs()
	if len(before.nodes) != len(now.nodes) || len(now.read) != 1 {
		return fmt.Errorf("two steps differ: %d and %d nodes, %d reads", len(before.nodes), len(now.nodes), len(now.read))
	}
	var out []op.TensorID // outputs of the step: its state, and the loss
	local := map[op.TensorID]op.TensorID{}
	name := func(id op.TensorID) op.TensorID {
		if local[id] == 0 {
			local[id] = op.TensorID(len(local) + 1)
		}
		return local[id]
	}
	p := &program.Program{Name: "step"}
	for _, id := range in {
		from := input{carried: -1, data: now.written[id], id: id}
		if at, ok := made[id]; ok {
			from.carried = len(out)
			out = append(out, now.nodes[at.node].Outputs[at.at].ID)
		}
		d, known := types[id]
		if !known {
			return fmt.Errorf("input %v of the step is not known", id)
		}
		from.desc = d
		d.ID = name(id)
		p.Inputs = append(p.Inputs, d)
		x.inputs, x.donated = append(x.inputs, from), append(x.donated, now.freed[id] && (from.carried >= 0 || from.data != nil))
	}
	var first *op.Node // the first node that draws
	state := op.Desc{DType: dtype.I64, Shape: []int{2}}
	for i, n := range now.nodes {
		m := op.Node{Op: n.Op, Version: n.Version, Attrs: n.Attrs}
		switch {
		case n.Op == op.RandomBits:
			if first == nil {
				first, state.ID = &now.nodes[i], name(^op.TensorID(0))
				p.Inputs, x.donated = append(p.Inputs, state), append(x.donated, true)
				x.drawn = []int64{int64(n.Attrs.Int("seed")), int64(n.Attrs.Int("counter"))}
			}
			var err error
			if m, err = draw(n, first, state); err != nil {
				return err
			}
			m.Inputs, m.Outputs = nil, nil
			n.Inputs = []op.TensorID{^op.TensorID(0)}
		case len(n.Inputs) == 0 && n.Attrs.Int("counter") != 0:
			return fmt.Errorf("%v draws numbers, which a program would draw once", n.Op)
		}
		for _, id := range n.Inputs {
			m.Inputs = append(m.Inputs, name(id))
		}
		for _, d := range n.Outputs {
			d.ID = name(d.ID)
			m.Outputs = append(m.Outputs, d)
		}
		p.Nodes = append(p.Nodes, m)
	}
	x.loss = len(out)
	out = append(out, now.read[0])
	for _, id := range out {
		p.Outputs = append(p.Outputs, name(id))
		x.outputs, x.state = append(x.outputs, types[id]), append(x.state, id)
	}
	x.state[x.loss] = 0 // the host has released it
	x.nodes = len(p.Nodes)
	q, err := program.Compile(p, core.TargetOf("device", x.dev1), program.Options{Rewrite: true})
	if err != nil {
		return err
	}
	x.id, err = x.programs.Define(ctx, x.stream, q.Program, nil)
	return err
}

// step runs the program once and waits for the loss.
func (x *compiled) step(ctx context.Context) (float32, error) {
	run := core.Run{Program: x.id, Donated: x.donated}
	var free []op.TensorID
	for i, in := range x.inputs {
		id := in.id
		switch {
		case in.carried >= 0:
			id = x.state[in.carried]
		case in.data != nil:
			id = x.dev1.NewIDs(1)
			d := in.desc
			d.ID = id
			if err := x.stream.Write(ctx, d, in.data); err != nil {
				return 0, err
			}
			if !x.donated[i] {
				free = append(free, id)
			}
		}
		run.Inputs = append(run.Inputs, id)
	}
	if x.drawn != nil {
		d := op.Desc{ID: x.dev1.NewIDs(1), DType: dtype.I64, Shape: []int{2}}
		if err := x.stream.Write(ctx, d, dtype.Bytes(x.drawn)); err != nil {
			return 0, err
		}
		x.drawn[1] += drawsOfStep
		run.Inputs = append(run.Inputs, d.ID)
	}
	first := x.dev1.NewIDs(len(x.outputs))
	for i := range x.outputs {
		run.Outputs = append(run.Outputs, first+op.TensorID(i))
	}
	if err := x.programs.Run(x.stream, run); err != nil {
		return 0, err
	}
	for i, id := range x.state { // tensors that were neither passed on nor released
		if at := slices.Index(run.Inputs, id); id != 0 && (at < 0 || !x.donated[at]) {
			free = append(free, x.state[i])
		}
	}
	x.state = run.Outputs
	loss := make([]float32, 1)
	ticket := x.stream.Read(x.state[x.loss], dtype.Bytes(loss))
	if err := x.stream.Submit(nil, free); err != nil {
		return 0, err
	}
	err := ticket.Wait(ctx)
	return loss[0], err
}

// Turn implements bench.Contestant.
func (x *compiled) Turn(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		start := time.Now()
		if _, err := x.step(ctx); err != nil {
			return err
		}
		x.samples = append(x.samples, time.Since(start))
		if time.Now().After(end) {
			return nil
		}
	}
}

// Stats implements bench.Contestant.
func (x *compiled) Stats() bench.Stats { return bench.Summarize(x.samples) }
