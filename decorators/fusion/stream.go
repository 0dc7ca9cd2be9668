package fusion

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/window"
)

// stream records its nodes in a window. It passes them on at once, or holds them as long as they match a plan.
type stream struct {
	dev   *device
	inner core.Stream

	mu     sync.Mutex // held while a method of the stream below is called, except methods that wait
	w      held
	marks  window.Marks
	hold   *plan   // the plan that the window matches so far; nil: nodes are passed on
	like   []*plan // plans that begin like the window
	closed bool
	wrote  int  // bytes written since the window began
	cut    bool // the window ends with the next call

	timer *time.Timer
	armed bool
	calls uint64 // number of calls of Submit
	seen  uint64 // the value of calls that the timer has seen
	quiet int    // ticks of the timer without a call
	fault error  // error of nodes that were accepted and refused later; the next event returns it
}

var _ core.Stream = (*stream)(nil)

// Limits of a window.
const (
	maxNodes = 4096
	maxAttrs = 4 << 20 // bytes
)

// held is the window of a stream, and the part of it that the stream below does not have yet.
type held struct {
	window.Window
	passed  int     // number of nodes that the stream below has
	batches []batch // of held nodes
	frees   []op.TensorID
}

// batch is the end of one Submit.
type batch struct{ nodes, frees int }

func (w *held) reset() {
	w.Reset()
	w.batches, w.frees, w.passed = w.batches[:0], w.frees[:0], 0
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.dev.programs == nil {
		return s.inner.Submit(nodes, free)
	}
	s.calls++
	if s.cut {
		free = s.early(nodes, free)
		s.flush()
	}
	for i := range nodes {
		kind, values := window.Hash(&nodes[i], &s.dev.hash)
		if values != 0 && s.dev.cache.volatile.has(kind) {
			s.flush()
			if err := s.alone(&nodes[i]); err != nil {
				return err
			}
			continue
		}
		s.record(&nodes[i], kind, values)
		ends := s.marks.Pass(kind)
		if w := &s.w; !ends && (len(w.Nodes) >= maxNodes || w.AttrBytes > maxAttrs || w.LiveBytes > s.dev.most) {
			s.marks.Leave()
			ends = true
		}
		switch {
		case !ends:
		case i == len(nodes)-1:
			s.cut = len(s.w.Nodes) > 0
		default:
			free = s.early(nodes[i+1:], free)
			s.flush()
		}
	}
	return s.release(free)
}

// early frees the tensors that the new nodes do not use before these nodes are recorded. The frees become part of the current window, so
// that windows do not depend on how the host divides its nodes among calls. It returns the remaining frees.
func (s *stream) early(nodes []op.Node, free []op.TensorID) []op.TensorID {
	w := &s.w
	var now, rest []op.TensorID
	for _, id := range free {
		if w.Knows(id) && !uses(nodes, id) {
			now = append(now, id)
		} else {
			rest = append(rest, id)
		}
	}
	if now == nil {
		return free
	}
	for _, id := range now {
		w.Free(id)
	}
	if s.hold != nil {
		w.frees = append(w.frees, now...)
		w.batches = append(w.batches, batch{len(w.Nodes), len(w.frees)})
		return rest
	}
	s.send(w.Nodes[w.passed:], now)
	w.passed = len(w.Nodes)
	return rest
}

func uses(nodes []op.Node, id op.TensorID) bool {
	for i := range nodes {
		if slices.Contains(nodes[i].Inputs, id) {
			return true
		}
	}
	return false
}

// record adds a node to the window, and ends the hold if the node does not match.
func (s *stream) record(n *op.Node, kind, values uint64) {
	w := &s.w
	w.Add(n, kind, values)
	at := len(w.Nodes) - 1
	h := w.Prefix[at]
	if at == 0 {
		s.like = s.dev.cache.starting(h)
		switch {
		case len(s.like) > 0:
			s.hold = s.like[0]
			s.arm()
		case s.dev.always:
			s.hold = &plan{}
			s.arm()
		}
	}
	if s.dev.always && w.Invalid == "" {
		return
	}
	if s.hold == nil || w.Invalid == "" && at < len(s.hold.prefix) && s.hold.prefix[at] == h {
		return
	}
	if w.Invalid == "" {
		for _, p := range s.like {
			if at < len(p.prefix) && p.prefix[at] == h {
				s.hold = p
				return
			}
		}
	}
	s.passHeld()
}

// release ends a Submit, whose nodes are in the window, and frees tensors.
func (s *stream) release(free []op.TensorID) error {
	w := &s.w
	if s.hold == nil {
		for _, id := range free {
			if !w.Free(id) {
				s.dev.forget(id)
			}
		}
		nodes := w.Nodes[w.passed:]
		if len(nodes) == 0 && len(free) == 0 {
			return nil
		}
		err := s.inner.Submit(nodes, free)
		w.passed = len(w.Nodes)
		if err != nil { // no tensor was created
			w.Invalid = nodesRefused
			for i := range nodes {
				for _, d := range nodes[i].Outputs {
					w.Free(d.ID)
				}
			}
		}
		return err
	}
	var other []op.TensorID
	for _, id := range free {
		if w.Free(id) {
			w.frees = append(w.frees, id)
		} else {
			s.dev.forget(id)
			other = append(other, id)
		}
	}
	w.batches = append(w.batches, batch{len(w.Nodes), len(w.frees)})
	if w.Invalid != "" {
		s.passHeld()
	}
	if other == nil {
		return nil
	}
	return s.inner.Submit(nil, other) // no held node uses them
}

