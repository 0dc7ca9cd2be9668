package protocol

import (
	"bytes"
	"fmt"
)

const cannotDecode = "A frame that cannot be decoded, exceeds a limit, or breaks the order is answered by FAIL with code 10, and the stream is over"

// aNode returns a frame with a node on a tensor that does not exist.
func (d *device) aNode() *frame { return d.frame().node("neg", 1, []uint64{d.id(90)}, 0, d.new(2)) }

var frameRules = []Rule{
	{ID: "frames/open-first", Section: 4, Text: "OPEN names the device by its handle", check: func(t *test) {
		d := t.device()
		s := d.call()
		s.send(d.frame().signal())
		s.wantFail("SIGNAL as the first command", codeProtocol)
		s = d.call()
		s.send(&frame{})
		s.wantFail("an empty first frame", codeProtocol)
	}},
	{ID: "frames/open-alone", Section: 4, Text: "uvarint handle, uvarint stream; alone, and the first frame", check: func(t *test) {
		d := t.device()
		s := d.call()
		s.send((&frame{}).byte(cmdOpen).uint(d.handle, s.number).byte(cmdSignal))
		s.wantFail("OPEN with SIGNAL in its frame", codeProtocol)
		s = d.stream()
		s.send((&frame{}).byte(cmdOpen).uint(d.handle, s.number+1000000))
		s.wantFail("a second OPEN", codeProtocol)
	}},
	{ID: "frames/stream-number", Section: 4, Text: "gives the stream a number that no other stream of the same host has or had", check: func(t *test) {
		d := t.device()
		a, b := d.stream(), d.call()
		b.send((&frame{}).byte(cmdOpen).uint(d.handle, a.number))
		b.wantFail("OPEN with the number of another stream", codeProtocol)
		a.alive("the stream whose number was used again")
	}},
	{ID: "frames/empty", Section: 4, Text: "an empty frame breaks the protocol", check: func(t *test) { t.device().fails("an empty frame", &frame{}) }},
	{ID: "frames/tag", Section: 4, Text: cannotDecode, check: func(t *test) {
		d := t.device()
		for _, tag := range []byte{0, 0x16, 0x7f, replyOpened, replyDone, 0xff} {
			d.fails(fmt.Sprintf("a command with tag 0x%02x", tag), (&frame{}).byte(tag, 1, 1))
		}
	}},
	{ID: "frames/cut-off", Section: 4, Text: cannotDecode, check: func(t *test) {
		d := t.device()
		whole := map[string]*frame{"NODE": d.aNode(), "FREE": d.frame().free(d.id(91), d.id(92)), "READ": d.frame().read(1, d.id(93), 300),
			"WRITE": d.frame().write(d.new(2), floats(1, 2)), "BEGIN_WRITE": d.frame().beginWrite(1, d.new(300)), "AWAIT": d.frame().await(300, 1), "WAIT": d.frame().wait(77, 300)}
		for name, f := range whole {
			for _, n := range []int{1, len(f.b) / 2, len(f.b) - 1} {
				d.fails(fmt.Sprintf("%s that is cut off after %d of %d bytes", name, n, len(f.b)), &frame{b: f.b[:n]})
			}
		}
	}},
	{ID: "frames/count", Section: 4, Text: cannotDecode, check: func(t *test) {
		d := t.device()
		d.fails("FREE of 2^62 tensors", d.frame().byte(cmdFree).uint(1<<62))
		d.fails("a node with 2^40 outputs", d.frame().byte(cmdNode, 0).text("neg").uint(1).uint(0, 0, 1<<40))
		d.fails("a name of 2^63 bytes", d.frame().byte(cmdNode, 0).uint(1<<63).byte('x'))
	}},
	{ID: "frames/number", Section: 0, Text: "the high bit set in all bytes but the last, at most ten bytes", check: func(t *test) {
		d := t.device()
		long := append(bytes.Repeat([]byte{0x80}, 10), 1)
		d.fails("a number of eleven bytes", d.frame().byte(cmdFree).byte(long...))
		wide := append(bytes.Repeat([]byte{0xff}, 9), 2)
		d.fails("a number of more than 64 bits", d.frame().byte(cmdWait, 1).byte(wide...))
		s := d.stream()
		s.send(d.frame().byte(cmdWait, 0x81, 0x80, 0).byte(append(bytes.Repeat([]byte{0xff}, 9), 1)...)) // the widest, and one with zeros
		s.alive("a stream after numbers of three and of ten bytes")
	}},
	{ID: "frames/alone", Section: 4, Text: "Some commands fill a frame alone.", check: func(t *test) {
		d := t.device()
		d.fails("CANCEL behind SIGNAL in one frame", d.frame().signal().cancel(1))
		d.fails("BEGIN_WRITE that is not the last command of its frame", d.frame().beginWrite(1, d.new(4)).signal())
		if d.programs {
			d.fails("SIGNAL behind DEFINE in one frame", d.define(d.frame(), 1, 1, nil).signal())
			d.fails("DEFINE behind SIGNAL in one frame", d.define(d.frame().signal(), 1, 1, nil))
		}
	}},
	{ID: "frames/max-frame", Section: 4, Text: "Messages are at most MaxFrame bytes; both sides set the limits of their gRPC libraries to no less.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		// WRITEs of MaxInline, the last one shorter, so that the frame has MaxFrame bytes.
		f, n := d.frame(), uint64(0)
		for len(f.b)+maxInline+64 < maxFrame {
			x := d.new(maxInline / 4)
			f.write(x, make([]byte, maxInline))
			n = x.id
		}
		rest := d.new(1)
		head := len((&frame{last: f.last}).tensor(tensor{rest.id, f32, []uint64{1 << 13}}).b) + 1
		for f.b = append(f.b, cmdSignal); (maxFrame-len(f.b)-head)%4 != 0; {
			f.b = append(f.b, cmdSignal)
		}
		rest.shape = []uint64{uint64(maxFrame-len(f.b)-head) / 4}
		if rest.shape[0] < 128 || rest.shape[0] > 1<<14 {
			t.fail("the checker made a frame of the wrong size")
		}
		f.write(rest, make([]byte, rest.bytes()))
		for len(f.b) < maxFrame {
			f.b = append(f.b, cmdSignal)
		}
		s.send(f)
		if got := s.value(tensor{n, f32, []uint64{maxInline / 4}}, "READ after a frame of MaxFrame bytes"); len(got) != maxInline {
			t.fail("%d bytes, want %d", len(got), maxInline)
		}
		big := d.conn.open(t).stream() // where these ids are new
		big.send(f.signal())
		big.wantFail(tooLarge, codeProtocol)
		s.alive("another stream after a frame beyond MaxFrame")
	}},
	{ID: "frames/max-inline", Section: 4, Text: "id, type, data: a whole tensor of at most MaxInline bytes", check: func(t *test) {
		d := t.device()
		d.fails("WRITE of MaxInline+4 bytes", d.frame().write(d.new(maxInline/4+1), make([]byte, maxInline+4)))
		s := d.stream()
		x := d.new(maxInline / 4)
		s.send(d.frame().write(x, make([]byte, maxInline)))
		s.value(x, "READ after WRITE of MaxInline bytes")
	}},
	{ID: "frames/max-name", Section: 4, Text: "bytes of the name of an op or attribute", check: func(t *test) {
		d := t.device()
		name := string(bytes.Repeat([]byte{'x'}, maxName))
		d.fails("an op whose name has MaxName+1 bytes", d.frame().node(name+"x", 1, nil, 0, d.new(1)))
		s := d.stream()
		x := d.new(1)
		s.send(d.frame().node(name, 1, nil, 0, x))
		s.fault(x, "READ of the output of an unknown op whose name has MaxName bytes", codeUnsupported)
	}},
	{ID: "frames/max-attrs", Section: 4, Text: "attributes of a node", check: func(t *test) {
		d := t.device()
		with := func(n int, out tensor) *frame {
			f := d.frame().byte(cmdNode, 0).text("no.such_op").uint(1).operands(nil, 0, out).uint(uint64(n))
			for i := range n {
				f.byte(0).text(fmt.Sprint("a", i)).byte(3, 1)
			}
			return f
		}
		d.fails("a node with MaxAttrs+1 attributes", with(maxAttrs+1, d.new(1)))
		s := d.stream()
		x := d.new(1)
		s.send(with(maxAttrs, x))
		s.fault(x, "READ of the output of an unknown op with MaxAttrs attributes", codeUnsupported)
	}},
	{ID: "frames/max-names", Section: 4, Text: "numbered ops, and numbered attribute names, of a stream", check: func(t *test) {
		d := t.device()
		s := d.stream()
		f := d.frame()
		for i := range maxNames + 1 {
			x := d.new(1)
			f.node(fmt.Sprint("no.op", i), 1, nil, 0, x).free(x.id)
			if len(f.b) > maxFrame-1000 {
				s.send(f)
				f = d.frame()
			}
		}
		s.send(f)
		s.wantFail("MaxNames+1 ops", codeProtocol)
	}},
	{ID: "frames/max-events", Section: 4, Text: "At most MaxEvents events of a stream are not settled.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		s.send(&frame{b: bytes.Repeat([]byte{cmdSignal}, maxEvents)})
		r := s.ask()
		s.send(d.frame().await(r, maxEvents))
		s.wantOK(r, "AWAIT of event MaxEvents")
		s.send(&frame{b: bytes.Repeat([]byte{cmdSignal}, maxEvents+1)})
		s.wantFail("MaxEvents+1 events that are not settled", codeProtocol)
	}},
	{ID: "frames/types", Section: 4, Text: "A number that is not in this list cannot be decoded", check: func(t *test) {
		d := t.device()
		x := d.new(1).id
		for _, elem := range []byte{0, 24, 255} {
			d.fails(fmt.Sprintf("element type %d", elem), d.frame().byte(cmdBeginWrite, 1).id(x).byte(elem, 1, 4))
		}
	}},
	{ID: "frames/rank", Section: 4, Text: "A type is the byte of the element type, the byte of the rank (at most 8), and a uvarint for each dimension.", check: func(t *test) {
		d := t.device()
		d.fails("a type of rank 9", d.frame().beginWrite(1, d.new(1, 1, 1, 1, 1, 1, 1, 1, 1)))
	}},
	{ID: "frames/size", Section: 4, Text: "A type whose size in bytes does not fit 63 bits is refused.", check: func(t *test) {
		d := t.device()
		d.fails("f32[2^61]", d.frame().beginWrite(1, d.new(1<<61)))
		d.fails("f32[2^31,2^31]", d.frame().beginWrite(1, d.new(1<<31, 1<<31)))
		d.fails("f32[2^62,2^62,0]", d.frame().beginWrite(1, d.new(1<<62, 1<<62, 0)))
	}},
	{ID: "frames/id-start", Section: 4, Text: "the first is the difference to generation << 48. Every frame starts anew.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		for i := range uint64(3) {
			x := tensor{d.id(1000 * (i + 1)), f32, []uint64{1}}
			s.send(d.frame().write(x, floats(float32(i)))) // frame begins with the generation
			if string(s.value(x, "READ of a tensor whose id is the first of its frame")) != string(floats(float32(i))) {
				t.fail("another tensor is read")
			}
		}
	}},
	{ID: "frames/id-chain", Section: 4, Text: "Within it the differences run on through all commands and all ids", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x, y := tensor{d.id(500), f32, []uint64{1}}, tensor{d.id(7), f32, []uint64{1}}
		a, b := s.ask(), s.ask()
		s.send(d.frame().write(x, floats(1)).write(y, floats(2)).read(a, x.id, 4).read(b, y.id, 4))
		if string(s.wantData(a, "READ"))+string(s.wantData(b, "READ")) != string(floats(1, 2)) {
			t.fail("other tensors are read")
		}
	}},
	{ID: "frames/id-modulo", Section: 4, Text: "modulo 2^64", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := tensor{d.id(3), f32, []uint64{1}}
		r, q := s.ask(), s.ask()
		s.send(d.frame().write(x, floats(4)).read(r, 1<<63+5, 4).read(q, x.id, 4)) // there and back by more than half of all ids
		s.wantCode(r, "READ of an id of another generation", codeStale)
		if string(s.wantData(q, "READ")) != string(floats(4)) {
			t.fail("another tensor is read")
		}
	}},
}
