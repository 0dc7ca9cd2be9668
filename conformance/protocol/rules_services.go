package protocol

import (
	"time"
)

var serviceRules = []Rule{
	{ID: "services/controller", alone: true, Section: 3, Text: "the messages of Shutdown are empty", check: func(t *test) {
		p := t.start(how{})
		p.connect(t)
		reply, err := p.conn.call(t, "/plugin.GRPCController/Shutdown", nil)
		if err == nil && len(reply) > 0 {
			t.fail("Shutdown is answered by %x, want an empty message", reply)
		}
	}},
	{ID: "services/newest", Section: 3, Text: "the plugin chooses the newest that both support", check: func(t *test) {
		w := t.plugin().conn.hello(t, 1, 1<<20)
		if w.min < 1 || w.min > w.max || w.chosen != w.max {
			t.fail("a host of versions 1 to %d gets version %d of a plugin of %d to %d", 1<<20, w.chosen, w.min, w.max)
		}
	}},
	{ID: "services/no-version", Section: 3, Text: "If there is none it answers `version` 0 and its range", check: func(t *test) {
		c := t.plugin().conn
		w := c.hello(t, 1, 1<<20)
		w = c.hello(t, w.max+1, w.max+5)
		if w.chosen != 0 || w.max == 0 || w.min > w.max {
			t.fail("a host that is too new gets version %d and the range %d to %d, want 0 and the range", w.chosen, w.min, w.max)
		}
		if w := c.hello(t, Version, Version); w.chosen != Version || w.err != nil {
			t.fail("Hello afterwards: version %d, %v", w.chosen, w.err)
		}
	}},
	{ID: "services/features", Section: 3, Text: "unknown names are ignored, and one is used when both name it", check: func(t *test) {
		c := t.plugin().conn
		if w := c.hello(t, Version, Version, "x-of-the-future", ""); w.err != nil || w.chosen != Version {
			t.fail("Hello with an unknown feature: version %d, %v", w.chosen, w.err)
		}
		if w := c.hello(t, Version, Version); w.socket != "" || len(w.token) > 0 {
			t.fail("a socket is offered to a host that does not name the feature")
		}
	}},
	{ID: "services/info", Section: 4, Text: "devices in the answer to Hello, each with an index of its own", check: func(t *test) {
		w := t.plugin().conn.hello(t, Version, Version)
		if len(w.devices) > 1024 || len(w.features) > 256 {
			t.fail("%d devices and %d features, at most 1024 and 256", len(w.devices), len(w.features))
		}
		names := append([]string{w.name, w.version, w.vendor}, w.features...)
		seen := map[int64]bool{}
		for _, d := range w.devices {
			if d.index < 0 || seen[d.index] {
				t.fail("device index %d, want each once and from 0", d.index)
			}
			seen[d.index] = true
			names = append(names, d.name, d.kind)
		}
		for _, n := range names {
			if len(n) > maxName {
				t.fail("%.40q... has %d bytes, at most %d", n, len(n), maxName)
			}
		}
	}},
	{ID: "services/again", alone: true, Section: 3, Text: "A second Hello, of another host that attaches, answers with the backend already open.", check: func(t *test) {
		p, c := t.two()
		defer c.close()
		a := p.conn.hello(t, Version, Version)
		d := p.conn.open(t)
		s := d.stream()
		x := d.new(1)
		s.settle(s.frame().write(x, floats(5)), 1, "AWAIT")
		b := c.hello(t, Version, Version)
		if a.name != b.name || len(a.devices) != len(b.devices) {
			t.fail("%s with %d devices, and at the second Hello %s with %d", a.name, len(a.devices), b.name, len(b.devices))
		}
		if string(s.value(x, "READ after a second Hello")) != string(floats(5)) {
			t.fail("a second Hello changes a tensor")
		}
	}},
	{ID: "services/no-device", Section: 3, Text: "`device` is one of the indexes of `info`", check: func(t *test) {
		c := t.plugin().conn
		t.handles++
		e := c.outcome(t, "Open", openRequest(t.handles<<32|1, 1000000, 1))
		t.wantCode(e, "Open of device 1000000", codeNotFound)
	}},
	{ID: "services/handle", Section: 3, Text: "a handle that is in use is refused with code 10", check: func(t *test) {
		d := t.device()
		e := d.conn.outcome(t, "Open", openRequest(d.handle, t.info.devices[0].index, 1))
		t.wantCode(e, "Open with a handle that is in use", codeProtocol)
		d.stream().alive("the device whose handle was used again")
	}},
	{ID: "services/own-tensors", Section: 3, Text: "Each Open makes a device with tensors and programs of its own, also for an index that is open already.", check: func(t *test) {
		c := t.plugin().conn
		a := c.open(t)
		b := c.openAs(t, a.generation)
		x := a.new(1)
		s := a.stream()
		s.send(s.frame().write(x, floats(1)))
		s.alive("the first device")
		r := b.stream()
		r.fault(x, "READ of a tensor of another device", codeUnknown)
	}},
	{ID: "services/capabilities", Section: 3, Text: "`limits` bound a node on the device, and those of an op bound it further: `rank`, from 1 to 8 for a device", check: func(t *test) {
		d := t.device()
		if !d.ok || d.rank < 1 || d.rank > 8 {
			t.fail("capabilities with rank %d, want 1 to 8", d.rank)
		}
		if d.types == 0 || d.types&^known != 0 {
			t.fail("types %#x, want some, and only those of section 4", d.types)
		}
	}},
	{ID: "services/close", Section: 3, Text: "**Close** ends a device, with all its streams, tensors and programs.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		if e := d.conn.outcome(t, "Close", fixed(nil, 1, d.handle)); e != nil {
			t.fail("Close: %v", e)
		}
		for {
			if _, open := s.maybe(t.Patience, "the end of the streams of a device that was closed"); !open {
				return
			}
		}
	}},
	{ID: "services/closed", Section: 3, Text: "A handle that is not known gets code 11 from all calls that name one.", check: func(t *test) {
		d := t.device()
		d.conn.outcome(t, "Close", fixed(nil, 1, d.handle))
		calls := map[string]bool{"Close": true, "Memory": d.memory, "StartProfile": d.profiling}
		for name, there := range calls {
			if there {
				t.wantCode(d.conn.outcome(t, name, fixed(nil, 1, d.handle)), name+" with a handle that is not known", codeClosed)
			}
		}
		if d.programs {
			t.wantCode(d.conn.outcome(t, "Undefine", field(fixed(nil, 1, d.handle), 2, 1)), "Undefine with a handle that is not known", codeClosed)
		}
		if d.selective && d.op != "" {
			t.wantCode(d.conn.outcome(t, "Supports", bytesField(fixed(nil, 1, d.handle), 2, d.question())), "Supports with a handle that is not known", codeClosed)
		}
		s := d.call()
		s.send((&frame{}).byte(cmdOpen).uint(d.handle, s.number))
		s.wantFail("OPEN with a handle that is not known", codeClosed)
	}},
	{ID: "services/outlives-stream", Section: 3, Text: "It does not end with a stream.", check: func(t *test) {
		d := t.device()
		x := d.new(1)
		s := d.stream()
		s.settle(s.frame().write(x, floats(7)), 1, "AWAIT")
		s.end("the end of the host's side")
		if string(d.stream().value(x, "READ on another stream")) != string(floats(7)) {
			t.fail("a tensor changes with the end of its stream")
		}
	}},
	{ID: "services/supports", Section: 3, Text: "The plugin returns equal answers to equal queries.", check: func(t *test) {
		d := t.device()
		if !d.selective {
			t.skip("the device is not selective")
		}
		d.needsOp()
		for range 2 {
			if e := d.conn.outcome(t, "Supports", bytesField(fixed(nil, 1, d.handle), 2, d.question())); e != nil {
				t.fail("Supports of %s on f32[2]: %v, want no error", d.op, e)
			}
		}
	}},
	{ID: "services/supports-unknown", Section: 3, Text: "code 4, unsupported, means that the host decomposes the node or runs it elsewhere", check: func(t *test) {
		d := t.device()
		if !d.selective {
			t.skip("the device is not selective")
		}
		q := (&frame{}).byte(1, 0).typ(tensor{0, f32, []uint64{2}}).byte(0).text("no.such_op").uint(1)
		q.operands([]uint64{1}, 0, tensor{2, f32, []uint64{2}}).uint(0)
		t.wantCode(d.conn.outcome(t, "Supports", bytesField(fixed(nil, 1, d.handle), 2, q.b)), "Supports of an unknown op", codeUnsupported)
	}},
	{ID: "services/memory", Section: 3, Text: "**Memory** reports bytes in use, bytes held from the system, and the number of live tensors of a device.", check: func(t *test) {
		d := t.device()
		if !d.memory {
			t.skip("the device has no extension memory")
		}
		usage := func() (bytes, tensors uint64) {
			m, err := parseMessage(d.conn.must(t, "Memory", fixed(nil, 1, d.handle)))
			t.must("Memory", err)
			return m.numbers[2], m.numbers[4]
		}
		bytes0, tensors0 := usage()
		s := d.stream()
		x := d.new(1024)
		s.send(s.frame().write(x, make([]byte, 4096)))
		s.settle(s.frame(), 1, "AWAIT")
		if b, n := usage(); b < bytes0+4096 || n != tensors0+1 {
			t.fail("%d bytes in %d tensors, and with a tensor of 4096 bytes more %d in %d", bytes0, tensors0, b, n)
		}
		s.settle(s.frame().free(x.id), 2, "AWAIT")
		if b, n := usage(); b != bytes0 || n != tensors0 {
			t.fail("%d bytes in %d tensors, and after that was freed %d in %d", bytes0, tensors0, b, n)
		}
	}},
	{ID: "services/profile", Section: 3, Text: "**StartProfile** begins to record the executions of a device, on all of its streams; code 3 answers if it records already.", check: func(t *test) {
		d := t.device()
		if !d.profiling {
			t.skip("the device has no extension profiling")
		}
		h := fixed(nil, 1, d.handle)
		if e := d.conn.outcome(t, "StartProfile", h); e != nil {
			t.fail("StartProfile: %v", e)
		}
		t.wantCode(d.conn.outcome(t, "StartProfile", h), "a second StartProfile", codeAttr)
	}},
	{ID: "services/many-streams", Section: 3, Text: "A device may have any number of streams. They share its tensors and programs, and run concurrently.", check: func(t *test) {
		d := t.device()
		var streams []*stream
		for range 8 {
			streams = append(streams, d.stream())
		}
		x := d.new(1)
		streams[0].send(streams[0].frame().write(x, floats(3)).signal())
		for i, s := range streams[1:] {
			r := s.ask()
			s.send(s.frame().wait(streams[0].number, 1).read(r, x.id, 4))
			if string(s.wantData(r, "READ on another stream")) != string(floats(3)) {
				t.fail("stream %d reads something else", i+1)
			}
		}
	}},
	{ID: "services/canceled-call", Section: 4, Text: "When the call is canceled it ends at once.", check: func(t *test) {
		d := t.device()
		s, other := d.stream(), d.stream()
		s.send(s.frame().wait(other.number, 1)) // which never comes
		s.tr.abort()
		time.Sleep(100 * time.Millisecond)
		d.stream().alive("a stream after another was canceled")
		if e := d.conn.outcome(t, "Close", fixed(nil, 1, d.handle)); e != nil {
			t.fail("Close after a stream was canceled: %v", e)
		}
	}},
}

// question returns the request of Supports for the device's op on f32[2].
func (d *device) question() []byte {
	q := (&frame{}).byte(1, 0).typ(tensor{0, f32, []uint64{2}}).byte(0).text(d.op).uint(d.version)
	return q.operands([]uint64{1}, 0, tensor{2, f32, []uint64{2}}).uint(0).b
}
