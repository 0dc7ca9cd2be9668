package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fakeStream executes the commands of a stream one after the other.
type fakeStream struct {
	s      *fakeServer
	w      fakeWire
	dev    *fakeDevice
	number uint64
	frames chan []byte
	err    error // of receiving
	over   bool

	ops      []string
	attrs    []string
	last     uint64 // the id to which the next one is relative
	signaled uint64 // guarded by s.mu
	settled  uint64
	failures []fakeFailure
	canceled map[uint64]bool
	upload   *fakeUpload
	lazy     []func() // READs of a frame, with the fault data/read-then-free
	poison   []*fakeTensor
	segments map[uint64][]byte
}

type fakeFailure struct {
	behind uint64
	err    []byte
}

type fakeUpload struct {
	request uint64
	d       tensor
	data    []byte
}

// breach is a panic that ends a stream with a protocol error, code 10.
type breach struct{ text string }

func (t *fakeStream) broken(format string, args ...any) { panic(breach{fmt.Sprintf(format, args...)}) }

func (s *fakeServer) stream(w fakeWire) (err error) {
	t := &fakeStream{s: s, w: w, frames: make(chan []byte, 1<<12), canceled: map[uint64]bool{}, segments: map[uint64][]byte{}}
	defer t.end()
	if _, call := w.(*fakeCall); call && bad("plane/grpc-too") {
		return status.Error(codes.Unimplemented, "streams are sockets")
	}
	if bad("data/receives") {
		t.frames = nil
	} else {
		go t.receive()
	}
	defer func() {
		if p, ok := recover().(breach); ok {
			_ = w.give(append([]byte{replyFail}, plainError(codeProtocol, p.text)...))
			err = nil
		}
	}()
	for {
		b, open := t.next()
		if !open {
			break
		}
		t.frame(b)
		if t.over || w.Context().Err() != nil {
			return w.Context().Err()
		}
	}
	if bad("data/half-closed") {
		return status.Error(codes.Internal, "the host has gone")
	}
	return nil
}

func (t *fakeStream) receive() {
	defer close(t.frames)
	for {
		b, err := t.w.take()
		if err != nil {
			t.err = err
			return
		}
		if len(b) > 0 && b[0] == cmdCancel {
			r := &reader{b: b[1:]}
			t.s.mu.Lock()
			t.canceled[r.uint()] = true
			t.s.mu.Unlock()
			if bad("events/cancel-unknown") && b[1] == 77 {
				b = []byte{0x7f}
			} else if len(r.b) == 0 {
				continue
			}
		}
		select {
		case t.frames <- b:
		case <-t.w.Context().Done():
			return
		}
	}
}

func (t *fakeStream) next() ([]byte, bool) {
	if t.frames == nil {
		b, err := t.w.take()
		return b, err == nil
	}
	var ended chan struct{}
	if t.dev != nil {
		ended = t.dev.ended
	}
	select {
	case b, open := <-t.frames:
		return b, open && (t.err == nil || errors.Is(t.err, io.EOF) || len(b) > 0)
	case <-ended:
		return nil, false
	}
}

func (t *fakeStream) end() {
	if bad("services/canceled-call") && t.w.Context().Err() != nil {
		return // the stream stays known
	}
	t.s.mu.Lock()
	if t.s.streams[t.number] == t {
		delete(t.s.streams, t.number)
	}
	t.s.changed.Broadcast()
	t.s.mu.Unlock()
	if t.dev != nil && bad("services/outlives-stream") {
		t.dev.mu.Lock()
		clear(t.dev.tensors)
		t.dev.mu.Unlock()
	}
}

func (t *fakeStream) reply(tag byte, request uint64, content ...byte) {
	_ = t.w.give(append((&frame{}).byte(tag).uint(request).b, content...))
}

func (t *fakeStream) note(err []byte) {
	if err == nil {
		return
	}
	t.s.failures++
	if bad("errors/survives") && t.s.failures > 10 {
		os.Exit(1)
	}
	t.failures = append(t.failures, fakeFailure{t.signaled, err})
}

func (t *fakeStream) frame(b []byte) {
	r := &fakeReader{reader{b: b}, t}
	if t.dev != nil && !bad("frames/id-start") || t.last == 0 && t.dev != nil {
		t.last = t.dev.gen << 48
	}
	if t.dev == nil {
		t.open(r)
		return
	}
	if len(b) == 0 && !bad("frames/empty") {
		t.broken("an empty frame")
	}
	if len(b) > maxFrame && !bad("frames/max-frame") {
		t.broken("a frame of %d bytes", len(b))
	}
	if bad("nodes/computes") {
		t.ops = nil
	}
	for first := true; len(r.b) > 0 && !t.over; first = false {
		if bad("frames/id-chain") {
			t.last = t.dev.gen << 48
		}
		t.command(r, first)
	}
	for _, f := range t.lazy {
		f()
	}
	t.lazy = nil
}

