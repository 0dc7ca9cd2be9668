package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// queued is how many frames of a stream are held before the transport stops taking more.
const queued = 16

// Stream serves one stream: this goroutine executes commands in order, another receives them, so that a cancellation is
// seen while a read waits.
func (s *server) Stream(fs *wire.FrameStream) {
	ctx, cancel := context.WithCancel(fs.Context())
	defer cancel()
	t, err := s.openSession(ctx, fs)
	if err != nil {
		_ = fs.Send(wire.FailFrame(err))
		return
	}
	frames := make(chan *wire.Frame, queued)
	var broken error // read after frames is closed
	go func() {
		defer close(frames)
		broken = t.receive(ctx, frames)
		fs.ReleaseFiles()
		if broken != nil {
			cancel() // nobody waits for what runs
		}
	}()
	err = t.execute(frames)
	if err == nil {
		err = broken
	}
	if errors.Is(err, core.ErrProtocol) {
		s.log.Warn("stream", "error", err)
		_ = fs.Send(wire.FailFrame(err))
	}
	cancel()
	for _, f := range t.inbox {
		f.Free()
	}
	go func() { // the receiver ends when this call returns
		for f := range frames {
			f.Free()
		}
	}()
	if err != nil {
		fs.Close() // nobody waits for a transport that is gone
	}
	t.segments.finish()
	_ = s.guard("close stream", t.be.Close)
	t.segments.close()
}

// openSession takes the first frame and opens the backend's stream.
func (s *server) openSession(ctx context.Context, fs *wire.FrameStream) (*session, error) {
	f, err := fs.Receive()
	if err != nil {
		return nil, fmt.Errorf("open: %w: %v", core.ErrProtocol, err)
	}
	defer f.Free()
	var c wire.Command
	err = f.Bytes(func(b []byte) error {
		d := wire.NewDecoder(0)
		d.Start(b)
		if err := d.Next(&c); err != nil {
			return err
		}
		if c.Tag != wire.TagOpen || d.More() {
			return fmt.Errorf("open: %w: the first frame is command 0x%02x, want open alone", core.ErrProtocol, byte(c.Tag))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b, err := s.opened()
	if err != nil {
		return nil, err
	}
	t := &session{server: s, fs: fs, ctx: ctx, generation: c.Generation, decoder: wire.NewDecoder(c.Generation),
		tensors: map[tensorID]tensor{}, programs: map[uint64]*defined{}, watches: fs.Direct() && wire.Spare()}
	if err := s.guard("open stream", func() (err error) { t.be, err = b.OpenStream(ctx, c.Device); return err }); err != nil {
		return nil, err
	}
	flags := uint64(0)
	if p, ok := core.As[core.Programs](t.be); ok {
		t.definer, flags = p, flags|wire.HasPrograms
	}
	t.direct, _ = core.As[core.DirectIO](t.be)
	if m, ok := core.As[core.MemoryStats](t.be); ok {
		t.memory, flags = m, flags|wire.HasMemory
	}
	if err := fs.Send(wire.OpenedFrame(flags)); err != nil {
		_ = s.guard("close stream", t.be.Close)
		return nil, err
	}
	return t, nil
}

// receive puts frames into the queue until the host ends the stream, which is nil, or the stream breaks.
func (t *session) receive(ctx context.Context, frames chan<- *wire.Frame) error {
	for {
		err := t.fs.Next(func(f *wire.Frame) error {
			queue, err := t.arrived(f)
			if !queue {
				return err
			}
			select {
			case frames <- f:
				return nil
			case <-ctx.Done():
				f.Free()
				return ctx.Err()
			}
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// arrived deals with a frame that does not wait for its turn. queue says that f is one that does.
func (t *session) arrived(f *wire.Frame) (queue bool, err error) {
	if f.Len() > wire.MaxFrame {
		err := fmt.Errorf("stream: %w: frame of %d bytes, at most %d", core.ErrProtocol, f.Len(), wire.MaxFrame)
		f.Free()
		return false, err
	}
	if number, size, ok := wire.ParseSegment(f); ok {
		f.Free()
		return false, t.segment(number, size)
	}
	if tag, request, ok := wire.Overtakes(f); ok {
		f.Free()
		return false, t.overtake(tag, request)
	}
	return true, nil
}

// next gives the frame whose turn it is, and false when there are no more. Where the host's frames follow each other
// closely, this goroutine looks for the next itself, as waking it takes longer.
func (t *session) next(frames <-chan *wire.Frame) (f *wire.Frame, ok bool, err error) {
	if len(t.inbox) == 0 && t.watches {
		start := time.Now()
		err := t.pace.Watch(func() bool { return len(t.inbox) > 0 || len(frames) > 0 }, func() (bool, error) {
			return t.fs.Poll(func(f *wire.Frame) error {
				for len(frames) > 0 { // the receiver puts none meanwhile
					t.inbox = append(t.inbox, <-frames)
				}
				queue, err := t.arrived(f)
				if queue {
					t.inbox = append(t.inbox, f)
				}
				return err
			})
		})
		defer func() { t.pace.Note(time.Since(start)) }()
		if err != nil {
			return nil, false, err
		}
	}
	if len(t.inbox) > 0 {
		f = t.inbox[0]
		t.inbox = t.inbox[:copy(t.inbox, t.inbox[1:])]
		return f, true, nil
	}
	f, ok = <-frames
	return f, ok, nil
}

func (t *session) overtake(tag wire.Tag, request uint64) error {
	switch tag {
	case wire.TagCancel:
		return t.waits.cancel(request)
	case wire.TagRetire:
		return t.segments.retire(request)
	}
	var m core.Memory
	if t.memory != nil {
		_ = t.guard("memory", func() error { m = t.memory.Memory(); return nil })
	}
	return t.fs.Send(wire.UsageFrame(request, m))
}

// waits is the request that the backend works on, and those canceled before their turn.
type waits struct {
	mu       sync.Mutex
	latest   uint64 // requests are numbered upwards
	stop     context.CancelFunc
	canceled map[uint64]bool
}

// maxCanceled bounds the requests canceled before their turn; a host waits for one at a time.
const maxCanceled = 1024

// begin gives the context of a request. It has ended already when the request was canceled before.
func (w *waits) begin(ctx context.Context, request uint64) (context.Context, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request <= w.latest {
		return nil, fmt.Errorf("stream: %w: request %d after %d", core.ErrProtocol, request, w.latest)
	}
	w.latest = request
	ctx, w.stop = context.WithCancel(ctx)
	if w.canceled[request] {
		delete(w.canceled, request)
		w.stop()
	}
	return ctx, nil
}

func (w *waits) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.stop = nil
}

func (w *waits) cancel(request uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case request == w.latest && w.stop != nil:
		w.stop()
	case request > w.latest:
		if len(w.canceled) >= maxCanceled {
			return fmt.Errorf("stream: %w: %d requests canceled before they came", core.ErrProtocol, len(w.canceled))
		}
		if w.canceled == nil {
			w.canceled = map[uint64]bool{}
		}
		w.canceled[request] = true
	}
	return nil
}
