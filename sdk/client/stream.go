package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

const (
	// flushSize is the number of bytes of collected commands at which they are sent at once.
	flushSize = 32 << 10
	// flushDelay is the time that the first command of a batch waits for further commands.
	flushDelay = 100 * time.Microsecond
	// patientDelay replaces flushDelay if the timer has sent no recent batch, because setting a short timer wakes a thread.
	patientDelay = time.Millisecond
	// patience: patientDelay is used after this number of batches in a row were sent before the timer fired.
	patience = 16
	// maxQueued is the number of bytes that may be queued for the transport. Beyond it, calls wait.
	maxQueued = 8 << 20
	// closeWait is the time that Close waits for the plugin to finish.
	closeWait = 2 * time.Second
)

// stream is one command queue. Frames are appended to out in order, and one goroutine sends them, so that every wait for the transport can
// be canceled.
type stream struct {
	d      *device
	number uint64
	fs     *wire.FrameStream
	cancel context.CancelFunc

	mu      sync.Mutex // guards the fields below
	enc     *wire.Encoder
	out     []*wire.Frame
	outSize int
	rest    bool // the transport holds the rest of a frame
	busy    bool // the sender has frames that are no longer in out
	ended   bool // no more frames follow
	armed   bool // the flush timer runs
	prompt  int  // batches in a row that were sent before the timer fired, at most patience
	timer   *time.Timer
	work    chan struct{} // signals the sender that out is not empty
	space   chan struct{} // closed when out has become shorter; nil: no goroutine waits

	shared *segments // nil: no shared memory

	ahead    ahead
	requests requests
	reply    wire.Reply // used by handle
	pace     wire.Pace  // pace of the answers
	watches  bool       // polls for answers instead of sleeping
	marks    marks
	over     chan struct{} // closed when err is set: the stream takes no more commands
	overOnce sync.Once
	err      error
	finished chan struct{} // the receiver is done
}

var _ core.Stream = (*stream)(nil)

// OpenStream implements core.Device. It waits until the plugin has opened the stream.
func (d *device) OpenStream(ctx context.Context) (core.Stream, error) {
	if err := d.gone(); err != nil {
		return nil, err
	}
	b := d.b
	number := b.streams.Add(1)
	ctx, done := bounded(ctx, b.openTimeout, openSetting)
	defer done()
	sctx, cancel := context.WithCancel(b.ctx)
	stop := context.AfterFunc(ctx, cancel) // for as long as this call runs
	opened := false
	defer func() {
		if !opened {
			cancel()
		}
	}()
	fail := func(err error) error {
		if e := d.gone(); e != nil {
			return e
		}
		if ctx.Err() != nil {
			return canceled(b.proc.name, ctx)
		}
		return b.callError(ctx, err)
	}
	fs, err := b.transport(sctx)
	if err != nil {
		return nil, fail(err)
	}
	defer func() {
		if !opened {
			fs.Close()
		}
	}()
	if err := fs.Send(wire.OpenFrame(d.handle, number)); err != nil {
		return nil, fail(err)
	}
	f, err := fs.Receive()
	if err != nil {
		return nil, fail(err)
	}
	var r wire.Reply
	err = r.Parse(f)
	f.Free()
	switch {
	case err != nil:
		return nil, err
	case r.Tag == wire.TagFail:
		return nil, r.Err
	case r.Tag != wire.TagOpened:
		return nil, fmt.Errorf("plugin %s: %w: reply 0x%02x to open", b.proc.name, core.ErrProtocol, byte(r.Tag))
	}
	if !stop() {
		return nil, canceled(b.proc.name, ctx)
	}
	opened = true
	s := &stream{d: d, number: number, fs: fs, watches: b.looks, cancel: cancel, enc: wire.NewEncoder(b.ids),
		work: make(chan struct{}, 1), over: make(chan struct{}), finished: make(chan struct{})}
	if b.memfd && fs.Direct() {
		s.shared = &segments{s: s}
	}
	s.timer = time.AfterFunc(time.Hour, s.idleFlush)
	s.timer.Stop()
	go s.send()
	go s.receive()
	d.mu.Lock()
	d.streams[s] = struct{}{}
	d.mu.Unlock()
	if err := d.gone(); err != nil { // the device was closed meanwhile
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// fail ends the stream: every later call, and every call in flight, returns err.
func (s *stream) fail(err error) {
	s.overOnce.Do(func() {
		s.err = err
		close(s.over)
		s.requests.failAll(err)
		s.cancel()
		if s.shared != nil {
			s.shared.close()
		}
	})
}

// refused returns the error of a stream that takes no more commands, else nil.
func (s *stream) refused() error {
	select {
	case <-s.over:
		return s.err
	default:
		return nil
	}
}

// send passes frames to the transport until the stream ends.
func (s *stream) send() {
	for {
		s.mu.Lock()
		batch, ended, rest := s.out, s.ended, s.rest
		s.out, s.rest = nil, false
		s.busy = len(batch) > 0 || rest
		s.mu.Unlock()
		if rest && s.fs.Flush() != nil {
			return // the receiver reports the error
		}
		for _, f := range batch {
			n := f.Len()
			if err := s.fs.Send(f); err != nil {
				return // the receiver reports the error
			}
			s.mu.Lock()
			s.outSize -= n
			if s.space != nil && s.outSize < maxQueued/2 {
				close(s.space)
				s.space = nil
			}
			s.mu.Unlock()
		}
		if len(batch) > 0 || rest {
			continue
		}
		if ended {
			_ = s.fs.CloseSend()
			return
		}
		select {
		case <-s.work:
		case <-s.over:
			return
		}
	}
}

// push sends a frame if the transport accepts it at once, and queues it otherwise. push does not wait. The caller holds mu.
func (s *stream) push(f *wire.Frame) {
	if f == nil {
		return
	}
	if !s.busy && len(s.out) == 0 {
		taken, more := s.fs.TrySend(f)
		if taken {
			if more {
				s.busy, s.rest = true, true
				s.wake()
			}
			return
		}
	}
	s.out = append(s.out, f)
	s.outSize += f.Len()
	s.wake()
}

// wake signals the sender that there are frames.
func (s *stream) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// flush queues the commands collected so far. It is called with mu held.
func (s *stream) flush() {
	if s.prompt < patience {
		s.prompt++
		if s.armed {
			s.armed = !s.timer.Stop() // the timer would wake a thread for nothing
		}
	}
	s.push(s.enc.Take())
}

func (s *stream) idleFlush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if !s.ended && s.enc.Len() > 0 {
		s.flush()
		s.prompt = 0
	}
}

// added ensures that the commands just collected are sent in time, and unlocks mu. It waits when too much is queued.
func (s *stream) added() error {
	switch n := s.enc.Len(); {
	case n >= flushSize:
		s.flush()
	case n > 0 && !s.armed:
		s.armed = true
		if s.prompt < patience {
			s.timer.Reset(flushDelay)
		} else {
			s.timer.Reset(patientDelay)
		}
	}
	full := s.outSize > maxQueued
	s.mu.Unlock()
	if full {
		return s.waitForSpace(context.Background())
	}
	return nil
}

// waitForSpace waits while too much is queued. An error says that ctx ended the wait, or that the stream is over.
func (s *stream) waitForSpace(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.outSize <= maxQueued {
			s.mu.Unlock()
			return nil
		}
		if s.space == nil {
			s.space = make(chan struct{})
		}
		space := s.space
		s.mu.Unlock()
		select {
		case <-space:
		case <-s.over:
			return s.err
		case <-ctx.Done():
			return canceled(s.d.b.proc.name, ctx)
		}
	}
}