func (t *fakeStream) open(r *fakeReader) {
	if len(r.b) == 0 || r.b[0] != cmdOpen {
		if !bad("frames/open-first") {
			t.broken("the first frame is not OPEN")
		}
		_ = t.w.give([]byte{replyOpened})
		return
	}
	r.one()
	handle, number := r.number(), r.number()
	if len(r.b) > 0 && !bad("frames/open-alone") {
		t.broken("OPEN does not stand alone")
	}
	t.s.mu.Lock()
	d, twice := t.s.devices[handle], t.s.streams[number] != nil
	twice = twice || bad("services/many-streams") && len(t.s.streams) > 0
	if d != nil && (!twice || bad("frames/stream-number")) {
		t.s.streams[number] = t
	}
	t.s.mu.Unlock()
	switch {
	case d == nil:
		_ = t.w.give(append([]byte{replyFail}, plainError(codeClosed, "no such device")...))
		t.over = true
		return
	case twice && !bad("frames/stream-number"):
		t.broken("the number of the stream is in use")
	}
	t.dev, t.number = d, number
	_ = t.w.give([]byte{replyOpened})
}

func (t *fakeStream) command(r *fakeReader, first bool) {
	tag := r.one()
	alone := func() {
		if (!first || len(r.b) > 0) && !bad("frames/alone") {
			t.broken("command %d does not stand alone", tag)
		}
	}
	if t.upload != nil && tag != cmdChunk && (tag != cmdAwait || bad("data/amid-chunks")) {
		t.broken("command %d amid chunks", tag)
	}
	switch tag {
	case cmdNode:
		t.node(r)
	case cmdFree:
		for _, id := range r.idList() {
			t.free(id)
		}
	case cmdWrite:
		d := r.desc()
		if d.bytes() > maxInline && !bad("frames/max-inline") {
			t.broken("WRITE of %d bytes", d.bytes())
		}
		n := d.bytes()
		if bad("data/types") && d.elem == 20 {
			n /= 2
		}
		if bad("data/scalar") && len(d.shape) == 0 {
			n = 0
		}
		t.note(t.make(d, bytes.Clone(r.bytes(n)), nil))
	case cmdBeginWrite:
		request, d := r.number(), r.desc()
		if len(r.b) > 0 && !bad("frames/alone") {
			t.broken("BEGIN_WRITE is not the last command of its frame")
		}
		t.upload = &fakeUpload{request: request, d: d}
	case cmdChunk:
		t.chunk(r.number(), r.b)
		r.b = nil
	case cmdRead:
		t.read(r.number(), r.id(), r.number())
	case cmdSignal:
		if t.signaled-t.settled >= maxEvents && !bad("frames/max-events") {
			t.broken("too many events")
		}
		t.s.mu.Lock()
		t.signaled++
		t.s.changed.Broadcast()
		t.s.mu.Unlock()
	case cmdCancel:
		t.broken("CANCEL does not stand alone")
	case cmdWait:
		t.wait(r.number(), r.number())
	case cmdAwait:
		t.await(r.number(), r.number())
	case cmdDefine:
		t.define(r, alone)
	case cmdRun:
		t.run(r)
	default:
		if !t.planeCommand(tag, r, alone) && !bad("frames/tag") {
			t.broken("command %d", tag)
		}
	}
}

// make creates a tensor with data, or poisoned by err. It returns an error message if its id is wrong, else nil.
func (t *fakeStream) make(d tensor, data, err []byte) []byte {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	if d.id>>48 != t.dev.gen {
		return plainError(codeStale, "another generation")
	}
	if t.dev.tensors[d.id] != nil && !bad("checks/twice") {
		return plainError(codeProtocol, "the id exists")
	}
	t.dev.tensors[d.id] = &fakeTensor{d, data, err, t}
	return nil
}

func (t *fakeStream) find(id uint64) (*fakeTensor, []byte) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	x := t.dev.tensors[id]
	if x == nil || bad("poison/across-streams") && x.err != nil && x.by != t {
		if id>>48 != t.dev.gen && !bad("checks/stale") {
			return nil, plainError(codeStale, "another generation")
		}
		return nil, plainError(codeUnknown, "unknown tensor")
	}
	return x, nil
}

