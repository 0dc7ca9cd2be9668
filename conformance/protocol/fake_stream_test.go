package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fakeStream executes one command after the other.
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
	last     uint64 // id
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

// breach ends a stream with code 10.
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
		return // it stays known
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

// fakeReader is reader with the faults of decoding.
type fakeReader struct {
	reader
	t *fakeStream
}

func (r *fakeReader) check() {
	if r.err != nil {
		if bad("frames/cut-off") {
			r.err = nil
			return
		}
		r.t.broken("%v", r.err)
	}
}

func (r *fakeReader) number() uint64 {
	if bad("frames/number") && len(r.b) > 10 {
		for i, c := range r.b {
			if c < 0x80 && i >= 9 {
				r.b = r.b[i+1:]
				return 0
			} else if c < 0x80 {
				break
			}
		}
	}
	v := r.uint()
	r.check()
	return v
}

func (r *fakeReader) one() byte {
	b := r.byte()
	r.check()
	return b
}

func (r *fakeReader) bytes(n uint64) []byte {
	if bad("frames/count") {
		n = min(n, uint64(len(r.b)))
	}
	b := r.take(n)
	r.check()
	return b
}

func (r *fakeReader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.b)) {
		if bad("frames/count") || bad("frames/cut-off") {
			return 0
		}
		r.t.broken("%d entries in %d bytes", n, len(r.b))
	}
	return n
}

func (r *fakeReader) string(most uint64) string {
	n := r.number()
	if n > most && !bad("frames/max-name") && !bad("frames/count") {
		r.t.broken("a text of %d bytes", n)
	}
	return string(r.bytes(n))
}

func (r *fakeReader) id() uint64 {
	u := r.number()
	d := int64(u>>1) ^ -int64(u&1)
	r.t.last += uint64(d)
	if bad("frames/id-modulo") {
		r.t.last = r.t.last&(1<<48-1) | r.t.dev.gen<<48
	}
	return r.t.last
}

func (r *fakeReader) idList() (l []uint64) {
	for range r.count() {
		l = append(l, r.id())
	}
	return l
}

