package onnx

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// Session runs a model on a device. The first run with inputs of certain shapes traces the graph; later runs with inputs of the
// same shapes only execute the result. A Session is safe for concurrent use: runs execute concurrently, each on its own stream,
// and share one copy of the weights and one definition of each program. If several runs need the same trace, one of them traces
// and the others wait.
type Session struct {
	model   *Model
	dev     *tensor.Device
	options Options
	streams chan struct{} // one token for each run that may be in progress

	// tracing holds one token. Its owner may use the fields below and the data that traces share.
	tracing   chan struct{}
	serial    uint64
	constants map[any]*data // constants by *pb.Tensor or *pb.SparseTensor
	memo      map[string][]value
	instances map[*pb.Node]*graph
	owned     []*tensor.Tensor // tensors of shared constants
	held      int64            // bytes of the budget that shared constants use

	mu       sync.Mutex // guards the fields below and plans; held only briefly, and locked after tracing, never before
	closed   bool
	quiet    chan struct{} // closed when the session is closed and no run is in progress
	running  int
	tick     uint64
	plans    map[string]*plan
	programs map[string]*compiled
	stats    Stats
	queues   []*tensor.Device // queues without a run, least recently used first
}

// Stats contains counts of the runs of a session, and of the steps and programs that it keeps.
type Stats struct {
	Runs            int
	Hits            int // runs that executed only remembered steps
	Misses          int // runs that traced
	Specialisations int // remembered signatures
	Steps           int // remembered steps over all signatures
	Programs        int // programs defined on the device
}

// Open starts a session of the model on a device, which must stay open longer than the session. It does not read or upload
// anything yet. For a model with operators that are not implemented it returns an *UnsupportedError.
func (m *Model) Open(dev *tensor.Device) (*Session, error) {
	if err := m.Unsupported(); err != nil {
		return nil, err
	}
	s := &Session{model: m, options: m.options, streams: make(chan struct{}, m.options.MaxStreams), tracing: make(chan struct{}, 1),
		constants: map[any]*data{}, memo: map[string][]value{}, instances: map[*pb.Node]*graph{}, quiet: make(chan struct{}),
		plans: map[string]*plan{}, programs: map[string]*compiled{}}
	s.tracing <- struct{}{}
	// The session outlives the scope that it may be opened in.
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

// Model returns the model that the session runs.
func (s *Session) Model() *Model { return s.model }

// Device returns the device that the session runs on.
func (s *Session) Device() *tensor.Device { return s.dev }

func canceled(ctx context.Context) error {
	return fmt.Errorf("onnx: %w: %w", core.ErrCanceled, context.Cause(ctx))
}

// Run computes the outputs of the model, by name. It does not consume inputs. The results are new tensors that belong to the
// caller; they may still be in computation, so that errors of the device may surface when their content is read. An *InputError
// reports inputs that do not fit, a *NodeError a node that cannot be executed. When ctx ends, Run stops between two programs and
// returns core.ErrCanceled. More than Options.MaxStreams concurrent runs wait for one in progress to end.
func (s *Session) Run(ctx context.Context, inputs map[string]Value) (map[string]Value, error) {
	b, err := s.model.bind(inputs)
	if err != nil {
		return nil, err
	}
	r, err := s.enter(ctx, b, true)
	if err != nil {
		return nil, err
	}
	defer s.leave(r)
	outs, err := s.runOnce(ctx, r, b, nil)
	if err != nil {
		return nil, err
	}
	named := make(map[string]Value, len(outs))
	for i, o := range outs {
		name := s.model.outputs[i].Name
		named[name].Release() // the model lists the name twice
		named[name] = o
	}
	return named, nil
}

// enter waits for a stream and returns a new run, of the plan for the inputs or, unless remember is set, of a private plan.
func (s *Session) enter(ctx context.Context, b *binding, remember bool) (*run, error) {
	select {
	case s.streams <- struct{}{}:
	case <-ctx.Done():
		return nil, canceled(ctx)
	}
	r := &run{slots: slices.Clone(b.tensors), inputs: len(b.tensors), budget: s.model.budget}
	var gone trash
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.streams
		return nil, fmt.Errorf("onnx: session: %w", core.ErrClosed)
	}
	s.running++
	s.stats.Runs++
	if remember {
		r.plan = s.planOf(b.signature, &gone)
	} else {
		r.plan = &plan{forgotten: true}
	}
	r.plan.users++
	r.dev = s.idle()
	s.mu.Unlock()
	gone.empty()
	if r.dev == nil {
		var err error
		if r.dev, err = s.dev.NewStream(ctx); err != nil {
			s.leave(r)
			return nil, err
		}
	}
	return r, nil
}

