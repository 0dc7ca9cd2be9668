package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// Session runs a model on a device. What a first run with inputs of certain shapes works out is remembered, and later
// runs with inputs of the same shapes only execute it. A Session is safe for concurrent use; its runs take turns.
type Session struct {
	model   *Model
	dev     *tensor.Device
	options Options

	turn chan struct{} // holds one token; its owner uses everything below

	closed    bool
	serial    uint64
	tick      uint64
	constants map[any]*data // by *pb.Tensor or *pb.SparseTensor
	memo      map[string][]value
	instances map[*pb.Node]*graph
	owned     []*tensor.Tensor // of shared constants
	plans     map[string]*plan
	programs  map[string]*compiled
	stats     Stats
}

// Stats counts what a session did and holds.
type Stats struct {
	Runs            int
	Hits            int // runs that executed only what was remembered
	Misses          int // runs that traced
	Specialisations int // signatures that are remembered
	Steps           int // over all signatures
	Programs        int // defined on the device
}

// compiled is a program on the device that steps share.
type compiled struct {
	key  string
	exec *tensor.Executable
	uses int
}

// Open starts a session of the model on a device, which must stay open for longer. It reads and uploads nothing yet. A
// model with operators that are not implemented gives an *UnsupportedError.
func (m *Model) Open(dev *tensor.Device) (*Session, error) {
	if err := m.Unsupported(); err != nil {
		return nil, err
	}
	s := &Session{model: m, options: m.options, turn: make(chan struct{}, 1), constants: map[any]*data{}, memo: map[string][]value{},
		instances: map[*pb.Node]*graph{}, plans: map[string]*plan{}, programs: map[string]*compiled{}}
	s.turn <- struct{}{}
	// The session outlives a scope that it may be opened in.
	err := tensor.Try(func() {
		x := dev.Op(op.Full, nil, op.ScalarInt("value", 0), op.Type("dtype", dtype.Bool), op.Ints("shape"))[0]
		s.dev = x.Device()
		x.Release()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Model is the model that the session runs.
func (s *Session) Model() *Model { return s.model }

// Device is where the session runs.
func (s *Session) Device() *tensor.Device { return s.dev }

func canceled(ctx context.Context) error {
	return fmt.Errorf("onnx: %w: %w", core.ErrCanceled, context.Cause(ctx))
}

// take waits for the caller's turn.
func (s *Session) take(ctx context.Context) error {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return canceled(ctx)
	}
	if s.closed {
		s.turn <- struct{}{}
		return fmt.Errorf("onnx: session: %w", core.ErrClosed)
	}
	return nil
}

func (s *Session) give() { s.turn <- struct{}{} }

// Run computes the outputs of the model, by name. inputs are not consumed. The results are new tensors that belong to
// the caller; they may not be computed yet, so faults of the device may arrive with their content. An *InputError says
// that the inputs do not fit, a *NodeError that a node cannot be executed. When ctx ends, Run stops between two programs
// and returns core.ErrCanceled.
func (s *Session) Run(ctx context.Context, inputs map[string]Value) (map[string]Value, error) {
	b, err := s.model.bind(inputs)
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	s.stats.Runs++
	outs, err := s.runOnce(ctx, s.planOf(b.signature), b, nil)
	if err != nil {
		return nil, err
	}
	named := make(map[string]Value, len(outs))
	for i, o := range outs {
		name := s.model.outputs[i].Name
		named[name].Release() // a name that is listed twice
		named[name] = o
	}
	return named, nil
}

// runOnce follows the plan of the inputs as far as it goes and traces the rest.
func (s *Session) runOnce(ctx context.Context, p *plan, b *binding, report *Report) (outs []Value, err error) {
	r := &run{plan: p, slots: slices.Clone(b.tensors), inputs: len(b.tensors)}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("onnx: internal: panic: %v", p)
			if debugPanics {
				err = fmt.Errorf("%w\n%s", err, debug.Stack())
			}
		}
		if err != nil {
			r.release()
		}
		s.leave(r)
	}()
	at, done := link{}, 0
	for st := r.plan.at(at); st != nil; st = r.plan.at(at) {
		if st.kind == stepFinish {
			s.stats.Hits++
			return r.finish(st)
		}
		a, err := s.execute(ctx, r, st)
		if err != nil {
			return nil, err
		}
		done++
		at = link{st, a.key()}
	}
	s.stats.Misses++
	st, err := s.trace(ctx, r, b, at, done, report)
	if err != nil {
		return nil, err
	}
	return r.finish(st)
}