func (r *fakeReader) desc() tensor {
	d := tensor{id: r.id()}
	d.elem = r.one()
	if d.elem == 0 || int(d.elem) >= len(elements) {
		if !bad("frames/types") && !bad("frames/cut-off") {
			r.t.broken("element type %d", d.elem)
		}
		d.elem = f32
	}
	rank := r.one()
	if rank > 8 && !bad("frames/rank") {
		r.t.broken("rank %d", rank)
	}
	size := uint64(elements[d.elem])
	for range rank {
		n := r.number()
		if n > 0 && size > math.MaxInt64/n && !bad("frames/size") {
			r.t.broken("too large")
		}
		size *= max(n, 1)
		d.shape = append(d.shape, n)
	}
	return d
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

// make makes a tensor, of data or of what poisons it, and returns what is wrong with its id.
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

// fakeNode is a decoded node.
type fakeNode struct {
	op      string
	version uint64
	in      []uint64
	drop    uint64
	out     []tensor
	fill    bool // of 64 TiB
}

func (t *fakeStream) decodeNode(r *fakeReader) (n fakeNode) {
	num := r.number()
	switch {
	case num == 0:
		n.op, n.version = r.string(maxName), r.number()
		if len(t.ops) >= maxNames && !bad("frames/max-names") {
			t.broken("too many names")
		}
		if !bad("nodes/numbers") || n.op == "neg" {
			t.ops = append(t.ops, fmt.Sprint(n.op, " ", n.version))
		}
	case num <= uint64(len(t.ops)):
		_, _ = fmt.Sscan(t.ops[num-1], &n.op, &n.version)
	case bad("nodes/no-number"):
		n.op, n.version = "neg", 1
	case bad("nodes/computes"), bad("nodes/numbers"):
		n.op = "lost"
	default:
		t.broken("op number %d of %d", num, len(t.ops))
	}
	n.in, n.drop = r.idList(), r.number()
	for range r.count() {
		n.out = append(n.out, r.desc())
	}
	attrs := r.count()
	if attrs > maxAttrs && !bad("frames/max-attrs") {
		t.broken("%d attributes", attrs)
	}
	for range attrs {
		if num := r.number(); num == 0 {
			t.attrs = append(t.attrs, r.string(maxName))
		} else if num > uint64(len(t.attrs)) && !bad("nodes/no-number") {
			t.broken("name %d of %d", num, len(t.attrs))
		}
		t.value(r)
	}
	return n
}

func (t *fakeStream) value(r *fakeReader) {
	bit := func() byte {
		b := r.one()
		if b > 1 && !bad("nodes/bad-values") {
			t.broken("byte %d", b)
		}
		return b
	}
	switch kind := r.one(); kind {
	case 1:
		r.number()
	case 2:
		r.bytes(8)
	case 3:
		bit()
	case 4:
		if s := r.string(maxText); bad("nodes/values") && len(s) != len([]rune(s)) {
			t.broken("a text that is not ASCII")
		}
	case 5:
		r.one()
	case 6:
		for range r.count() {
			r.number()
		}
	case 7:
		for range r.count() {
			r.bytes(8)
		}
	case 8:
		if bit() == 0 {
			r.bytes(8)
		} else {
			r.number()
		}
	default:
		if !bad("nodes/bad-values") {
			t.broken("an attribute of kind %d", kind)
		}
	}
}

// fakeNodeError is an error of form 1.
func fakeNodeError(op, program string, out []tensor, cause []byte) []byte {
	if bad("poison/names-node") {
		return cause
	}
	f := (&frame{}).byte(1).text(op).text(program).uint(uint64(len(out)))
	for _, d := range out {
		f.uint(d.id).byte(d.elem, byte(len(d.shape)))
		for _, n := range d.shape {
			f.int(int64(n))
		}
	}
	return f.byte(cause...).b
}

func (t *fakeStream) node(r *fakeReader) {
	n := t.decodeNode(r)
	var in []*fakeTensor
	var poison, fault []byte
	for _, id := range n.in {
		x, err := t.find(id)
		switch {
		case err != nil && bad("checks/unknown-tensor") && n.op == "neg":
			in = append(in, &fakeTensor{tensor: tensor{elem: f32, shape: []uint64{2}}, data: make([]byte, 8)})
			continue
		case err != nil:
			fault = err
			continue
		case x.err != nil && poison == nil:
			poison = x.err
		}
		in = append(in, x)
	}
	var data []byte
	if fault == nil && poison == nil {
		data, fault = t.compute(&n, in)
	}
	if fault == nil && poison != nil && bad("poison/no-failure") {
		t.note(poison)
	}
	if fault != nil {
		poison = fakeNodeError(n.op, "", n.out, fault)
		t.note(poison)
		if bad("checks/not-executed") {
			t.broken("a node failed")
		}
	}
	for i, id := range n.in {
		if n.drop>>i&1 != 0 && !bad("nodes/drop") {
			t.drop(id)
		}
	}
	for _, d := range n.out {
		if err := t.make(d, data, poison); err != nil {
			t.note(fakeNodeError(n.op, "", n.out, err))
		}
	}
}

func (t *fakeStream) compute(n *fakeNode, in []*fakeTensor) (data, fault []byte) {
	switch {
	case n.op == "neg" && n.version == 1, bad("checks/unknown-op") && len(in) == 1:
		if len(in) != 1 {
			return nil, plainError(codeAttr, "the number of operands")
		}
		if len(n.out) != 1 || !slices.Equal(n.out[0].shape, in[0].shape) || n.out[0].elem != in[0].elem {
			if !bad("checks/outputs") {
				return nil, plainError(codeShape, "the output")
			}
		}
		for at := 0; at+4 <= len(in[0].data); at += 4 {
			data = binary.LittleEndian.AppendUint32(data, binary.LittleEndian.Uint32(in[0].data[at:])^1<<31)
		}
		return data, nil
	case n.op == "full" && len(n.out) == 1 && n.out[0].bytes() > 1<<40:
		if bad("checks/memory") {
			os.Exit(1)
		}
		return nil, plainError(codeMemory, "out of memory")
	}
	return nil, plainError(codeUnsupported, "unsupported")
}

// fakeProgram is a program of nodes.
type fakeProgram struct {
	name        string
	in, consts  []tensor
	values      []*fakeTensor // of the constants
	nodes       []fakeNode
	out         []uint64
	runs, limit uint64
	ending      bool
}

func (t *fakeStream) define(r *fakeReader, alone func()) {
	request, number, consts := r.number(), r.number(), r.idList()
	last, ops, attrs := t.last, t.ops, t.attrs
	t.last, t.ops, t.attrs = 0, nil, nil
	p := &fakeProgram{name: r.string(maxText)}
	for _, l := range []*[]tensor{&p.in, &p.consts} {
		for range r.count() {
			*l = append(*l, r.desc())
		}
	}
	for range r.count() {
		p.nodes = append(p.nodes, t.decodeNode(r))
	}
	p.out = r.idList()
	t.last, t.ops, t.attrs = last, ops, attrs
	alone()
	err := t.checkProgram(p)
	for _, id := range consts {
		x, e := t.find(id)
		if x != nil && x.err != nil && !bad("programs/constants") {
			e = x.err
		}
		if e != nil {
			err = e
			continue
		}
		p.values = append(p.values, x)
	}
	t.dev.mu.Lock()
	if t.dev.programs[number] != nil && !bad("programs/twice") {
		err = plainError(codeProtocol, "the number is in use")
	}
	if err == nil {
		t.dev.programs[number] = p
	}
	t.dev.mu.Unlock()
	t.reply(replyDone, request, err...)
}

func (t *fakeStream) checkProgram(p *fakeProgram) []byte {
	if bad("programs/checked") {
		return nil
	}
	there := map[uint64]bool{}
	for _, d := range append(slices.Clone(p.in), p.consts...) {
		there[d.id] = true
	}
	for _, n := range p.nodes {
		if n.op != "neg" {
			return plainError(codeUnsupported, "unsupported")
		}
		for _, id := range n.in {
			if !there[id] {
				return plainError(codeUnknown, "used before it is there")
			}
		}
		for _, d := range n.out {
			if there[d.id] {
				return plainError(codeProtocol, "defined twice")
			}
			there[d.id] = true
		}
	}
	for _, id := range p.out {
		if !there[id] {
			return plainError(codeUnknown, "an output that is not there")
		}
	}
	return nil
}

func (t *fakeStream) run(r *fakeReader) {
	number, in, out := r.number(), r.idList(), r.idList()
	bits := r.bytes((r.number() + 7) / 8)
	t.dev.mu.Lock()
	p := t.dev.programs[number]
	t.dev.mu.Unlock()
	donate := func() {
		for i, id := range in {
			if i/8 < len(bits) && bits[i/8]>>(i%8)&1 != 0 && !bad("programs/donated") {
				t.drop(id)
			}
		}
	}
	defer donate()
	if p == nil {
		if !bad("programs/unknown") {
			t.note(plainError(codeNotFound, "no such program"))
		}
		return
	}
	values := map[uint64]*fakeTensor{}
	var fault, poison []byte
	for i, id := range in {
		x, err := t.find(id)
		if err != nil {
			fault = err
			continue
		}
		if x.err != nil {
			poison = x.err
			if bad("programs/poisoned") {
				poison = plainError(codeUnsupported, "an input is poisoned")
			}
		}
		values[p.in[i].id] = x
	}
	for i, x := range p.values {
		values[p.consts[i].id] = x
	}
	results := make([]tensor, len(out))
	for i, id := range out {
		results[i] = tensor{id, f32, []uint64{2}}
	}
	if fault == nil && poison == nil {
		for _, n := range p.nodes {
			data, err := t.compute(&n, []*fakeTensor{values[n.in[0]]})
			if fault = err; err != nil {
				break
			}
			values[n.out[0].id] = &fakeTensor{tensor: n.out[0], data: data}
		}
	}
	if fault != nil {
		named := results
		if bad("programs/ids-in-errors") {
			named = p.nodes[0].out
		}
		poison = fakeNodeError("", p.name, named, fault)
		t.note(poison)
	}
	for i := range results {
		var data []byte
		if x := values[p.out[i]]; x != nil {
			data = x.data
			if bad("programs/run") {
				data = append(bytes.Clone(data[:len(data)-1]), 0x55)
			}
		}
		t.note(t.make(results[i], data, poison))
	}
	p.runs++
	if p.ending && p.runs >= p.limit {
		t.dev.mu.Lock()
		delete(t.dev.programs, number)
		t.dev.mu.Unlock()
	}
}
