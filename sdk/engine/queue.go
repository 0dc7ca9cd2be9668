package engine

import (
	"context"

	"github.com/goburn/burn/core/op"
)

// kind says what a command does.
type kind uint8

const (
	doNodes  kind = iota // nodes[from:to]
	doFree               // ids[from:to]
	doDefine             // a *cell becomes a tensor
	doUpload             // an *upload
	doRun                // a *defined; ids[from:mid] are its inputs, ids[mid:to] its outputs, masks[mask:] its donations
	doSignal             // an *event is reached
	doAwait              // later commands follow an *event
	doRead               // a *ticket is resolved
	doCall               // a *call
)

// command is an entry of the queue. The lists of its operands are in pending.
type command struct {
	kind          kind
	from, mid, to int
	mask          int // -1: nothing is donated
	on            any // its type depends on kind
}

// call is work of the engine itself in the order of the queue.
type call struct {
	do      func()
	abandon func() // is called instead if the stream is closed first; may be nil
}

// upload is a tensor that is created from host memory in the order of the queue.
type upload struct {
	desc op.Desc
	data []byte
	done func() // called when data has been read
}

// pending contains the commands that have not begun, with their operands. The stream alternates between two of them, so that appending does
// not allocate in steady state.
type pending struct {
	commands []command
	nodes    []op.Node
	ids      []op.TensorID
	masks    []bool
}

func (p *pending) add(c command) { p.commands = append(p.commands, c) }

// submit appends nodes, then the release of tensors.
func (p *pending) submit(nodes []op.Node, free []op.TensorID) {
	if len(nodes) > 0 {
		from := len(p.nodes)
		p.nodes = append(p.nodes, nodes...)
		if last := len(p.commands) - 1; last >= 0 && p.commands[last].kind == doNodes {
			p.commands[last].to = len(p.nodes)
		} else {
			p.add(command{kind: doNodes, from: from, to: len(p.nodes)})
		}
	}
	if len(free) > 0 {
		from := len(p.ids)
		p.ids = append(p.ids, free...)
		p.add(command{kind: doFree, from: from, to: len(p.ids)})
	}
}

func (p *pending) reset() {
	const keep = 1 << 14
	if cap(p.nodes) > keep || cap(p.commands) > keep {
		*p = pending{}
		return
	}
	clear(p.nodes)
	clear(p.commands)
	p.commands, p.nodes, p.ids, p.masks = p.commands[:0], p.nodes[:0], p.ids[:0], p.masks[:0]
}

// donated returns which inputs of a doRun are donated; nil for none.
func (p *pending) donated(c *command) []bool {
	if c.mask < 0 {
		return nil
	}
	return p.masks[c.mask:][:c.mid-c.from]
}

// lockOpen locks the queue for appending commands, until unlock. It returns an error if the stream is closed.
func (s *stream[V]) lockOpen() error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return s.closedError()
	}
	return nil
}

// unlock unlocks the queue, and wakes the worker if commands are waiting and nothing executes.
func (s *stream[V]) unlock() {
	wake := s.mustWake()
	s.mu.Unlock()
	if wake {
		s.wake <- struct{}{}
	}
}

// append appends a command.
func (s *stream[V]) append(c command) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	s.pend.add(c)
	s.unlock()
	return nil
}

// do executes a command at once if the queue is empty, and appends it otherwise.
func (s *stream[V]) do(c command) error {
	if err := s.lockOpen(); err != nil {
		return err
	}
	if s.executing || len(s.pend.commands) > 0 {
		s.pend.add(c)
		s.unlock()
		return nil
	}
	s.executing = true
	s.mu.Unlock()
	s.execute(nil, &c)
	s.leave()
	s.done++
	s.mu.Lock()
	s.stopExecuting()
	s.unlock()
	return nil
}

// mustWake reports whether the worker must be woken. The caller holds mu, and wakes the worker after releasing it.
func (s *stream[V]) mustWake() bool {
	if s.executing || !s.asleep || s.held || len(s.pend.commands) == 0 {
		return false
	}
	s.asleep = false
	return true
}

// Hold announces that the caller will soon wait for the commands that it queues now, or call Unhold. Meanwhile the worker is not woken,
// because a wait without a cancelable context executes the commands itself. A wait that cannot execute them ends the hold. Only one
// goroutine at a time may call Hold, and only while no other goroutine waits for the stream.
func (s *stream[V]) Hold() {
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
}

// Unhold ends Hold. Queued commands begin.
func (s *stream[V]) Unhold() {
	s.mu.Lock()
	s.held = false
	s.unlock()
}

// work runs the worker until the stream closes.
func (s *stream[V]) work() {
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		if !s.executing { // otherwise a waiter executes new commands, or wakes the worker again
			s.drain(nil)
		}
		s.asleep = true
		s.unlock()
	}
}

// drain executes commands until the queue is empty, the stream is closed, or stop is open. The caller holds mu, and no other goroutine
// executes.
func (s *stream[V]) drain(stop *latch) {
	s.executing = true
	for len(s.pend.commands) > 0 && !s.closed.Load() && (stop == nil || !stop.isOpen.Load()) {
		s.pend, s.spare = s.spare, s.pend
		s.mu.Unlock()
		if s.busy != nil {
			s.busy.Begin()
		}
		p := s.spare
		for i := range p.commands {
			if s.closed.Load() {
				s.leave()
				s.abandon(p, &p.commands[i])
				continue
			}
			s.execute(p, &p.commands[i])
			s.done++
		}
		s.leave()
		p.reset()
		if s.busy != nil {
			s.busy.End()
		}
		s.mu.Lock()
	}
	s.stopExecuting()
}

// stopExecuting ends the caller's exclusive right to execute. The caller holds mu.
func (s *stream[V]) stopExecuting() {
	s.executing = false
	s.rest.Broadcast()
}

// Busy is an optional interface of a Queue. The engine calls it around each batch of queued commands.
type Busy interface {
	Begin() // commands will be executed
	End()   // the commands that were queued at Begin are done
}

// help executes the queue's commands on the goroutine of a waiter that cannot be canceled, until done is open. A waiter that does not
// execute ends a hold, because the executing goroutine may leave commands in the queue, for which the worker must be woken.
func (s *stream[V]) help(ctx context.Context, done *latch) {
	if ctx.Done() != nil {
		s.Unhold()
		return
	}
	s.mu.Lock()
	if s.executing || s.closed.Load() {
		s.held = false // the executing goroutine wakes the worker if it leaves commands in the queue
		s.mu.Unlock()
		return
	}
	s.drain(done)
	s.unlock()
}
