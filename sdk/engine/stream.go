package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// stream is a queue of commands that one worker goroutine executes. Calls append to it. A caller that waits for an answer while
// the worker is idle executes the commands itself.
type stream[V any] struct {
	dev     *device[V]
	number  int // number among the streams of the device
	queue   Queue[V]
	async   Asynchronous[V] // nil for a synchronous queue
	checked Checked         // nil for a queue that does not say which command failed
	busy    Busy            // nil if the queue does not implement Busy
	closed  atomic.Bool
	quit    chan struct{} // closed by Close
	gone    chan struct{} // closed when Close has released the queue

	spare *pending // the batch that is being executed, or empty
	done  uint64   // number of executed commands
	order uint64   // counts failures, and nodes and runs that may fail late
	scratch[V]

	_         [128]byte  // keep these apart from fields that callers write while a command executes (false sharing)
	mu        sync.Mutex // guards pend, executing, asleep, held
	pend      *pending
	executing bool       // set by the worker or a waiter, which then has exclusive use of spare, done, order and scratch
	rest      *sync.Cond // signals that no goroutine executes any more
	asleep    bool       // the worker waits for wake
	held      bool       // the worker must not be woken
	wake      chan struct{}

	settling sync.Mutex // guards late
	late     lateness[V]

	failing  sync.Mutex // guards failures
	failures []failure  // not yet reported, in the order of the queue: some become known late
}

var _ core.Stream = (*stream[int])(nil)

// failure is an error and the position in the stream at which it occurred. order numbers everything that can fail: a position may have many
// nodes.
type failure struct {
	place, order uint64
	err          error
}

// maxFailures bounds the failures that are kept for reports. The first failures are kept.
const maxFailures = 16

func newStream[V any](d *device[V], q Queue[V]) *stream[V] {
	s := &stream[V]{dev: d, queue: q, wake: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}), asleep: true, pend: new(pending), spare: new(pending)}
	s.rest = sync.NewCond(&s.mu)
	s.async, _ = q.(Asynchronous[V])
	s.checked, _ = q.(Checked)
	s.busy, _ = q.(Busy)
	go s.work()
	return s
}

// fail records a failure of the executing command.
func (s *stream[V]) fail(err error) {
	s.order++
	s.failAt(failure{s.done, s.order, err})
}

func (s *stream[V]) failAt(f failure) {
	s.failing.Lock()
	defer s.failing.Unlock()
	at, _ := slices.BinarySearchFunc(s.failures, f.order, func(f failure, order uint64) int { return cmp.Compare(f.order, order) })
	s.failures = slices.Insert(s.failures, at, f)
	s.failures = s.failures[:min(len(s.failures), maxFailures)]
}

// report returns the first failure up to a position, and clears all failures up to there.
func (s *stream[V]) report(place uint64) error {
	s.failing.Lock()
	defer s.failing.Unlock()
	var first error
	s.failures = slices.DeleteFunc(s.failures, func(f failure) bool {
		if f.place > place {
			return false
		}
		if first == nil {
			first = f.err
		}
		return true
	})
	return first
}

// Submit implements core.Stream.
func (s *stream[V]) Submit(nodes []op.Node, free []op.TensorID) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	s.pend.submit(nodes, free)
	s.unlock()
	return nil
}

// checkWrite returns an error if desc and data are not a valid tensor.
func (s *stream[V]) checkWrite(what string, desc op.Desc, data []byte) error {
	name := s.dev.backend.name()
	switch {
	case s.closed.Load():
		return s.closedError()
	case !desc.DType.Valid():
		return fmt.Errorf("%s: %s %v: %w", name, what, desc, core.ErrDType)
	case desc.Shape.Check() != nil:
		return fmt.Errorf("%s: %s %v: %w", name, what, desc, core.ErrShape)
	case len(data) != desc.Bytes():
		return fmt.Errorf("%s: %s %v, got %d bytes, want %d: %w", name, what, desc, len(data), desc.Bytes(), core.ErrShape)
	}
	if limit := s.dev.author.Capabilities().Limits.Bytes; limit > 0 && int64(len(data)) > limit {
		return fmt.Errorf("%s: %s %v, at most %d bytes a tensor: %w", name, what, desc, limit, core.ErrUnsupported)
	}
	return nil
}

