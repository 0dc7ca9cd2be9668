package protocol

// poisoned sends a node that cannot be computed, and checks that its output is poisoned with one of the codes and that the next
// AWAIT reports it.
func (d *device) poisoned(what string, f *frame, out tensor, codes ...uint64) {
	s := d.stream()
	e := s.settle(f, 1, "AWAIT after "+what)
	d.t.wantCode(e, "AWAIT after "+what, codes...)
	s.fault(out, "READ of the output of "+what, codes...)
	s.alive("the stream after " + what)
}

const notDone = "A command that can be decoded but not executed poisons the outputs of its node"

// here creates a tensor of f32 with n elements and returns it.
func (d *device) here(n uint64) tensor {
	s := d.stream()
	x := d.new(n)
	s.send(d.frame().write(x, make([]byte, x.bytes())))
	s.settle(d.frame(), 1, "AWAIT")
	return x
}

var checkRules = []Rule{
	{ID: "checks/unknown-op", Section: 4, Text: "an unknown op or version, or a node that the capabilities do not allow (code 4)", check: func(t *test) {
		d := t.device()
		x, y := d.here(2), d.new(2)
		d.poisoned("a node of an unknown op", d.frame().node("no.such_op", 1, []uint64{x.id}, 0, y), y, codeUnsupported)
		if d.op != "" {
			z := d.new(2)
			d.poisoned("a node of an unknown version", d.frame().node(d.op, d.version+1000, []uint64{x.id}, 0, z), z, codeUnsupported)
		}
	}},
	{ID: "checks/unknown-tensor", Section: 4, Text: "an unknown tensor (9)", check: func(t *test) {
		d := t.device()
		d.needsOp()
		y := d.new(2)
		d.poisoned("a node on an unknown tensor", d.unary(d.frame(), d.id(90), 0, y), y, codeUnknown)
		d.stream().fault(tensor{d.id(91), f32, []uint64{1}}, "READ of an unknown tensor", codeUnknown)
	}},
	{ID: "checks/stale", Section: 4, Text: "another generation (8)", check: func(t *test) {
		d := t.device()
		d.needsOp()
		stale := func(n uint64) uint64 { return (d.generation-1)<<48 | n }
		y := d.new(2)
		d.poisoned("a node on a tensor of another generation", d.unary(d.frame(), stale(1), 0, y), y, codeStale)
		s := d.stream()
		s.fault(tensor{stale(1), f32, []uint64{2}}, "READ of a tensor of another generation", codeStale)
		t.wantCode(s.settle(d.frame().free(stale(1)), 1, "AWAIT"), "FREE of a tensor of another generation", codeStale)
		t.wantCode(s.settle(d.frame().write(tensor{stale(2), f32, []uint64{1}}, floats(1)), 2, "AWAIT"), "WRITE to an id of another generation", codeStale)
	}},
	{ID: "checks/twice", Section: 4, Text: "an id that exists (10)", check: func(t *test) {
		d := t.device()
		d.needsOp()
		x, y := d.here(2), d.here(2)
		s := d.stream()
		t.wantCode(s.settle(d.unary(d.frame(), x.id, 0, y), 1, "AWAIT"), "a node whose output has the id of another tensor", codeProtocol)
		t.wantCode(s.settle(d.frame().write(x, floats(1, 2)), 2, "AWAIT"), "WRITE to an id that exists", codeProtocol)
		s.alive("the stream after ids that exist")
	}},
	{ID: "checks/outputs", Section: 4, Text: "inputs, attributes or outputs that the op table refuses (1, 2, 3)", check: func(t *test) {
		d := t.device()
		d.needsOp()
		x, y, z := d.here(2), d.new(3), d.new(2)
		d.poisoned("a node whose output has the wrong shape", d.unary(d.frame(), x.id, 0, y), y, codeShape, codeDType, codeAttr)
		// If the plugin does not check it, the kernel fails, which is code 14.
		d.poisoned("a node without its operand", d.frame().node(d.op, d.version, nil, 0, z), z, codeShape, codeDType, codeAttr, codeKernel)
		for i := range typesOf(d.types) {
			if elem := typesOf(d.types)[i]; elem != f32 {
				d.next++
				w := tensor{d.id(d.next), elem, []uint64{2}}
				d.poisoned("a node whose output has the wrong element type", d.unary(d.frame(), x.id, 0, w), w, codeShape, codeDType, codeAttr, codeUnsupported)
				break
			}
		}
	}},
	{ID: "checks/not-executed", Section: 4, Text: notDone, check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		// A chain that depends on a node that fails, and one that does not.
		x, bad, after, good := d.here(2), d.new(2), d.new(2), d.new(2)
		f := d.frame().node("no.such_op", 1, []uint64{x.id}, 0, bad)
		d.unary(f, bad.id, 0, after)
		d.unary(f, x.id, 0, good)
		s.send(f)
		s.fault(bad, "READ of the output of an unknown op", codeUnsupported)
		s.fault(after, "READ of what depends on it", codeUnsupported)
		s.value(good, "READ of what does not depend on it")
	}},
	{ID: "checks/memory", Section: 4, Text: "A failed allocation is code 6.", check: func(t *test) {
		d := t.device()
		fill, ok := d.ops["full"]
		if !ok || fill.version == 0 {
			t.skip("the device claims no full, whose result needs no operand")
		}
		if d.op != "neg" {
			t.skip("the device does not claim neg on f32")
		}
		const elems = 1 << 44 // 64 TiB
		x, y := d.new(elems), d.new(elems)
		f := d.frame().byte(cmdNode, 0).text("full").uint(fill.version).operands(nil, 0, x).uint(3)
		f.byte(0).text("value").byte(8, 0).byte(0, 0, 0, 0, 0, 0, 0xf0, 0x3f) // a float, 1
		f.byte(0).text("dtype").byte(5, f32)
		f.byte(0).text("shape").byte(6).uint(1).int(elems)
		d.unary(f, x.id, 0, y) // full may be stored as one element
		want := uint64(codeMemory)
		if d.bytes > 0 && d.bytes < x.bytes() {
			want = codeUnsupported // the limits of the plugin exclude it
		}
		s := d.stream()
		t.wantCode(s.settle(f, 1, "AWAIT after a tensor of 64 TiB"), "a tensor of 64 TiB", want)
		s.fault(y, "READ of a tensor of 64 TiB", want)
		s.alive("the stream after an allocation that failed")
		if t.plugin().ended() {
			t.fail("the plugin ends when an allocation fails")
		}
	}},
}

