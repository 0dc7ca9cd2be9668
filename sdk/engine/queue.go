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
	doCall               // a func()
)

// command is an entry of the queue; the lists that it works on stand beside it.
type command struct {
	kind          kind
	from, mid, to int
	mask          int // -1: nothing is donated
	on            any // what kind says
}

// upload is a tensor that is made of host memory in the order of the queue.
type upload struct {
	desc op.Desc
	data []byte
	done func() // is called when data has been read
}

// pending is the commands that nobody has begun, with their operands. Two of them take turns, so that in steady state
// appending allocates nothing.
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

// donated returns which inputs of a doRun are; nil for none.
func (p *pending) donated(c *command) []bool {
	if c.mask < 0 {
		return nil
	}
	return p.masks[c.mask:][:c.mid-c.from]
}

// lockOpen locks the queue for commands to be appended, until unlock.
func (s *stream[V]) lockOpen() error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return s.closedError()
	}
	return nil
}

// unlock unlocks the queue, and wakes the worker for what nobody executes.
func (s *stream[V]) unlock() {
	wake := s.rouse()
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

// do executes a command at once where nothing is before it, and appends it otherwise.
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
	s.rests()
	s.unlock()
	return nil
}

// rouse reports whether the worker must be woken, which the caller, who holds mu, then does without it.
func (s *stream[V]) rouse() bool {
	if s.executing || !s.asleep || s.held || len(s.pend.commands) == 0 {
		return false
	}
	s.asleep = false
	return true
}

// Hold says that the caller will wait for what it queues now, or call Unhold soon: a wait without a context that can end does
// the work itself, and waking the worker would be for nothing. A wait that cannot do the work ends the hold. It is for one
// goroutine at a time, while no other waits for the stream.
func (s *stream[V]) Hold() {
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
}

// Unhold ends Hold. What is queued begins.
func (s *stream[V]) Unhold() {
	s.mu.Lock()
	s.held = false
	s.unlock()
}

// work is the life of the worker.
func (s *stream[V]) work() {
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		if !s.executing { // else a waiter takes what comes, or wakes the worker again
			s.drain(nil)
		}
		s.asleep = true
		s.unlock()
	}
}

// drain executes until the queue is empty, the stream is closed, or stop is open. The caller holds mu, and nobody executes.
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
	s.rests()
}

// rests ends the time in which the caller, who holds mu, alone executes.
func (s *stream[V]) rests() {
	s.executing = false
	s.rest.Broadcast()
}

// Busy is an optional interface of a Queue that is told when commands follow one another.
type Busy interface {
	Begin() // commands will be executed
	End()   // those that were queued at Begin are done
}

// help does the queue's work, until done is open, on the goroutine of a waiter that nothing can interrupt. A waiter that does
// not do the work ends a hold: whoever executes may leave what is queued, and then the worker must be woken.
func (s *stream[V]) help(ctx context.Context, done *latch) {
	if ctx.Done() != nil {
		s.Unhold()
		return
	}
	s.mu.Lock()
	if s.executing || s.closed.Load() {
		s.held = false // who executes wakes the worker for what it leaves
		s.mu.Unlock()
		return
	}
	s.drain(done)
	s.unlock()
}
