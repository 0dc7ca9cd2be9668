package shared

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// stream is a queue of calls that one goroutine makes, one after the other: that is all the order and concurrency that the
// shared object sees of it.
type stream struct {
	backend *Backend
	handle  uintptr

	mu     sync.Mutex // guards queue, closed
	queue  []*request
	closed bool
	wake   chan struct{}
	ended  chan struct{} // closed when the worker is done

	usage   sync.RWMutex // held for reading while memory is asked for
	gone    bool         // guarded by usage: the object's stream is closed
	failure error        // of a one-way call, for the next Sync; the worker's own
}

var (
	_ core.Stream      = (*stream)(nil)
	_ core.MemoryStats = statsStream{}
)

// request is a call in the queue. done is nil for one-way calls.
type request struct {
	run  func() error
	done chan error

	mu      sync.Mutex
	taken   bool
	dropped bool // by a caller that does not wait any more
	sticky  bool // an error that nobody waits for is told by the next Sync
}

// push appends to the queue.
func (s *stream) push(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedError()
	}
	s.queue = append(s.queue, r)
	if len(s.queue) == 1 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// work makes the calls of the queue until the stream is closed.
func (s *stream) work() {
	defer close(s.ended)
	for {
		s.mu.Lock()
		q, closed := s.queue, s.closed
		s.queue = nil
		s.mu.Unlock()
		for i, r := range q {
			if closed || i%64 == 63 && s.isClosed() {
				s.refuse(q[i:])
				q = nil
				break
			}
			s.perform(r)
		}
		switch {
		case closed:
			s.finish()
			return
		case len(q) == 0:
			<-s.wake
		}
	}
}

func (s *stream) perform(r *request) {
	r.mu.Lock()
	dropped := r.dropped
	r.taken = true
	r.mu.Unlock()
	if dropped {
		return
	}
	err := r.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done != nil && !r.dropped:
		r.done <- err
	case err != nil && s.failure == nil && (r.done == nil || r.sticky):
		s.failure = err
	}
}

func (s *stream) refuse(q []*request) {
	for _, r := range q {
		if r.done != nil {
			r.done <- s.closedError()
		}
	}
}

func (s *stream) finish() {
	s.mu.Lock()
	s.refuse(s.queue)
	s.queue = nil
	s.mu.Unlock()
	s.usage.Lock()
	defer s.usage.Unlock()
	purego.SyscallN(s.backend.lib.api.closeStream, s.handle)
	s.gone = true
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// wait queues a call and waits for it. When ctx ends before the call is made, it is not; when it ends meanwhile, the call
// goes on alone if it may be left behind, and is waited for if not.
func (s *stream) wait(ctx context.Context, leave bool, r *request) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	r.done = make(chan error, 1)
	if err := s.push(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	r.mu.Lock()
	wait := len(r.done) > 0 || r.taken && !leave
	r.dropped = !wait
	r.mu.Unlock()
	if wait {
		return <-r.done
	}
	return canceled(ctx)
}

func (s *stream) call(f uintptr, args ...uintptr) error {
	return call(s.backend.names, f, append([]uintptr{s.handle}, args...)...)
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node) error {
	a := new(arena)
	packed, names := make([]uintptr, len(nodes)), map[string]uintptr{}
	for i := range nodes {
		n := &nodes[i]
		number, ok := s.backend.number[n.Op]
		if !ok || n.Version != op.Lookup(n.Op).Version {
			return fmt.Errorf("%s: %v version %d: %w", s.backend.info.Name, n.Op, n.Version, core.ErrUnsupported)
		}
		packed[i] = a.node(number, n, names)
	}
	list := putAll(a, packed)
	return s.push(&request{run: func() error {
		defer runtime.KeepAlive(a)
		return s.call(s.backend.lib.api.submit, list, uintptr(len(packed)))
	}})
}

// Free implements core.Stream.
func (s *stream) Free(ids []op.TensorID) error {
	a := new(arena)
	list, n := putAll(a, ids), len(ids)
	return s.push(&request{run: func() error {
		defer runtime.KeepAlive(a)
		return s.call(s.backend.lib.api.freeTensors, list, uintptr(n))
	}})
}

// Write implements core.Stream.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	name := s.backend.info.Name
	switch {
	case s.isClosed():
		return s.closedError()
	case !d.DType.Valid() || !s.backend.caps.Types.Has(d.DType):
		return fmt.Errorf("%s: write %v: %w", name, d, core.ErrDType)
	case d.Shape.Check() != nil || len(d.Shape) > s.backend.caps.MaxRank:
		return fmt.Errorf("%s: write %v: %w", name, d, core.ErrShape)
	case len(data) != d.Bytes():
		return fmt.Errorf("%s: write %v, got %d bytes, want %d: %w", name, d, len(data), d.Bytes(), core.ErrShape)
	}
	var a arena
	desc := a.desc(d)
	err := s.wait(ctx, false, &request{run: func() error {
		return s.call(s.backend.lib.api.write, desc, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
	}})
	runtime.KeepAlive(a)
	runtime.KeepAlive(data)
	return err
}

// Read implements core.Stream. With a context that may end, data takes a way over a buffer that may be left behind.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	buffer := dst
	if ctx.Done() != nil {
		buffer = make([]byte, len(dst))
	}
	err := s.wait(ctx, true, &request{run: func() error {
		defer runtime.KeepAlive(buffer)
		return s.call(s.backend.lib.api.read, uintptr(id), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)))
	}})
	if err == nil && ctx.Done() != nil {
		copy(dst, buffer)
	}
	return err
}

// Sync implements core.Stream.
func (s *stream) Sync(ctx context.Context) error {
	return s.wait(ctx, true, &request{sticky: true, run: func() error {
		err := s.call(s.backend.lib.api.sync)
		if s.failure != nil {
			err, s.failure = s.failure, nil
		}
		return err
	}})
}

// Close implements core.Stream.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.closedError()
	}
	s.closed = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	<-s.ended
	s.backend.forget(s)
	return nil
}

// statsStream is a stream of a backend that knows its memory use.
type statsStream struct{ *stream }

// Memory implements core.MemoryStats.
func (s statsStream) Memory() core.Memory {
	s.usage.RLock()
	defer s.usage.RUnlock()
	if s.gone {
		return core.Memory{}
	}
	var a arena
	m := (*cMemory)(a.bytes(int(unsafe.Sizeof(cMemory{}))))
	m.head = headOf[cMemory]()
	purego.SyscallN(s.backend.lib.api.memory, s.handle, uintptr(unsafe.Pointer(m)))
	return core.Memory{InUse: m.inUse, Reserved: m.reserved, Tensors: m.tensors}
}

func (s *stream) closedError() error {
	return fmt.Errorf("%s: stream: %w", s.backend.info.Name, core.ErrClosed)
}
