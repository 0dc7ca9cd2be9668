package cpu

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
)

// stream is a queue that one goroutine works off. Calls append to the queue; a Read or Sync that finds the worker idle
// does the work itself.
type stream struct {
	backend *Backend
	env     kernel.Env
	alone   kernel.Env // env with one thread that cuts work as all of them would
	tensors atomic.Int64

	mu     sync.Mutex // guards queue, spare, asleep
	queue  queue
	asleep bool
	wake   chan struct{}
	closed atomic.Bool
	quit   chan struct{} // closed by Close

	exec  sync.Mutex // held by whoever executes; guards what follows
	spare queue
	state
}

var (
	_ core.Stream      = (*stream)(nil)
	_ core.Programs    = (*stream)(nil)
	_ core.MemoryStats = (*stream)(nil)
)

func newStream(b *Backend) *stream {
	s := &stream{backend: b, wake: make(chan struct{}, 1), quit: make(chan struct{}), asleep: true}
	s.env = kernel.Env{Pool: b.pool, Account: b.memory.NewAccount()}
	s.alone = kernel.Env{Pool: b.pool.Alone(), Account: s.env.Account}
	s.state.begin()
	go s.work()
	return s
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node) error {
	return s.push(func(q *queue) {
		from := len(q.nodes)
		q.nodes = append(q.nodes, nodes...)
		q.commands = append(q.commands, command{kind: doNodes, from: from, to: len(q.nodes)})
	})
}

// Free implements core.Stream.
func (s *stream) Free(ids []op.TensorID) error {
	return s.push(func(q *queue) {
		from := len(q.ids)
		q.ids = append(q.ids, ids...)
		q.commands = append(q.commands, command{kind: doFree, from: from, to: len(q.ids)})
	})
}

// Write implements core.Stream. It copies data at once and does not wait for earlier commands, unless memory is short.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	switch {
	case s.closed.Load():
		return closedError()
	case !d.DType.Valid():
		return fmt.Errorf("cpu: write %v: %w", d, core.ErrDType)
	case d.Shape.Check() != nil:
		return fmt.Errorf("cpu: write %v: %w", d, core.ErrShape)
	case len(data) != d.Bytes():
		return fmt.Errorf("cpu: write %v, got %d bytes, want %d: %w", d, len(data), d.Bytes(), core.ErrShape)
	}
	buf, err := s.newBuffer(ctx, d.Bytes())
	if err != nil {
		return fmt.Errorf("cpu: write %v: %w", d, err)
	}
	to := buf.Bytes()
	if d.DType == dtype.Bool {
		for i, v := range data {
			to[i] = min(v, 1)
		}
	} else {
		copy(to, data)
	}
	a := kernel.Array{Buf: buf, DType: d.DType, View: shape.Contiguous(d.Shape.Clone())}
	err = s.push(func(q *queue) {
		q.arrays = append(q.arrays, a)
		q.commands = append(q.commands, command{kind: doWrite, from: len(q.arrays) - 1, id: uint64(d.ID)})
	})
	if err != nil {
		buf.Release()
	}
	return err
}

// newBuffer makes room for what is written; when there is none, frees that are still in the queue may give some.
func (s *stream) newBuffer(ctx context.Context, n int) (*mem.Buffer, error) {
	b, err := s.env.Account.New(n)
	if err == nil {
		return b, nil
	}
	if e := s.arrive(ctx); e != nil {
		return nil, e
	}
	defer s.exec.Unlock()
	return s.env.Account.New(n)
}

// Read implements core.Stream.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	if err := s.arrive(ctx); err != nil {
		return err
	}
	defer s.exec.Unlock()
	t := s.live[id]
	switch {
	case t == nil:
		return fmt.Errorf("cpu: read %v: %w", id, s.missing(id))
	case t.err != nil:
		return t.err
	}
	if want := t.Size() * t.DType.Size(); len(dst) != want {
		return fmt.Errorf("cpu: read %v, got room for %d bytes, want %d: %w", id, len(dst), want, core.ErrShape)
	}
	kernel.Read(s.env.Pool, dst, t.Array)
	return nil
}

// Sync implements core.Stream.
func (s *stream) Sync(ctx context.Context) error {
	if err := s.arrive(ctx); err != nil {
		return err
	}
	defer s.exec.Unlock()
	err := s.failure
	s.failure = nil
	return err
}

// Memory implements core.MemoryStats. Reserved is that of the whole backend.
func (s *stream) Memory() core.Memory {
	return core.Memory{InUse: s.env.Account.InUse(), Reserved: s.env.Account.Pool().Reserved(), Tensors: s.tensors.Load()}
}

// CheckGuards reports the first write into a guard band of the backend's tensors. Without the option guard_bands it has
// nothing to report. Commands that are not done yet are not looked at: Sync before.
func (s *stream) CheckGuards() error { return s.env.Account.Pool().CheckGuards() }

// Close implements core.Stream.
func (s *stream) Close() error {
	if s.closed.Swap(true) {
		return closedError()
	}
	close(s.quit)
	s.exec.Lock() // the node that runs ends, no other begins
	defer s.exec.Unlock()
	s.mu.Lock()
	for _, a := range s.queue.arrays {
		if a.Buf != nil {
			a.Buf.Release()
		}
	}
	s.queue = queue{}
	s.mu.Unlock()
	s.freeAll()
	s.backend.forget(s)
	return nil
}

func closedError() error { return fmt.Errorf("cpu: stream: %w", core.ErrClosed) }