// debugPanics adds the stack to the error of an internal panic; tests set it.
var debugPanics = false

// finish hands the outputs over and frees the rest.
func (r *run) finish(st *step) (outs []Value, err error) {
	outs = make([]Value, len(st.outputs))
	err = tensor.Try(func() {
		for i, o := range st.outputs {
			outs[i] = r.hand(o)
		}
	})
	if err != nil {
		return nil, err
	}
	var handed func(o output)
	handed = func(o output) {
		if o.kind == TensorKind && o.constant == nil && !o.copy {
			r.slots[o.slot] = nil
		}
		for _, e := range o.items {
			handed(e)
		}
	}
	for _, o := range st.outputs {
		handed(o)
	}
	r.release()
	return outs, nil
}

// trace continues r, which stopped at a place without a step, by walking the graph.
func (s *Session) trace(ctx context.Context, r *run, b *binding, at link, done int, report *Report) (st *step, err error) {
	t := &tracer{ctx: ctx, s: s, now: r, seg: newSegment(), done: done, inputs: len(b.tensors), report: report}
	defer t.settle()
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(fault)
			if !ok {
				panic(p)
			}
			err = f.err
			var ne *NodeError
			if !errors.As(err, &ne) {
				err = fmt.Errorf("onnx: %w", err)
			}
		}
	}()
	env := map[string]value{}
	for i, x := range b.tensors {
		d := t.newData(x.DType(), x.Shape())
		d.slot = i
		t.slots = append(t.slots, d)
	}
	next := 0
	for i, name := range b.names {
		env[name] = b.values[i].traced(func() value {
			next++
			return tensorOf(t.slots[next-1])
		})
	}
	outs := t.walk(&scope{g: s.model.main, env: env})
	return t.finish(outs), nil
}

// compile defines a program, or finds it among those that are defined.
func (s *Session) compile(t *tracer, p *program.Program, consts []*data) (*compiled, error) {
	key := keyOf(p, consts)
	if c := s.programs[key]; c != nil {
		c.uses++
		return c, nil
	}
	p, consts = s.composed(t, p, consts)
	args := make([]*tensor.Tensor, len(consts))
	for i, c := range consts {
		args[i] = t.device(c)
	}
	exec, err := s.dev.Compile(t.ctx, p, args)
	if err != nil {
		return nil, err
	}
	c := &compiled{key: key, exec: exec, uses: 1}
	s.programs[key] = c
	return c, nil
}

// composed is p with the composite ops that the device has in place of what exporters write for them, and its constants.
func (s *Session) composed(t *tracer, p *program.Program, consts []*data) (*program.Program, []*data) {
	b, w := s.dev.Core().Backend, withOrigins(p, consts)
	q := w.p.Rewrite(func(i int) []byte { return t.content(w.consts[i]) },
		func(n *op.Node, in []op.Desc) bool { return b.Supports(n, in) == nil })
	if q == &w.p {
		return p, consts
	}
	return w.settle(q)
}

// tensorOf is the constant of a tensor of the model.
func (s *Session) tensorOf(p *pb.Tensor) (*data, error) {
	if d := s.constants[p]; d != nil {
		return d, nil
	}
	et, err := elementType(p.DataType)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", clip(p.Name), err)
	}
	dims := make(shape.Shape, len(p.Dims))
	for i, v := range p.Dims {
		dims[i] = toInt(v)
	}
	if err := dims.Check(); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", clip(p.Name), err)
	}
	b, err := p.Bytes(nil)
	if err != nil {
		return nil, err
	}
	return s.shared(p, et, dims, b), nil
}

func (s *Session) shared(key any, et dtype.DType, dims shape.Shape, b []byte) *data {
	if b == nil {
		b = []byte{}
	}
	s.serial++
	d := &data{dtype: et, shape: dims, serial: s.serial, host: b, constant: true, shared: true, slot: -1}
	s.constants[key] = d
	return d
}