// begin locks mu, unless the stream is over or closed.
func (s *stream) begin() error {
	if err := s.refused(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return fmt.Errorf("stream: %w", core.ErrClosed)
	}
	return nil
}

// current returns an error for ids of another generation.
func (s *stream) current(ids []op.TensorID) error {
	for _, id := range ids {
		if g := id.Generation(); g != s.d.b.ids {
			return s.stale(id)
		}
	}
	return nil
}

func (s *stream) stale(id op.TensorID) error {
	return fmt.Errorf("%v of generation %d, the connection to plugin %s is of generation %d: %w",
		id, id.Generation(), s.d.b.proc.name, s.d.b.ids, core.ErrStale)
}

// Submit implements core.Stream. If one node cannot be accepted, no node is accepted.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	for i := range nodes {
		n := &nodes[i]
		if err := wire.Fits(n); err != nil {
			return err
		}
		if err := s.current(n.Inputs); err != nil {
			return err
		}
		for k := range n.Outputs {
			if id := n.Outputs[k].ID; id.Generation() != s.d.b.ids {
				return s.stale(id)
			}
		}
	}
	if err := s.current(free); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		s.enc.Node(n)
		for k := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 {
				s.givenUp(n.Inputs[k : k+1])
			}
		}
		if s.enc.Len() >= flushSize {
			s.flush()
		}
	}
	s.givenUp(free)
	for len(free) > 0 {
		n := min(len(free), flushSize/10)
		s.enc.Free(free[:n])
		free = free[n:]
		if s.enc.Len() >= flushSize {
			s.flush()
		}
	}
	return s.added()
}

// await waits for the answer to a request. If ctx ends first, it tells the plugin and ignores a late answer.
func (s *stream) await(ctx context.Context, r *request) error {
	start := time.Now()
	s.watch(ctx, r)
	if len(r.done) == 0 {
		s.fs.Sleep()
		defer s.fs.Wake()
	}
	select {
	case err := <-r.done:
		s.pace.Note(time.Since(start))
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-r.done:
		return err
	default:
	}
	if !s.giveUp(r) {
		return <-r.done
	}
	return canceled(s.d.b.proc.name, ctx)
}

// watch polls for the answer to a request for a short time, if recent answers came soon: being woken takes longer than a short wait.
func (s *stream) watch(ctx context.Context, r *request) {
	if !s.watches {
		return
	}
	done := func() bool { return len(r.done) > 0 || len(r.parts) > 0 || ctx.Err() != nil }
	if err := s.fs.Watch(&s.pace, done, s.handle); err != nil {
		s.fail(s.receiveError(err))
	}
}

// giveUp drops a request and tells the plugin. It returns false if the answer came at the same moment.
func (s *stream) giveUp(r *request) bool {
	if !s.requests.drop(r) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.push(wire.CancelFrame(r.id))
	}
	return true
}

// Close ends the stream. It waits for the plugin to finish its work, but not longer than closeWait.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return fmt.Errorf("stream: %w", core.ErrClosed)
	}
	s.flush()
	s.ended = true
	s.timer.Stop()
	s.wake()
	s.mu.Unlock()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-s.finished:
	case <-timer.C:
	}
	s.fail(fmt.Errorf("stream: %w", core.ErrClosed))
	<-s.finished
	s.d.mu.Lock()
	delete(s.d.streams, s)
	s.d.mu.Unlock()
	return nil
}

var errEnded = errors.New("the plugin ended the stream")