// Write implements core.Stream. It copies data at once and does not wait for earlier commands, unless memory is short.
func (s *stream[V]) Write(ctx context.Context, desc op.Desc, data []byte) error {
	if err := s.checkWrite("write", desc, data); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return s.dev.backend.canceled(ctx)
	}
	desc.Shape = desc.Shape.Clone()
	if s.async != nil {
		return s.enqueue(desc, append([]byte(nil), data...), func() {})
	}
	if err := s.dev.use(); err != nil {
		return err
	}
	defer s.dev.using.Done()
	v, err := s.upload(desc, data)
	if errors.Is(err, core.ErrOutOfMemory) { // frees that are still queued may release memory
		freed, e := s.signal()
		if e == nil {
			e = freed.reach(ctx)
		}
		if e != nil {
			return e
		}
		v, err = s.upload(desc, data)
	}
	if err != nil {
		return fmt.Errorf("%s: write %v: %w", s.dev.backend.name(), desc, err)
	}
	c, err := s.made(desc, v)
	if err != nil {
		s.dev.drop(c)
	}
	return err
}

// upload calls Device.Upload and turns panics into errors.
func (s *stream[V]) upload(desc op.Desc, data []byte) (v V, err error) {
	err = guard(func() (err error) { v, err = s.dev.author.Upload(desc, data); return err })
	return v, err
}

// made appends the definition of a tensor whose value exists. If it returns an error, the caller still holds the cell.
func (s *stream[V]) made(desc op.Desc, v V) (*cell[V], error) {
	c := s.dev.begin(new(cell[V]), &desc, nil)
	c.value = v
	return c, s.append(command{kind: doDefine, on: c})
}

// enqueue appends an upload. done is called when the queue has read data, or when the stream drops the upload.
func (s *stream[V]) enqueue(desc op.Desc, data []byte, done func()) error {
	return s.append(command{kind: doUpload, on: &upload{desc, data, done}})
}

// Close implements core.Stream.
func (s *stream[V]) Close() error {
	if s.closed.Swap(true) {
		return s.closedError()
	}
	close(s.quit)
	if i, ok := s.queue.(Interrupter); ok {
		i.Interrupt()
	}
	s.mu.Lock()
	for s.executing { // the executing node completes; no other begins
		s.rest.Wait()
	}
	rest := s.pend
	s.pend = new(pending)
	s.mu.Unlock()
	for i := range rest.commands {
		s.abandon(rest, &rest.commands[i])
	}
	_ = s.flush() // wait for the work of the executed commands
	s.queue.Close()
	d := s.dev
	d.mu.Lock()
	delete(d.streams, s)
	d.mu.Unlock()
	close(s.gone)
	return nil
}

// abandon releases the tensors that a dropped command holds, and frees the tensors that the command would have freed.
func (s *stream[V]) abandon(p *pending, c *command) {
	switch c.kind {
	case doNodes:
		s.abandonNodes(p.nodes[c.from:c.to])
	case doFree:
		for _, id := range p.ids[c.from:c.to] {
			s.abandonTensor(id)
		}
	case doRun:
		for i, given := range p.donated(c) {
			if given {
				s.abandonTensor(p.ids[c.from+i])
			}
		}
		s.leave()
		c.on.(*defined[V]).drop()
	case doDefine:
		s.enter()
		s.unhold(c.on.(*cell[V]))
	case doUpload:
		c.on.(*upload).done()
	case doCall:
		s.leave()
		if w := c.on.(*call); w.abandon != nil {
			w.abandon()
		}
	}
	s.leave()
}

// abandonNodes frees the tensors that nodes which will not be executed would have dropped.
func (s *stream[V]) abandonNodes(nodes []op.Node) {
	for i := range nodes {
		for k, id := range nodes[i].Inputs {
			if k < 64 && nodes[i].Drop>>k&1 != 0 {
				s.abandonTensor(id)
			}
		}
	}
}

// abandonTensor frees a tensor if it exists. It does not exist if the command that would have defined it was abandoned too.
func (s *stream[V]) abandonTensor(id op.TensorID) {
	s.enter()
	_ = s.free(id)
}

func (s *stream[V]) closedError() error {
	return fmt.Errorf("%s: stream: %w", s.dev.backend.name(), core.ErrClosed)
}

// guard calls an author's function and turns a panic into its error.
func guard(call func() error) (err error) {
	done := false
	defer func() {
		if !done {
			err = panicError(recover())
		}
	}()
	err = call()
	done = true
	return err
}

func panicError(v any) error { return fmt.Errorf("panic: %v: %w", v, core.ErrKernel) }
