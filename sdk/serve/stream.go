package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// Stream serves one stream. A separate goroutine receives frames while the backend works.
func (s *server) Stream(fs *wire.FrameStream) {
	t, err := s.openSession(fs)
	if err != nil {
		_ = fs.Send(wire.FailFrame(err))
		return
	}
	defer t.cancel()
	defer context.AfterFunc(t.ctx, func() { t.fail(t.ctx.Err()) })()
	go t.receive()
	t.work(true)
	if err := t.broken(); err != nil {
		if errors.Is(err, core.ErrProtocol) {
			s.log.Warn("stream", "error", err)
			_ = fs.Send(wire.FailFrame(err))
		}
		fs.Close() // do not wait for a lost transport
	}
	t.segments.finish()
	t.leave()
	t.segments.close()
	t.end()
}

// openSession receives the first frame and opens the backend's stream.
func (s *server) openSession(fs *wire.FrameStream) (*session, error) {
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
	if _, err := s.opened(); err != nil {
		return nil, err
	}
	d, err := s.find(c.Handle)
	if err != nil {
		return nil, err
	}
	t := &session{dev: d, number: c.Stream, fs: fs, decoder: wire.NewDecoder(d.generation), watches: fs.Direct() && wire.Spare()}
	t.changed, t.wake = sync.NewCond(&t.mu), make(chan struct{}, 1)
	if err := s.guard("open stream", func() (err error) { t.be, err = d.inner.OpenStream(fs.Context()); return err }); err != nil {
		return nil, err
	}
	t.holder, _ = t.be.(holder)
	t.closeInner = sync.OnceFunc(func() { _ = s.guard("close stream", t.be.Close) })
	t.ctx, t.cancel = context.WithCancel(fs.Context())
	context.AfterFunc(d.ctx, t.cancel)
	if err := t.register(); err != nil {
		t.closeInner()
		return nil, err
	}
	if err := fs.Send(wire.OpenedFrame()); err != nil {
		t.closeInner()
		t.end()
		return nil, err
	}
	return t, nil
}

// register adds the stream to the table of stream numbers.
func (t *session) register() error {
	t.dev.conn.mu.Lock()
	defer t.dev.conn.mu.Unlock()
	if t.dev.conn.streams[t.number] != nil {
		return fmt.Errorf("open: %w: there is a stream %d", core.ErrProtocol, t.number)
	}
	t.dev.conn.streams[t.number] = t
	return nil
}

// end removes the stream from the table of stream numbers. The events of the stream count as reached.
func (t *session) end() {
	t.dev.conn.mu.Lock()
	delete(t.dev.conn.streams, t.number)
	t.dev.conn.mu.Unlock()
	t.events.end()
}

// receive receives frames until the host ends the stream or the stream breaks.
func (t *session) receive() {
	defer t.fs.ReleaseFiles()
	for {
		err := t.fs.Next(func(f *wire.Frame) error { return t.arrived(f, true) })
		if err == nil {
			continue
		}
		t.mu.Lock()
		t.ended = true
		if !errors.Is(err, io.EOF) {
			t.over(err)
		}
		t.notify()
		t.mu.Unlock()
		t.drained()
		t.closeInner() // goroutines that wait for an answer receive the error
		return
	}
}

// arrived handles a received frame. Commands that overtake are handled at once, others are queued. patient means that the caller waits
// while the queue is full.
func (t *session) arrived(f *wire.Frame, patient bool) error {
	if f.Len() > wire.MaxFrame {
		err := fmt.Errorf("stream: %w: frame of %d bytes, at most %d", core.ErrProtocol, f.Len(), wire.MaxFrame)
		f.Free()
		return err
	}
	if number, size, ok := wire.ParseSegment(f); ok {
		f.Free()
		return t.segment(number, size)
	}
	if tag, number, ok := wire.Overtakes(f); ok {
		f.Free()
		if tag == wire.TagRetire {
			return t.segments.retire(number)
		}
		return t.requests.cancel(number)
	}
	t.enqueue(f, patient)
	return nil
}
