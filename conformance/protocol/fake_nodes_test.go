package protocol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

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

// fakeNodeError returns an error of form 1.
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

// fakeProgram is a defined program.
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
