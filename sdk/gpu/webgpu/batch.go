package webgpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/commands"
)

const (
	uniformBytes = 128 << 10 // size of the scalars of the launches of a batch
	stagingBytes = 256 << 10 // size of the small uploads of a batch
	maxCommands  = 256       // most commands of a batch
	spins        = 50        // polls before a wait sleeps
)

// batch holds the recorded commands, and the work that was submitted before. The device's lock guards it.
type batch struct {
	calls    Device
	limits   Limits
	lastID   uint32  // greatest id of an allocation
	encoder  Encoder // nil: no command was recorded yet
	commands int
	uniforms Buffer
	scalars  []byte // scalars of the launches so far, written to uniforms at submission
	staging  Buffer
	staged   []byte                 // bytes of uploads so far, written to staging at submission
	spare    commands.Spare[Buffer] // buffers for downloads
	doubles  doubles
	work     *work     // work that waits for the recorded commands, nil if no commands are recorded
	flight   []*work   // submitted, in order
	progress time.Time // when a work last ended, or was submitted to an idle queue
	failed   commands.Fault
}

// fetch is a pending download.
type fetch struct {
	buffer Buffer
	size   int64  // size of the buffer
	dst    []byte // destination
	skip   int64  // offset of the bytes in the buffer
}

// work is a batch that events wait for. done is closed when the whole batch is executed and its downloads have arrived.
type work struct {
	done    chan struct{}
	err     error // set once the work is done
	fetches []*fetch

	mu      sync.Mutex // guards the fields below
	left    int        // callbacks that have not been called
	arrived error      // errors of the callbacks that have been called
}

// arrive records that a callback was called.
func (w *work) arrive(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left--
	w.arrived = errors.Join(w.arrived, err)
}

// over reports whether all callbacks have been called, and returns their errors.
func (w *work) over() (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left == 0, w.arrived
}

func (w *work) finished() bool { return commands.Finished(w.done) }

// fault returns the fault that ended the device. As for all methods of batch, the caller holds the device's lock.
func (b *batch) fault() error {
	if err := b.failed.Keep(nil); err != nil {
		return err
	}
	return b.failed.Keep(b.calls.Lost())
}

// reserve ensures that there is an encoder, and space for the given bytes of scalars and of staged uploads. It submits a full batch.
func (b *batch) reserve(scalars, staged int64) error {
	if err := b.fault(); err != nil {
		return err
	}
	if b.commands >= maxCommands || int64(len(b.scalars))+roundUp(scalars, b.limits.UniformAlignment) > uniformBytes ||
		int64(len(b.staged))+roundUp(staged, 4) > stagingBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	if b.work == nil {
		b.work = &work{done: make(chan struct{})}
	}
	if b.encoder == nil {
		e, err := b.calls.NewEncoder()
		if err != nil {
			return b.failed.Keep(err)
		}
		b.encoder = e
	}
	return nil
}

// uniform adds scalars to the batch, which has space for them, and returns their offset.
func (b *batch) uniform(words []uint32) uint32 {
	at := len(b.scalars)
	for _, w := range words {
		b.scalars = binary.LittleEndian.AppendUint32(b.scalars, w)
	}
	n := int64(len(b.scalars))
	b.scalars = append(b.scalars, make([]byte, roundUp(n, b.limits.UniformAlignment)-n)...)
	return uint32(at)
}

// flush submits the recorded commands.
func (b *batch) flush() error {
	w := b.work
	if w == nil {
		return b.fault()
	}
	if err := b.fault(); err != nil {
		b.settle()
		return err
	}
	e := b.encoder
	err := errors.Join(b.calls.Write(b.uniforms, 0, b.scalars), b.calls.Write(b.staging, 0, b.staged))
	b.work, b.encoder, b.commands, b.scalars, b.staged = nil, nil, 0, b.scalars[:0], b.staged[:0]
	if len(b.flight) == 0 {
		b.progress = time.Now()
	}
	b.flight = append(b.flight, w)
	w.left = 1 + len(w.fetches)
	if err == nil {
		err = b.calls.Submit(e, w.arrive)
	} else {
		e.Drop()
	}
	for _, f := range w.fetches {
		if err == nil {
			err = b.calls.Map(f.buffer, w.arrive)
		}
	}
	if err = b.failed.Keep(err); err != nil {
		b.settle()
	}
	return err
}

// settle completes works in order: the works that have executed or, after a fault, all works.
func (b *batch) settle() {
	if b.fault() != nil && b.work != nil {
		if b.encoder != nil {
			b.encoder.Drop()
		}
		b.flight = append(b.flight, b.work)
		b.work, b.encoder, b.commands, b.scalars, b.staged = nil, nil, 0, b.scalars[:0], b.staged[:0]
	}
	for len(b.flight) > 0 {
		w := b.flight[0]
		over, err := w.over()
		if err = b.failed.Keep(err); err == nil {
			if !over {
				return
			}
			for _, f := range w.fetches {
				if err = b.failed.Keep(f.buffer.Read(f.dst, f.skip)); err == nil {
					b.spare.Give(f.size, f.buffer)
				}
			}
		}
		b.flight = b.flight[1:]
		b.progress = time.Now()
		w.err = err
		close(w.done)
	}
}

// last returns the newest work, or nil if all work is done.
func (b *batch) last() *work {
	if b.work != nil {
		return b.work
	}
	if n := len(b.flight); n > 0 {
		return b.flight[n-1]
	}
	return nil
}

// readback returns a buffer for a download of n bytes, and its size.
func (b *batch) readback(n int64) (Buffer, int64, error) {
	return b.spare.Take(n, func(size int64) (Buffer, error) { return b.calls.NewBuffer(size, Readback) })
}

// close releases all buffers. No work is pending.
func (b *batch) close() {
	b.spare.Release(Buffer.Destroy)
	for _, x := range append([]Buffer{b.uniforms, b.staging}, b.doubles.buffer...) {
		if x != nil {
			x.Destroy()
		}
	}
}

// pause returns how long a wait sleeps before its nth poll: a small part of the time waited so far, so that the end of the work is noticed
// soon.
func pause(n int, waited time.Duration) time.Duration {
	if n < spins {
		return 0
	}
	return min(max(waited/32, 20*time.Microsecond), time.Millisecond)
}

// rest sleeps for t. Timers of Go may be a millisecond late, which is long compared with short work, so a Sleeper sleeps for times shorter
// than that. Without a Sleeper, and for longer times, rest returns early when another goroutine's poll finds the work done.
func (d *device) rest(w *work, t time.Duration) {
	if s, ok := d.calls.(Sleeper); ok && t < time.Millisecond {
		s.Sleep(t)
		return
	}
	select {
	case <-w.done:
	case <-time.After(t):
	}
}

// await waits for a work and returns its error. If no work ends within Options.Patience, the device counts as lost.
func (d *device) await(w *work) error {
	d.mu.Lock()
	if w == d.work {
		_ = d.flush() // w.err has the fault
	}
	d.mu.Unlock()
	began := time.Now()
	for n := 0; !w.finished(); n++ {
		d.calls.Poll()
		d.mu.Lock()
		now := time.Now()
		if limit := d.driver.options.Patience; len(d.flight) > 0 && now.Sub(d.progress) > limit {
			_ = d.failed.Keep(fmt.Errorf("%w: nothing was done in %v", core.ErrBackendLost, limit))
		}
		d.settle()
		d.mu.Unlock()
		if w.finished() {
			break
		}
		if t := pause(n, now.Sub(began)); t == 0 {
			runtime.Gosched()
		} else {
			d.rest(w, t)
		}
	}
	return w.err
}