func (t *fakeStream) free(id uint64) {
	x, err := t.find(id)
	if x != nil && x.err != nil && bad("poison/freed") {
		err = plainError(codeUnknown, "unknown tensor")
	}
	if err != nil && bad("poison/free-unknown") {
		return
	}
	t.note(err)
	t.drop(id)
}

func (t *fakeStream) drop(id uint64) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	delete(t.dev.tensors, id)
}

func (t *fakeStream) chunk(request uint64, data []byte) {
	u := t.upload
	if u == nil || u.request != request || len(data) > chunkSize || uint64(len(u.data)+len(data)) > u.d.bytes() {
		if bad("data/stray-chunk") {
			return
		}
		t.broken("a chunk that is not expected")
	}
	if len(data) == 0 {
		t.upload = nil
		err := plainError(codeCanceled, "given up")
		if !bad("data/failed-write") {
			t.make(u.d, nil, err)
		}
		if bad("data/given-up") {
			err = nil
		}
		t.reply(replyDone, request, err...)
		return
	}
	if bad("data/chunks") && len(data) < chunkSize && len(data) > 4 {
		data = make([]byte, len(data))
	}
	u.data = append(u.data, data...)
	if uint64(len(u.data)) == u.d.bytes() {
		t.upload = nil
		t.reply(replyDone, request, t.make(u.d, u.data, nil)...)
	}
}

func (t *fakeStream) read(request, id, size uint64) {
	x, err := t.find(id)
	if x != nil && x.err != nil {
		err = x.err
		if bad("poison/sticky") {
			x.err, x.data = nil, make([]byte, x.bytes())
		}
	}
	if err == nil && size != x.bytes() && !bad("data/size") {
		err = plainError(codeShape, "another size")
	}
	t.s.mu.Lock()
	if t.canceled[request] && err == nil && !bad("data/read-then-free") {
		err = plainError(codeCanceled, "canceled")
	}
	t.s.mu.Unlock()
	if err != nil {
		t.reply(replyDone, request, err...)
		return
	}
	send := func() {
		data, part := x.data, chunkSize
		if bad("data/read-chunks") {
			part /= 2
		}
		if bad("data/read-then-free") {
			if y, _ := t.find(id); y == nil {
				data = make([]byte, len(data))
			}
		}
		for {
			n := min(len(data), part)
			last := byte(0)
			if n == len(data) {
				last = 1
			}
			t.reply(replyData, request, append([]byte{last}, data[:n]...)...)
			if data = data[n:]; len(data) == 0 {
				return
			}
		}
	}
	if bad("data/read-then-free") {
		t.lazy = append(t.lazy, send)
		return
	}
	send()
}

func (t *fakeStream) wait(number, event uint64) {
	if bad("events/wait") {
		return
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	unknown := t.s.streams[number] == nil && bad("events/wait-nothing")
	for {
		other := t.s.streams[number]
		gone := other == nil && !unknown && !(bad("events/wait-end") && number < 1<<61)
		if other == t || gone || other != nil && other.signaled >= event {
			if other != nil && bad("events/wait-failure") {
				t.failures = append(t.failures, other.failures...)
			}
			return
		}
		select {
		case <-t.dev.ended:
			return
		default:
		}
		if t.w.Context().Err() != nil {
			return
		}
		time.AfterFunc(20*time.Millisecond, func() { t.s.mu.Lock(); t.s.changed.Broadcast(); t.s.mu.Unlock() })
		t.s.changed.Wait()
	}
}

func (t *fakeStream) await(request, event uint64) {
	if (event == 0 || event > t.signaled) && !bad("events/await") {
		t.broken("event %d of %d", event, t.signaled)
	}
	t.s.mu.Lock()
	canceled := t.canceled[request]
	t.s.mu.Unlock()
	if bad("events/settled") && event <= t.settled {
		t.reply(replyDone, request, plainError(codeNotFound, "no such event")...)
		return
	}
	if canceled {
		if bad("events/cancel-failure") {
			t.failures = nil
		}
		t.reply(replyDone, request, plainError(codeCanceled, "canceled")...)
		return
	}
	var first []byte
	t.failures = slices.DeleteFunc(t.failures, func(f fakeFailure) bool {
		if f.behind >= event && !bad("events/behind") {
			return false
		}
		if first == nil {
			first = f.err
		}
		return !bad("events/once")
	})
	t.settled = max(t.settled, event)
	t.reply(replyDone, request, first...)
}
