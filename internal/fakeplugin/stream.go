package fakeplugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

type prog struct {
	p      *program.Program
	consts []value
}

// Stream is a queue of closures that a goroutine works off.
type Stream struct {
	b                                     *Backend
	panicSubmit, panicAt, hangAt, crashAt int
	slow                                  time.Duration
	closing                               chan struct{}

	mu        sync.Mutex
	cond      *sync.Cond
	queue     []func()
	busy      bool
	closed    bool
	submitted int
	ran       int
	values    map[op.TensorID]value
	failure   error
	programs  map[core.ProgramID]prog
	last      core.ProgramID
}

var (
	_ core.Stream      = (*Stream)(nil)
	_ core.Programs    = (*Stream)(nil)
	_ core.MemoryStats = (*Stream)(nil)
)

func (s *Stream) work() {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.cond.Wait()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		job := s.queue[0]
		s.queue = s.queue[1:]
		s.busy = true
		s.mu.Unlock()
		job()
		s.mu.Lock()
		s.busy = false
		s.cond.Broadcast()
		s.mu.Unlock()
	}
}

func (s *Stream) enqueue(job func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrClosed
	}
	s.queue = append(s.queue, job)
	s.cond.Broadcast()
	return nil
}

// Submit queues nodes.
func (s *Stream) Submit(nodes []op.Node) error {
	for i := range nodes {
		n := nodes[i]
		s.submitted++
		if s.submitted == s.panicSubmit {
			panic("submit fell over")
		}
		if err := s.enqueue(func() { s.node(&n, s.values) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) node(n *op.Node, values map[op.TensorID]value) {
	s.mu.Lock()
	s.ran++
	at := s.ran
	in := make([]value, len(n.Inputs))
	var err error
	for i, id := range n.Inputs {
		in[i] = values[id]
		if err == nil {
			err = in[i].err
		}
	}
	for i, id := range n.Inputs {
		if n.Drop>>i&1 != 0 {
			delete(values, id)
		}
	}
	s.mu.Unlock()
	switch at {
	case s.hangAt:
		<-s.closing
	case s.crashAt:
		crash()
	}
	if s.slow > 0 {
		time.Sleep(s.slow)
	}
	out := value{Desc: n.Outputs[0], err: err}
	if err == nil {
		out.data, out.err = s.kernel(n, in, at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && out.err != nil && s.failure == nil {
		s.failure = out.err
	}
	values[out.ID] = out
}

func (s *Stream) kernel(n *op.Node, in []value, at int) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: fmt.Errorf("panic: %v: %w", p, core.ErrKernel)}
		}
	}()
	if at == s.panicAt {
		panic("kernel fell over")
	}
	return compute(n, in), nil
}

// Free removes tensors.
func (s *Stream) Free(ids []op.TensorID) error {
	ids = append([]op.TensorID(nil), ids...)
	return s.enqueue(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range ids {
			if _, ok := s.values[id]; !ok && s.failure == nil {
				s.failure = fmt.Errorf("free %v: %w", id, core.ErrUnknownTensor)
			}
			delete(s.values, id)
		}
	})
}

// Write makes a tensor.
func (s *Stream) Write(_ context.Context, d op.Desc, data []byte) error {
	if s.b.opts["write"] == "fail" {
		return fmt.Errorf("write %v: %w", d, core.ErrOutOfMemory)
	}
	if t, err := time.ParseDuration(s.b.opts["slow_write"]); err == nil {
		time.Sleep(t)
	}
	v := value{Desc: d, data: append([]byte(nil), data...)}
	return s.enqueue(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.values[d.ID] = v
	})
}

// idle waits until the queue is worked off. mu is held when it succeeds.
func (s *Stream) idle(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cond.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	for (len(s.queue) > 0 || s.busy) && !s.closed && ctx.Err() == nil {
		s.cond.Wait()
	}
	switch {
	case s.closed:
		s.mu.Unlock()
		return core.ErrClosed
	case ctx.Err() != nil:
		s.mu.Unlock()
		return fmt.Errorf("%w: %w", core.ErrCanceled, context.Cause(ctx))
	}
	return nil
}

// Read waits and copies.
func (s *Stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := s.idle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	v, ok := s.values[id]
	switch {
	case !ok:
		return fmt.Errorf("read %v: %w", id, core.ErrUnknownTensor)
	case v.err != nil:
		return v.err
	}
	copy(dst, v.data)
	return nil
}

// Sync waits and reports the first failure.
func (s *Stream) Sync(ctx context.Context) error {
	if err := s.idle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	err := s.failure
	s.failure = nil
	return err
}

// Close ends the stream.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return core.ErrClosed
	}
	s.closed = true
	close(s.closing)
	s.cond.Broadcast()
	return nil
}

// Define keeps the program and its constants.
func (s *Stream) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	if err := s.idle(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	d := prog{p: p}
	for _, id := range consts {
		d.consts = append(d.consts, s.values[id])
	}
	s.last += 10
	s.programs[s.last] = d
	return s.last, nil
}

// Run queues one execution.
func (s *Stream) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	return s.enqueue(func() {
		s.mu.Lock()
		d := s.programs[id]
		local := map[op.TensorID]value{}
		for i, in := range d.p.Inputs {
			local[in.ID] = s.values[inputs[i]]
		}
		for i, c := range d.p.Consts {
			local[c.ID] = d.consts[i]
		}
		s.mu.Unlock()
		for i := range d.p.Nodes {
			s.node(&d.p.Nodes[i], local)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, out := range d.p.Outputs {
			v := local[out]
			v.ID = outputs[i]
			s.values[v.ID] = v
		}
	})
}

// Undefine forgets the program.
func (s *Stream) Undefine(id core.ProgramID) error {
	return s.enqueue(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.programs, id)
	})
}

// Memory counts the bytes of live tensors.
func (s *Stream) Memory() core.Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m core.Memory
	for _, v := range s.values {
		m.InUse += int64(len(v.data))
		m.Tensors++
	}
	m.Reserved = 2 * m.InUse
	return m
}