var poisonRules = []Rule{
	{ID: "poison/names-node", Section: 4, Text: "which names the node that failed first (section 7, form 1)", check: func(t *test) {
		d := t.device()
		d.needsOp()
		x, first, second := d.here(2), d.new(2), d.new(2)
		s := d.stream()
		s.send(d.unary(d.frame().node("no.such_op", 1, []uint64{x.id}, 0, first), first.id, 0, second))
		for _, y := range []tensor{first, second} {
			e := s.fault(y, "READ of a poisoned tensor", codeUnsupported)
			n := e.node()
			if n == nil || n.op != "no.such_op" || len(n.tensors) != 1 || n.tensors[0].id != first.id {
				t.fail("READ of a poisoned tensor: %v, want form 1 with op no.such_op and output %#x", e, first.id)
			}
		}
	}},
	{ID: "poison/sticky", Section: 4, Text: "Every READ of a poisoned tensor gets that error; the next AWAIT gets the first of them.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x, y := d.new(1), d.new(1)
		s.send(d.frame().node("no.first", 1, nil, 0, x).node("no.second", 1, nil, 0, y))
		for range 3 {
			s.fault(x, "READ of a poisoned tensor", codeUnsupported)
		}
		e := s.settle(d.frame(), 1, "AWAIT")
		if n := e.node(); n == nil || n.op != "no.first" {
			t.fail("AWAIT after two nodes that failed: %v, want the first", e)
		}
		s.fault(x, "READ of a poisoned tensor after AWAIT", codeUnsupported)
	}},
	{ID: "poison/freed", Section: 4, Text: "Poisoned tensors are freed like others", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(1)
		s.settle(d.frame().node("no.such_op", 1, nil, 0, x), 1, "AWAIT")
		if e := s.settle(d.frame().free(x.id), 2, "AWAIT"); e != nil {
			t.fail("FREE of a poisoned tensor: %v, want no error", e)
		}
		s.fault(x, "READ of a poisoned tensor after FREE", codeUnknown)
	}},
	{ID: "poison/free-unknown", Section: 4, Text: "Freeing an unknown id is an error (9) at the next AWAIT.", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.here(1)
		t.wantCode(s.settle(d.frame().free(x.id, x.id), 1, "AWAIT"), "FREE of a tensor that was freed", codeUnknown)
	}},
	{ID: "poison/no-failure", Section: 4, Text: "That is no failure of its own, and no AWAIT is answered with it.", check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		x, y := d.new(1), d.new(1)
		t.wantCode(s.settle(d.frame().node("no.such_op", 1, nil, 0, x), 1, "AWAIT"), "AWAIT after a node that failed", codeUnsupported)
		if e := s.settle(d.unary(d.frame(), x.id, 0, y), 2, "AWAIT"); e != nil {
			t.fail("AWAIT after a node with a poisoned input, whose failure an AWAIT was answered with: %v, want no error", e)
		}
		s.fault(y, "READ of its output", codeUnsupported)
	}},
	{ID: "poison/across-streams", Section: 4, Text: "A node or program with a poisoned input is not run, and poisons its outputs with the same error", check: func(t *test) {
		d := t.device()
		d.needsOp()
		a, b := d.stream(), d.stream()
		x, y := d.new(1), d.new(1)
		a.send(d.frame().node("no.such_op", 1, nil, 0, x).signal())
		b.send(d.unary(d.frame().wait(a.number, 1), x.id, 0, y))
		b.fault(y, "READ of what depends on a failure of another stream", codeUnsupported)
	}},
}

