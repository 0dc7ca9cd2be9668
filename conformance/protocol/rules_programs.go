package protocol

// define appends DEFINE of a program y = op(x) on f32[2], with constants that no node reads.
func (d *device) define(f *frame, request, number uint64, constants []uint64) *frame {
	f.byte(cmdDefine).uint(request, number).ids(constants...)
	p := (&frame{}).text("probe").uint(1).tensor(tensor{1, f32, []uint64{2}}).uint(uint64(len(constants)))
	for i := range constants {
		p.tensor(tensor{uint64(10 + i), f32, []uint64{2}})
	}
	p.uint(1).byte(0).text(d.op).uint(d.version).operands([]uint64{1}, 0, tensor{2, f32, []uint64{2}}).uint(0)
	return f.byte(p.ids(2).b...)
}

// run appends RUN.
func (f *frame) run(number uint64, in, out []uint64, bits ...byte) *frame {
	f.byte(cmdRun).uint(number).ids(in...).ids(out...)
	if bits == nil {
		return f.uint(0)
	}
	return f.uint(uint64(len(in))).byte(bits...)
}

// programs returns a device and stream with program 1 defined.
func (t *test) programs() (*device, *stream) {
	d := t.device()
	if !d.opened.programs {
		t.skip("the device has no extension programs")
	}
	d.needsOp()
	s := d.stream()
	r := s.ask()
	s.send(d.define(d.frame(), r, 1, nil))
	s.wantOK(r, "DEFINE")
	return d, s
}

