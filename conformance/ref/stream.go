package ref

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// stream runs every command before it returns. The lock is for Memory and for the backend's Close.
type stream struct {
	backend *Backend

	mu       sync.Mutex
	closed   bool
	tensors  map[op.TensorID]slot
	programs map[core.ProgramID]*defined
	lastID   core.ProgramID
	failed   error // the first failure since the last Sync
	// generation is the greatest of any id seen: ids of an older one are stale.
	generation uint16
}

// missing is the error for an id that is not there.
func (s *stream) missing(id op.TensorID) error {
	if id.Generation() < s.generation {
		return core.ErrStale
	}
	return core.ErrUnknownTensor
}

// maxResult bounds the bytes of one result, so that a node beyond any machine fails by itself.
const maxResult = 1 << 32

// slot is a tensor or, when err is set, the reason that there is none.
type slot struct {
	t   Tensor
	err error
}

var (
	_ core.Stream      = (*stream)(nil)
	_ core.Programs    = (*stream)(nil)
	_ core.MemoryStats = (*stream)(nil)
)

// enter locks the stream and reports that it is closed.
func (s *stream) enter() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("ref: stream: %w", core.ErrClosed)
	}
	return nil
}

func (s *stream) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for i := range nodes {
		s.step(&nodes[i], s.tensors)
	}
	return nil
}

// step runs one node on tensors.
func (s *stream) step(n *op.Node, tensors map[op.TensorID]slot) {
	outs, err := s.run(n, tensors)
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			delete(tensors, id)
		}
	}
	for i, d := range n.Outputs {
		if err != nil {
			tensors[d.ID] = slot{t: Tensor{Desc: d}, err: err}
			continue
		}
		tensors[d.ID] = slot{t: outs[i]}
	}
}

// run computes one node. Its error is what the outputs are poisoned with.
func (s *stream) run(n *op.Node, tensors map[op.TensorID]slot) (outs []Tensor, err error) {
	in, descs := make([]Tensor, len(n.Inputs)), make([]op.Desc, len(n.Inputs))
	for i, id := range n.Inputs {
		v, ok := tensors[id]
		if v.err != nil {
			return nil, v.err // that of the first node
		}
		if !ok {
			err = fmt.Errorf("input %d is %v: %w", i, id, s.missing(id))
		}
		in[i], descs[i] = v.t, v.t.Desc
	}
	if err == nil {
		err = s.backend.Supports(n, descs)
	}
	for _, d := range n.Outputs {
		if err == nil && d.Bytes() > maxResult {
			err = fmt.Errorf("result %v: %w", d, core.ErrOutOfMemory)
		}
	}
	if err == nil {
		outs, err = s.guarded(n, in)
	}
	if err != nil {
		err = &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: err}
		s.fail(err)
	}
	return outs, err
}

// guarded turns a panic of a kernel into its node's error.
func (s *stream) guarded(n *op.Node, in []Tensor) (outs []Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", core.ErrKernel, r)
		}
	}()
	return s.backend.eval(n, in)
}

// Free implements core.Stream.
func (s *stream) Free(ids []op.TensorID) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, ok := s.tensors[id]; !ok {
			s.fail(fmt.Errorf("ref: free %v: %w", id, s.missing(id)))
		}
		delete(s.tensors, id)
	}
	return nil
}

// Write implements core.Stream.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if err := canceled(ctx); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !d.DType.Valid() {
		return fmt.Errorf("ref: write %v: %w", d, core.ErrDType)
	}
	if err := d.Shape.Check(); err != nil {
		return fmt.Errorf("ref: write: %w", err)
	}
	t, err := FromBytes(d, data)
	if err != nil {
		return err
	}
	s.tensors[d.ID] = slot{t: t}
	s.generation = max(s.generation, d.ID.Generation())
	return nil
}

// Read implements core.Stream.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := canceled(ctx); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	v, ok := s.tensors[id]
	switch {
	case !ok:
		return fmt.Errorf("ref: read %v: %w", id, s.missing(id))
	case v.err != nil:
		return v.err
	case len(dst) != v.t.Desc.Bytes():
		return fmt.Errorf("ref: read %v: %d bytes, want %d: %w", id, len(dst), v.t.Desc.Bytes(), core.ErrShape)
	}
	copy(dst, v.t.Bytes())
	return nil
}

// Sync implements core.Stream.
func (s *stream) Sync(ctx context.Context) error {
	if err := canceled(ctx); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	err := s.failed
	s.failed = nil
	return err
}

// Memory implements core.MemoryStats.
func (s *stream) Memory() core.Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := core.Memory{Tensors: int64(len(s.tensors))}
	for _, v := range s.tensors {
		if v.err == nil {
			m.InUse += int64(v.t.Desc.Bytes())
		}
	}
	for _, p := range s.programs {
		for _, c := range p.consts {
			m.InUse += int64(c.t.Desc.Bytes())
		}
	}
	m.Reserved = m.InUse
	return m
}

// Close implements core.Stream.
func (s *stream) Close() error {
	s.backend.mu.Lock()
	delete(s.backend.streams, s)
	s.backend.mu.Unlock()
	s.end()
	return nil
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.tensors, s.programs = true, nil, nil
}