var nodeRules = []Rule{
	{ID: "nodes/computes", Section: 5, Text: "Numbers hold for the whole stream.", check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		x, y, z := d.here(2), d.new(2), d.new(2)
		s.send(d.unary(d.frame(), x.id, 0, y))
		s.send(d.frame().again(1, []uint64{x.id}, 0, z))
		if string(s.value(y, "READ")) != string(s.value(z, "READ of a node whose op is given by its number")) {
			t.fail("an op gives other results by its number than by its name")
		}
	}},
	{ID: "nodes/numbers", Section: 5, Text: "Ops are numbered from 1 in the order of their first use on the stream, a name and version together", check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		x, a, b, c := d.here(2), d.new(2), d.new(2), d.new(2)
		f := d.frame().node("no.such_op", 1, nil, 0, a) // unknown, and has number 1
		d.unary(f, x.id, 0, b)
		f.again(2, []uint64{x.id}, 0, c)
		s.send(f)
		s.value(c, "READ of a node of op number 2")
		y := d.new(2)
		s.send(d.frame().again(1, nil, 0, y))
		s.fault(y, "READ of a node of op number 1, which is unknown", codeUnsupported)
	}},
	{ID: "nodes/no-number", Section: 5, Text: "and get the next number", check: func(t *test) {
		d := t.device()
		d.fails("a node of op number 1 on a new stream", d.frame().again(1, nil, 0, d.new(1)))
		d.fails("an attribute with a name of number 1 on a new stream",
			d.frame().byte(cmdNode, 0).text("no.such_op").uint(1).operands(nil, 0, d.new(1)).uint(1).byte(1, 3, 1))
	}},
	{ID: "nodes/drop", Section: 5, Text: "bit i: input i is freed after this node", check: func(t *test) {
		d := t.device()
		d.needsOp()
		s := d.stream()
		x, y, z := d.here(2), d.new(2), d.new(2)
		s.send(d.unary(d.frame(), x.id, 1, y))
		s.value(y, "READ")
		s.fault(x, "READ of an input that was freed with its node", codeUnknown)
		s.send(d.frame().node("no.such_op", 1, []uint64{y.id}, 1, z))
		s.fault(z, "READ of the output of an unknown op", codeUnsupported)
		s.fault(y, "READ of an input that was freed with a node that failed", codeUnknown)
	}},
	{ID: "nodes/values", Section: 5, Text: "A value is a byte for its kind and the content", check: func(t *test) {
		d := t.device()
		s := d.stream()
		x := d.new(1)
		f := d.frame().byte(cmdNode, 0).text("no.such_op").uint(1).operands(nil, 0, x).uint(9)
		f.byte(0).text("a").byte(1).int(-2)
		f.byte(0).text("b").byte(2).byte(make([]byte, 8)...)
		f.byte(0).text("c").byte(3, 1)
		f.byte(0).text("d").byte(4).text("naïve")
		f.byte(0).text("e").byte(5, f32)
		f.byte(0).text("f").byte(6).uint(3).int(-1).int(1 << 40).int(0)
		f.byte(0).text("g").byte(7).uint(2).byte(make([]byte, 16)...)
		f.byte(0).text("h").byte(8, 0).byte(make([]byte, 8)...)
		f.byte(1, 8, 1).int(-(1 << 62)) // the name of number 1, and a scalar that is an integer
		s.send(f)
		s.fault(x, "READ of the output of an unknown op with attributes of all kinds", codeUnsupported)
		s.alive("a stream after attributes of all kinds")
	}},
	{ID: "nodes/bad-values", Section: 5, Text: "A value is a byte for its kind and the content", check: func(t *test) {
		d := t.device()
		with := func(value ...byte) *frame {
			return d.frame().byte(cmdNode, 0).text("no.such_op").uint(1).operands(nil, 0, d.new(1)).uint(1).byte(0).text("a").byte(value...)
		}
		d.fails("an attribute of kind 9", with(9, 0, 0))
		d.fails("an attribute of kind 0", with(0, 0, 0))
		d.fails("a bool of 2", with(3, 2))
		d.fails("a scalar of kind 2", with(8, 2, 0, 0, 0, 0, 0, 0, 0, 0))
		d.fails("2^60 floats", with(append([]byte{7}, (&frame{}).uint(1<<60).b...)...))
	}},
}