var programRules = []Rule{
	{ID: "programs/run", Section: 4, Text: "RUN binds tensors to the inputs and makes new ones for the outputs.", check: func(t *test) {
		d, s := t.programs()
		x, y, z := d.here(2), d.new(2), d.new(2)
		s.send(d.frame().run(1, []uint64{x.id}, []uint64{y.id}))
		s.send(d.unary(d.frame(), x.id, 0, z))
		if string(s.value(y, "READ of the output of a program")) != string(s.value(z, "READ")) {
			t.fail("a program computes something else than its node")
		}
		other := d.stream()
		w := d.new(2)
		other.send(d.frame().run(1, []uint64{x.id}, []uint64{w.id}))
		other.value(w, "READ of the output of a program that another stream has defined")
	}},
	{ID: "programs/unknown", Section: 4, Text: "A RUN of a program that is not known is answered at the next AWAIT, with code 13: its outputs stay unknown (9), and its donated inputs are freed.", check: func(t *test) {
		d, s := t.programs()
		x, y := d.here(2), d.new(2)
		e := s.settle(d.frame().run(77, []uint64{x.id}, []uint64{y.id}, 1), 1, "AWAIT after RUN of an unknown program")
		t.wantCode(e, "AWAIT after RUN of an unknown program", codeNotFound)
		s.fault(y, "READ of the output of an unknown program", codeUnknown)
		s.fault(x, "READ of an input that was donated to an unknown program", codeUnknown)
	}},
	{ID: "programs/donated", Section: 4, Text: "an input whose bit is set is freed with the run, even if the run fails", check: func(t *test) {
		d, s := t.programs()
		x, y := d.here(2), d.new(2)
		s.send(d.frame().run(1, []uint64{x.id}, []uint64{y.id}, 1))
		s.value(y, "READ of the output of a program")
		s.fault(x, "READ of an input that was donated", codeUnknown)
	}},
	{ID: "programs/poisoned", Section: 4, Text: "A node or program with a poisoned input is not run, and poisons its outputs with the same error", check: func(t *test) {
		d, s := t.programs()
		x, y := d.new(2), d.new(2)
		s.send(d.frame().node("no.such_op", 1, nil, 0, x).run(1, []uint64{x.id}, []uint64{y.id}))
		e := s.fault(y, "READ of the output of a program with a poisoned input", codeUnsupported)
		if n := e.node(); n == nil || n.op != "no.such_op" {
			t.fail("READ of the output of a program with a poisoned input: %v, want the error of the input", e)
		}
	}},
	{ID: "programs/ids-in-errors", Section: 7, Text: "without one, they are the outputs of the RUN, with their ids on the device", check: func(t *test) {
		d, s := t.programs()
		y := d.new(2)
		s.send(d.frame().run(1, []uint64{d.id(90)}, []uint64{y.id}))
		e := s.fault(y, "READ of the output of a program with an unknown input", codeUnknown)
		n := e.node()
		if n == nil || n.op != "" || n.program != "probe" || len(n.tensors) != 1 || n.tensors[0].id != y.id {
			t.fail("READ of the output of a program with an unknown input: %v, want form 1 with no op, program probe and output %#x", e, y.id)
		}
	}},
	{ID: "programs/constants", Section: 4, Text: "A DEFINE with a poisoned constant is answered with the error of that tensor, and one with an unknown constant with code 9; the program does not exist then.", check: func(t *test) {
		d, s := t.programs()
		bad := d.new(2)
		r, q := s.ask(), s.ask()
		s.send(d.frame().node("no.such_op", 1, nil, 0, bad))
		s.send(d.define(d.frame(), r, 2, []uint64{bad.id}))
		s.wantCode(r, "DEFINE with a poisoned constant", codeUnsupported)
		s.send(d.define(d.frame(), q, 3, []uint64{d.id(90)}))
		s.wantCode(q, "DEFINE with an unknown constant", codeUnknown)
		s.settle(d.frame(), 1, "AWAIT")
		x, y := d.here(2), d.new(2)
		t.wantCode(s.settle(d.frame().run(2, []uint64{x.id}, []uint64{y.id}), 2, "AWAIT"), "RUN of a program that was not defined", codeNotFound)
		c := d.here(2)
		k := s.ask()
		s.send(d.define(d.frame(), k, 4, []uint64{c.id}))
		s.wantOK(k, "DEFINE with a constant")
		s.send(d.frame().free(c.id).run(4, []uint64{x.id}, []uint64{y.id}))
		s.value(y, "READ of the output of a program whose constant was freed")
	}},
	{ID: "programs/twice", Section: 4, Text: "A program number is not used twice on a device.", check: func(t *test) {
		d, s := t.programs()
		r := s.ask()
		s.send(d.define(d.frame(), r, 1, nil))
		s.wantCode(r, "DEFINE with a number that is in use", codeProtocol)
	}},
	{ID: "programs/checked", Section: 6, Text: "The plugin checks that each id is defined once and before its use, and each node as in a stream.", check: func(t *test) {
		d, s := t.programs()
		one := []uint64{2}
		program := func(name string, in, out uint64, results ...uint64) *frame {
			r := s.ask()
			f := d.frame().byte(cmdDefine).uint(r, 50+r, 0)
			p := (&frame{}).text("bad").uint(1).tensor(tensor{1, f32, one}).uint(0, 1)
			p.byte(0).text(name).uint(d.version).operands([]uint64{in}, 0, tensor{out, f32, one}).uint(0)
			return f.byte(p.ids(results...).b...)
		}
		refused := func(what string, f *frame) {
			s.send(f)
			if r := s.next("DEFINE"); r.tag != replyDone || r.err == nil {
				t.fail("DEFINE of a program that %s is answered by %v, want DONE with an error", what, r)
			}
		}
		refused("uses an id before it is there", program(d.op, 9, 2, 2))
		refused("defines an id twice", program(d.op, 1, 1, 1))
		refused("gives an id that is not there", program(d.op, 1, 2, 5))
		refused("has an unknown op", program("no.such_op", 1, 2, 2))
		s.alive("the stream after programs that were refused")
	}},
	{ID: "programs/undefine", Section: 3, Text: "**Undefine** ends the program `number` once `uses` RUNs of it have been decoded on all streams together, at once if they have", check: func(t *test) {
		d, s := t.programs()
		x, y, z, w := d.here(2), d.new(2), d.new(2), d.new(2)
		undefine := func(number, uses uint64) *wireError {
			return d.conn.outcome(t, "Undefine", field(field(fixed(nil, 1, d.handle), 2, number), 3, uses))
		}
		if e := undefine(1, 2); e != nil {
			t.fail("Undefine: %v", e)
		}
		s.send(d.frame().run(1, []uint64{x.id}, []uint64{y.id}).run(1, []uint64{x.id}, []uint64{z.id}))
		s.value(z, "READ of the output of the last RUN of a program")
		e := s.settle(d.frame().run(1, []uint64{x.id}, []uint64{w.id}), 1, "AWAIT")
		t.wantCode(e, "RUN of a program that has ended", codeNotFound)
		t.wantCode(undefine(99, 0), "Undefine of an unknown program", codeNotFound)
	}},
}

var errorRules = []Rule{
	{ID: "errors/survives", Section: 7, Text: "A plugin returns 14 for every internal failure that has no better code; it does not end for it.", check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		for i := range 20 {
			x := d.new(2)
			s.send(d.frame().node("no.such_op", uint64(i), []uint64{d.id(90)}, 1, x).free(x.id, x.id))
		}
		s.settle(d.frame(), 1, "AWAIT")
		s.alive("a stream after 60 failures")
	}},
	{ID: "errors/text", Section: 7, Text: "so no text is empty", check: func(t *test) {
		d := t.device()
		s := d.stream() // an error with an empty text cannot be read, and fails the check
		x := d.new(1)
		s.send(d.frame().node("no.such_op", 1, nil, 0, x))
		s.fault(x, "READ of a poisoned tensor", codeUnsupported)
		s.fault(tensor{d.id(90), f32, []uint64{1}}, "READ of an unknown tensor", codeUnknown)
		r := s.ask()
		s.send(d.frame().beginWrite(r, d.new(4)))
		s.send((&frame{}).chunk(r, nil))
		if e := s.wantDone(r, "a write that is given up"); e == nil {
			t.fail("a write that is given up is answered without an error")
		}
		d.conn.outcome(t, "Close", fixed(nil, 1, d.handle))
		t.wantCode(d.conn.outcome(t, "Close", fixed(nil, 1, d.handle)), "Close with a handle that is not known", codeClosed)
	}},
}
