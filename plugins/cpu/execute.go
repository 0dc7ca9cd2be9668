package cpu

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// tensor is an array, or the error that stands in its place.
type tensor struct {
	kernel.Array
	err error
}

// state is what executing commands works on.
type state struct {
	live       map[op.TensorID]*tensor
	programs   map[core.ProgramID]*plan
	next       core.ProgramID
	failure    error  // first since the last Sync
	generation uint16 // greatest seen

	idleTensors []*tensor
	call        kernel.Call
	arrays      []kernel.Array
	descs       []op.Desc
	outs        []kernel.Array
}

func (st *state) begin() {
	st.live, st.programs = map[op.TensorID]*tensor{}, map[core.ProgramID]*plan{}
}

func (s *stream) execute(q *queue, c *command) {
	switch c.kind {
	case doNodes:
		for i := c.from; i < c.to; i++ {
			if s.closed.Load() {
				return
			}
			s.executeNode(&q.nodes[i])
		}
	case doFree:
		for _, id := range q.ids[c.from:c.to] {
			if !s.release(id) {
				s.fail(fmt.Errorf("cpu: free %v: %w", id, s.missing(id)))
			}
		}
	case doWrite:
		s.define(op.TensorID(c.id), q.arrays[c.from], nil)
		q.arrays[c.from] = kernel.Array{}
	case doFence:
		close(q.fences[c.from])
	case doRun:
		s.executeRun(core.ProgramID(c.id), q.ids[c.from:c.to], q.ids[c.to:c.end])
	case doUndefine:
		s.undefine(core.ProgramID(c.id))
	}
}

func (st *state) fail(err error) {
	if st.failure == nil {
		st.failure = err
	}
}

// missing is the error for an id that is not live.
func (st *state) missing(id op.TensorID) error {
	if id.Generation() < st.generation {
		return core.ErrStale
	}
	return core.ErrUnknownTensor
}

// define makes a tensor of an array, which it takes over, or of an error.
func (s *stream) define(id op.TensorID, a kernel.Array, err error) {
	if s.release(id) {
		s.fail(fmt.Errorf("cpu: %v is defined twice: %w", id, core.ErrProtocol))
	}
	s.generation = max(s.generation, id.Generation())
	var t *tensor
	if n := len(s.idleTensors); n > 0 {
		t = s.idleTensors[n-1]
		s.idleTensors = s.idleTensors[:n-1]
	} else {
		t = new(tensor)
	}
	t.Array, t.err = a, err
	s.live[id] = t
	s.tensors.Add(1)
}

// release gives a tensor up; it is false when there is none of that id.
func (s *stream) release(id op.TensorID) bool {
	t := s.live[id]
	if t == nil {
		return false
	}
	delete(s.live, id)
	s.tensors.Add(-1)
	if t.Buf != nil {
		t.Buf.Release()
	}
	*t = tensor{}
	if len(s.idleTensors) < 1024 {
		s.idleTensors = append(s.idleTensors, t)
	}
	return true
}

func (s *stream) freeAll() {
	for id := range s.programs {
		s.undefine(id)
	}
	for id := range s.live {
		s.release(id)
	}
}

// executeNode runs one node; a failure goes to its outputs.
func (s *stream) executeNode(n *op.Node) {
	s.arrays, s.descs = s.arrays[:0], s.descs[:0]
	var err error
	fresh := false // the failure begins here
	for _, id := range n.Inputs {
		t := s.live[id]
		switch {
		case t == nil:
			if err == nil {
				err, fresh = fmt.Errorf("input %v: %w", id, s.missing(id)), true
			}
		case t.err != nil:
			if err == nil || fresh {
				err, fresh = t.err, false
			}
		default:
			s.arrays = append(s.arrays, t.Array)
			s.descs = append(s.descs, op.Desc{ID: id, DType: t.DType, Shape: t.View.Shape})
		}
	}
	s.outs = growTo(s.outs, len(n.Outputs))
	if err == nil {
		if err = s.compute(n); err != nil {
			fresh = true
		}
	}
	if fresh {
		err = &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: err}
		s.fail(err)
	}
	if n.Drop != 0 {
		for i, id := range n.Inputs[:min(len(n.Inputs), 64)] {
			if n.Drop>>i&1 != 0 {
				s.release(id)
			}
		}
	}
	for i, d := range n.Outputs {
		s.define(d.ID, s.outs[i], err)
		s.outs[i] = kernel.Array{}
	}
	clear(s.arrays)
}

// compute finds the kernel of a node and runs it on s.arrays into s.outs.
func (s *stream) compute(n *op.Node) error {
	f, err := prepare(n, s.descs)
	if err != nil {
		return err
	}
	return s.invoke(f, s.arrays, n.Drop, n.Outputs, s.outs)
}

// prepare makes the kernel for a node, or ErrUnsupported.
func prepare(n *op.Node, in []op.Desc) (f kernel.Func, err error) {
	defer func() {
		if v := recover(); v != nil {
			f, err = nil, panicError(v)
		}
	}()
	table := ruleTable()
	if int(n.Op) >= len(table) || table[n.Op].Prepare == nil || !table[n.Op].Types.Has(n.FirstType(in)) ||
		n.Version != op.Lookup(n.Op).Version {
		return nil, fmt.Errorf("no kernel: %w", core.ErrUnsupported)
	}
	if f = table[n.Op].Prepare(n, in); f == nil {
		return nil, fmt.Errorf("no kernel: %w", core.ErrUnsupported)
	}
	return f, nil
}

// invoke runs a kernel; what it panics with becomes its error.
func (s *stream) invoke(f kernel.Func, in []kernel.Array, own uint64, desc []op.Desc, out []kernel.Array) error {
	return s.invokeWith(&s.env, f, in, own, desc, out, kernel.Array{})
}

// invokeWith is invoke on the threads of env, with a place for the first result.
func (s *stream) invokeWith(env *kernel.Env, f kernel.Func, in []kernel.Array, own uint64, desc []op.Desc, out []kernel.Array, into kernel.Array) (err error) {
	s.call.Begin(env, in, own, desc, out)
	s.call.Into = into
	done := false
	defer func() {
		if !done {
			err = panicError(recover())
		}
		s.call.End(err != nil)
	}()
	err = f(&s.call)
	done = true
	return err
}

func panicError(v any) error {
	if p, ok := v.(*par.Panic); ok {
		v = p.Value
	}
	var short kernel.NoMemory
	if err, ok := v.(error); ok && errors.As(err, &short) {
		return short.Err
	}
	return fmt.Errorf("panic: %v: %w", v, core.ErrKernel)
}

func growTo(s []kernel.Array, n int) []kernel.Array {
	for len(s) < n {
		s = append(s, kernel.Array{})
	}
	return s[:n]
}
