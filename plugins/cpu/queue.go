package cpu

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// kind says what a command does.
type kind uint8

const (
	doNodes    kind = iota // nodes[from:to]
	doFree                 // ids[from:to]
	doWrite                // arrays[from] becomes tensor id
	doFence                // fences[from] is closed
	doRun                  // program id; ids[from:to] are its inputs, ids[to:end] its outputs
	doUndefine             // program id
)

// command is an entry of the queue; what it works on stands in the queue's lists.
type command struct {
	kind          kind
	from, to, end int
	id            uint64
}

// queue is the commands that nobody has begun, with their operands. Two of them take turns, so that in steady state
// appending allocates nothing.
type queue struct {
	commands []command
	nodes    []op.Node
	ids      []op.TensorID
	arrays   []kernel.Array
	fences   []chan struct{}
}

func (q *queue) reset() {
	clear(q.nodes)
	clear(q.arrays)
	clear(q.fences)
	const keep = 1 << 14
	if cap(q.nodes) > keep {
		*q = queue{}
		return
	}
	q.commands, q.nodes, q.ids, q.arrays, q.fences = q.commands[:0], q.nodes[:0], q.ids[:0], q.arrays[:0], q.fences[:0]
}

// push appends to the queue and wakes the worker when it sleeps.
func (s *stream) push(add func(q *queue)) error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return closedError()
	}
	add(&s.queue)
	wake := s.asleep
	s.asleep = false
	s.mu.Unlock()
	if wake {
		s.wake <- struct{}{}
	}
	return nil
}

// work is the life of the worker.
func (s *stream) work() {
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		for more := true; more; {
			s.exec.Lock()
			s.drain()
			s.exec.Unlock()
			s.mu.Lock()
			more = len(s.queue.commands) > 0 && !s.closed.Load()
			s.asleep = !more
			s.mu.Unlock()
		}
	}
}

// drain executes until the queue is empty or the stream is closed. The caller holds exec.
func (s *stream) drain() {
	s.env.Pool.Hold()
	defer s.env.Pool.Release()
	for {
		s.mu.Lock()
		if len(s.queue.commands) == 0 || s.closed.Load() {
			s.mu.Unlock()
			return
		}
		s.queue, s.spare = s.spare, s.queue
		s.mu.Unlock()
		q := &s.spare
		for i := range q.commands {
			s.execute(q, &q.commands[i])
		}
		q.reset()
	}
}

// arrive waits until all commands before it are done and gives the caller exec, which it must unlock. With an error it
// gives nothing.
func (s *stream) arrive(ctx context.Context) error {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	if s.exec.TryLock() {
		// Nobody executes. Work that the context could not interrupt is left to the worker.
		if ctx.Done() == nil || s.idle() {
			s.drain()
			if s.closed.Load() {
				s.exec.Unlock()
				return closedError()
			}
			return nil
		}
		s.exec.Unlock()
	}
	fence := make(chan struct{})
	err := s.push(func(q *queue) {
		q.fences = append(q.fences, fence)
		q.commands = append(q.commands, command{kind: doFence, from: len(q.fences) - 1})
	})
	if err != nil {
		return err
	}
	select {
	case <-fence:
	case <-ctx.Done():
		return canceled(ctx)
	case <-s.quit:
		return closedError()
	}
	s.exec.Lock()
	if s.closed.Load() {
		s.exec.Unlock()
		return closedError()
	}
	return nil
}

func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue.commands) == 0
}