// idle returns a queue whose work is known to be done, and removes it from the list. If there is none, it returns a busy queue if the limit
// on queues is reached, and nil otherwise. The caller holds mu.
func (s *Session) idle() *tensor.Device {
	at := slices.IndexFunc(s.queues, func(q *tensor.Device) bool { return q.Idle() })
	if at < 0 && len(s.queues)+s.running > s.options.MaxStreams {
		at = 0
	}
	if at < 0 {
		return nil
	}
	q := s.queues[at]
	s.queues = slices.Delete(s.queues, at, at+1)
	return q
}

// leave ends a run and releases its resources.
func (s *Session) leave(r *run) {
	var gone trash
	gone.tensors = r.lent
	r.budget.give(r.held)
	s.mu.Lock()
	for _, st := range r.loose {
		s.dropProgram(st.program, &gone)
	}
	if r.plan.users--; r.plan.users == 0 && r.plan.forgotten {
		s.drop(r.plan, &gone)
	}
	if r.dev != nil {
		s.queues = append(s.queues, r.dev)
	}
	if s.running--; s.running == 0 && s.closed {
		close(s.quiet)
	}
	s.mu.Unlock()
	gone.empty()
	<-s.streams
}

// runOnce executes the existing steps of the plan for the inputs, and traces the rest of the graph.
func (s *Session) runOnce(ctx context.Context, r *run, b *binding, report *Report) (outs []Value, err error) {
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
	}()
	at, done := link{}, 0
	for {
		st, err := s.claim(ctx, r.plan, at)
		if err != nil {
			return nil, err
		}
		if st == nil {
			break
		}
		if st.kind == stepFinish {
			s.count(func(st *Stats) { st.Hits++ })
			return r.finish(st)
		}
		a, err := r.execute(ctx, st)
		if err != nil {
			return nil, err
		}
		done++
		at = link{st, a.key()}
	}
	s.count(func(st *Stats) { st.Misses++ })
	st, err := s.trace(ctx, r, b, at, done, report)
	if err != nil {
		return nil, err
	}
	return r.finish(st)
}

func (s *Session) count(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

// Stats returns the current counts.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Specialisations, st.Programs = len(s.plans), len(s.programs)
	return st
}

// Close waits for runs in progress and releases everything that the session holds on the device. Results of earlier runs stay
// valid. Later runs return core.ErrClosed.
func (s *Session) Close() error {
	var gone trash
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	if first && s.running == 0 {
		close(s.quiet)
	}
	s.mu.Unlock()
	<-s.quiet
	s.mu.Lock()
	for s.forget(s.oldest(nil), &gone) {
	}
	queues := s.queues
	s.queues = nil
	s.mu.Unlock()
	<-s.tracing
	gone.tensors = append(gone.tensors, s.owned...)
	s.owned, s.constants, s.memo, s.instances = nil, nil, nil, nil
	s.model.budget.give(s.held)
	s.held = 0
	s.tracing <- struct{}{}
	gone.empty()
	for _, q := range queues {
		_ = q.Close() // failed work is reported by the results that depend on it
	}
	return nil
}

// debugPanics adds the stack to the error of an internal panic; tests set it.
var debugPanics = false

// finish returns the outputs, which then belong to the caller, and releases everything else.
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