// passHeld passes on the held nodes unchanged. The window continues.
func (s *stream) passHeld() {
	w := &s.w
	if s.hold == nil {
		return
	}
	s.hold = nil
	at, freed := 0, 0
	for _, b := range w.batches {
		s.send(w.Nodes[at:b.nodes], w.frees[freed:b.frees])
		at, freed = b.nodes, b.frees
	}
	w.batches, w.frees = w.batches[:0], w.frees[:0]
	s.send(w.Nodes[at:], nil)
	w.passed = len(w.Nodes)
}

// send submits accepted nodes. If they are refused, their results fail.
func (s *stream) send(nodes []op.Node, free []op.TensorID) {
	if len(nodes) == 0 && len(free) == 0 {
		return
	}
	if err := s.inner.Submit(nodes, free); err != nil {
		s.w.Invalid = nodesRefused
		s.lose(nodes, err)
	}
}

const nodesRefused = "nodes were refused"

// alone passes on a node that is excluded from windows.
func (s *stream) alone(n *op.Node) error {
	s.marks.Pass(uint64(n.Op))
	if err := s.inner.Submit([]op.Node{*n}, nil); err != nil {
		return err
	}
	s.dev.define(n.Outputs...)
	return nil
}

// flush ends the window: it runs its plan, or passes on the held nodes unchanged.
func (s *stream) flush() {
	w := &s.w
	if len(w.Nodes) == 0 {
		return
	}
	if s.hold != nil {
		if s.run() {
			s.settle()
			return
		}
		s.passHeld()
	}
	s.send(w.Nodes[w.passed:], nil)
	s.dev.see(s)
	s.settle()
}

// settle records the tensors that outlive the window in the device, and begins a new window.
func (s *stream) settle() {
	w, d := &s.w, s.dev
	d.mu.Lock()
	for local, maker := range w.Maker {
		dead := w.IsDead(int32(local))
		switch {
		case maker != window.Outside && !dead:
			t := w.Types[local]
			t.ID = w.IDs[local]
			d.types[t.ID] = t
		case maker == window.Outside && dead:
			delete(d.types, w.IDs[local])
		}
	}
	d.mu.Unlock()
	s.hold, s.like, s.wrote, s.cut, s.quiet = nil, nil, 0, false, 0
	w.reset()
}

// arm starts the timer that passes on the held nodes when the stream is idle.
func (s *stream) arm() {
	s.seen = s.calls
	if s.armed {
		return
	}
	s.armed = true
	if s.timer == nil {
		s.timer = time.AfterFunc(s.dev.idle, s.tick)
	} else {
		s.timer.Reset(s.dev.idle)
	}
}

func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if s.closed || s.hold == nil {
		return
	}
	if s.seen != s.calls {
		s.quiet = 0
		s.arm()
		return
	}
	if len(s.w.Nodes) < len(s.hold.Nodes) && s.dev.cache.waits(s.hold, s.quiet) {
		s.quiet++
		s.arm()
		return
	}
	s.flush()
}

// Write implements core.Stream. Small tensors are written at once, because no held node uses them. For others the window ends first, so
// that memory is freed before it is allocated.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	s.mu.Lock()
	s.upload(len(data))
	held := s.hold != nil
	if !held { // without held nodes, the timer does not call the stream below
		s.mu.Unlock()
	}
	err := s.inner.Write(ctx, d, data)
	if held {
		if errors.Is(err, core.ErrOutOfMemory) {
			s.passHeld()
			err = s.inner.Write(ctx, d, data)
		}
		s.mu.Unlock()
	}
	if err == nil {
		d.Shape = d.Shape.Clone()
		s.dev.define(d)
	}
	return err
}

// smallWrites is the number of bytes that may be written without ending the window.
const smallWrites = 16 << 10

// upload counts written bytes, and ends the window if there are many.
func (s *stream) upload(n int) {
	if len(s.w.Nodes) == 0 {
		return
	}
	if s.wrote += n; s.wrote > smallWrites {
		s.flush()
	}
}

// Read implements core.Stream.
func (s *stream) Read(id op.TensorID, dst []byte) core.Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if err := s.dev.failure(id); err != nil {
		return core.Failed(err)
	}
	return &ticket{s.dev, s.inner.Read(id, dst), id}
}

// Signal implements core.Stream.
func (s *stream) Signal() core.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	e := &event{dev: s.dev, inner: s.inner.Signal(), fault: s.fault}
	s.fault = nil
	return e
}

// Wait implements core.Stream.
func (s *stream) Wait(e core.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if own, ok := e.(*event); ok && own.dev.backend == s.dev.backend {
		e = own.inner
	}
	return s.inner.Wait(e)
}

// Close implements core.Stream.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.passHeld()
		s.settle()
		s.end()
	}
	s.dev.mu.Lock()
	delete(s.dev.streams, s)
	s.dev.mu.Unlock()
	return s.inner.Close()
}

// end drops the held nodes.
func (s *stream) end() {
	s.closed, s.hold, s.like = true, nil, nil
	s.w.reset()
	if s.timer != nil {
		s.timer.Stop()
	}
}
