package dialect

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// wgslArrays returns the arrays of a kernel that must be declared as atomics: arrays that atomics change, and buffers to which parts of
// words are written.
func wgslArrays(k *ir.Kernel) (buffers, shared map[int32]bool) {
	buffers, shared = map[int32]bool{}, map[int32]bool{}
	var walk func(list []ir.Inst)
	walk = func(list []ir.Inst) {
		for _, in := range list {
			switch in.Op {
			case ir.AtomicAdd, ir.AtomicMin, ir.AtomicMax, ir.AtomicSwap:
				buffers[in.Ref] = true
			case ir.SharedAdd:
				shared[in.Ref] = true
			case ir.Store:
				if int(in.Width)*in.Type.Size() < 4 {
					buffers[in.Ref] = true
				}
			}
			walk(in.Head)
			walk(in.Body)
			walk(in.Else)
		}
	}
	walk(k.Body)
	return buffers, shared
}

// wgslWord returns the type of the words that contain elements: several elements of less than 32 bits share a word.
func wgslWord(t dtype.DType, atomic bool) string {
	word := t.String()
	if t.Size() < 4 || t == dtype.F32 && atomic {
		word = "u32"
	}
	if atomic {
		return "atomic<" + word + ">"
	}
	return word
}

// wgslDeclare prints the bindings, the shared arrays and the head of the entry point.
func wgslDeclare(p *printer, symbol string) {
	p.prefix = symbol + "_"
	p.atomicBuffers, p.atomicShared = wgslArrays(p.k)
	p.lanes = wgslLanes(p, p.d.Components)
	p.vectorIndices()
	if p.k.Members > 0 {
		p.fail("the language has no parameters of members")
	}
	bound := 0
	var scalars []string
	for i, x := range p.k.Params {
		if !x.IsBuffer() {
			t := p.typ(x.Type)
			if t == "bool" {
				t = "u32"
			}
			scalars = append(scalars, p.field(int32(i))+": "+t)
			continue
		}
		p.line("@group(0) @binding(%d) var<storage, read_write> %s: array<%s>;", bound, p.param(int32(i)),
			wgslArray(wgslWord(x.Type, p.atomicBuffers[int32(i)]), p.lanes.buffers[int32(i)]))
		bound++
	}
	if len(scalars) > 0 {
		p.line("struct %sScalars { %s }", p.prefix, strings.Join(scalars, ", "))
		p.line("@group(0) @binding(%d) var<uniform> %sscalars: %sScalars;", bound, p.prefix, p.prefix)
	}
	bytes := 0
	for i, x := range p.k.Shared {
		word := wgslWord(x.Type, p.atomicShared[int32(i)])
		if x.Type.Size() < 4 && x.Type != dtype.Bool {
			word = p.typ(x.Type)
		}
		n := max(p.lanes.shared[int32(i)], 1)
		p.line("var<workgroup> %s: array<%s, %d>;", p.shared(int32(i)), wgslArray(word, n), x.Len/n)
		bytes += 4 * x.Len
	}
	if bytes > p.d.Static {
		p.fail("%d bytes of shared memory, with a word for each element; the language allows %d", bytes, p.d.Static)
	}
	if len(p.k.Frags) > 0 {
		p.fail("the language has no matrix fragments")
	}
	lane := ""
	if usesSubgroups(p.k.Body) {
		lane = ", @builtin(subgroup_invocation_id) lane_at: u32"
	}
	p.line("@compute @workgroup_size(%d)", p.k.Threads)
	p.line("fn %s(@builtin(local_invocation_id) thread_at: vec3<u32>, @builtin(workgroup_id) block_at: vec3<u32>, @builtin(num_workgroups) blocks: vec3<u32>%s) {", symbol, lane)
}

func usesSubgroups(list []ir.Inst) bool {
	for _, in := range list {
		if in.Op >= ir.SubgroupBarrier && in.Op <= ir.Ballot || usesSubgroups(in.Head) || usesSubgroups(in.Body) || usesSubgroups(in.Else) {
			return true
		}
	}
	return false
}

// wgslExchanges reports whether threads of a block may exchange values through buffers: through a buffer that is read and written, or a
// buffer whose memory may also be passed for another parameter. Only then must a barrier order accesses to buffers. Such a barrier is slow,
// because the language orders the accesses for the whole device.
func wgslExchanges(k *ir.Kernel) bool {
	for _, p := range k.Params {
		if p.IsBuffer() && (p.Aliased || p.Access&ir.Atomic != 0 || p.Access&(ir.Read|ir.Write) == ir.Read|ir.Write) {
			return true
		}
	}
	return false
}

// wgslMemory prints the instructions that depend on the declarations of arrays.
func wgslMemory(p *printer, in *ir.Inst) bool {
	if p.err != nil {
		return true // a type that the language lacks
	}
	switch in.Op {
	case ir.Scalar:
		p.spelled[in.Out[0]] = p.prefix + "scalars." + p.field(in.Ref)
		if in.Type == dtype.Bool {
			p.spelled[in.Out[0]] = "(" + p.spelled[in.Out[0]] + " != 0u)"
		}
	case ir.Block:
		p.define(in.Out[0], "i32(block_at."+components[in.Imm]+")")
	case ir.Blocks:
		p.define(in.Out[0], "i32(blocks."+components[in.Imm]+")")
	case ir.Barrier:
		if wgslExchanges(p.k) {
			p.line("storageBarrier();")
		}
		p.line("workgroupBarrier();")
	case ir.Load:
		if n := p.lanes.buffers[in.Ref]; n > 0 {
			p.wgslLoadLanes(in, p.param(in.Ref), n)
			break
		}
		for k, out := range in.Out {
			p.define(out, p.wgslElement(in.Ref, in.Type, p.arg(in, 0), k, int(in.Width)))
		}
	case ir.Store:
		p.wgslStore(in)
	case ir.SharedLoad:
		if n := p.lanes.shared[in.Ref]; n > 0 {
			p.wgslLoadLanes(in, p.shared(in.Ref), n)
			break
		}
		for k, out := range in.Out {
			p.define(out, p.wgslShared(in.Ref, p.arg(in, 0), k))
		}
	case ir.SharedStore:
		if n := p.lanes.shared[in.Ref]; n > 0 {
			p.wgslStoreLanes(in, p.shared(in.Ref), n)
			break
		}
		for k, v := range in.Args[1:] {
			p.wgslSharedStore(in.Ref, plus(p.arg(in, 0), k), p.spelled[v])
		}
	case ir.AsyncCopy:
		p.wgslCopy(in)
	case ir.AsyncCommit, ir.AsyncWait:
	case ir.AtomicAdd, ir.AtomicMin, ir.AtomicMax, ir.AtomicSwap:
		p.wgslAtomic(in, fmt.Sprintf("&%s[%s]", p.param(in.Ref), p.arg(in, 0)))
	case ir.SharedAdd:
		p.wgslAtomic(in, fmt.Sprintf("&%s[%s]", p.shared(in.Ref), p.arg(in, 0)))
	default:
		return false
	}
	return true
}

// plus returns the expression of the index k elements after i.
func plus(i string, k int) string {
	if k == 0 {
		return i
	}
	return fmt.Sprintf("u32(%s) + %du", i, k)
}

// wgslElement returns the expression of element k of an access to width elements of a buffer, beginning at element i.
func (p *printer) wgslElement(buffer int32, t dtype.DType, i string, k, width int) string {
	word := func(at string) string {
		if p.atomicBuffers[buffer] {
			return fmt.Sprintf("atomicLoad(&%s[%s])", p.param(buffer), at)
		}
		return fmt.Sprintf("%s[%s]", p.param(buffer), at)
	}
	size := t.Size()
	if size == 4 {
		if s := word(plus(i, k)); t == dtype.F32 && p.atomicBuffers[buffer] {
			return "bitcast<f32>(" + s + ")"
		} else {
			return s
		}
	}
	each := 4 / size
	at, shift := fmt.Sprintf("(%s) / %du", plus("u32("+i+")", k), each), fmt.Sprintf("(%s) %% %du * %du", plus("u32("+i+")", k), each, 8*size)
	if width >= each { // the access begins with a word
		at, shift = fmt.Sprintf("u32(%s) / %du + %du", i, each, k/each), fmt.Sprintf("%du", k%each*8*size)
	}
	switch s := word(at); {
	case t == dtype.Bool:
		return fmt.Sprintf("extractBits(%s, %s, 8u) != 0u", s, shift)
	case t == dtype.I16 || t == dtype.I8:
		return fmt.Sprintf("extractBits(bitcast<i32>(%s), %s, %du)", s, shift, 8*size)
	default:
		return fmt.Sprintf("extractBits(%s, %s, %du)", s, shift, 8*size)
	}
}

// wgslCopy prints a copy from a buffer to a shared array, as a load and a store: the language has no faster way.
func (p *printer) wgslCopy(in *ir.Inst) {
	to, from := p.lanes.shared[in.Ref], p.lanes.buffers[in.Ref2]
	for k := range int(in.Width) {
		v := p.wgslElement(in.Ref2, in.Type, p.arg(in, 1), k, int(in.Width))
		if from > 0 {
			v = wgslLane(p.param(in.Ref2), p.arg(in, 1), from, k)
		}
		if to > 0 {
			p.line("%s = %s;", wgslLane(p.shared(in.Ref), p.arg(in, 0), to, k), v)
		} else {
			p.wgslSharedStore(in.Ref, plus(p.arg(in, 0), k), v)
		}
	}
}

// wgslBits returns the expression of a word whose low bits are a value of less than 32 bits.
func wgslBits(t dtype.DType, v string) string {
	return fmt.Sprintf("(u32(%s) & 0x%xu)", v, 1<<(8*t.Size())-1)
}

func (p *printer) wgslStore(in *ir.Inst) {
	t, i, b := in.Type, p.arg(in, 0), p.param(in.Ref)
	if n := p.lanes.buffers[in.Ref]; n > 0 {
		p.wgslStoreLanes(in, b, n)
		return
	}
	size := t.Size()
	store := func(at, v string) {
		if p.atomicBuffers[in.Ref] {
			p.line("atomicStore(&%s[%s], %s);", b, at, v)
		} else {
			p.line("%s[%s] = %s;", b, at, v)
		}
	}
	if size == 4 {
		for k, v := range in.Args[1:] {
			x := p.spelled[v]
			if t == dtype.F32 && p.atomicBuffers[in.Ref] {
				x = "bitcast<u32>(" + x + ")"
			}
			store(plus(i, k), x)
		}
		return
	}
	each := 4 / size
	if len(in.Args)-1 < each {
		for k, v := range in.Args[1:] {
			at := plus("u32("+i+")", k)
			shift := fmt.Sprintf("((%s) %% %du * %du)", at, each, 8*size)
			p.line("atomicAnd(&%s[(%s) / %du], ~(0x%xu << %s));", b, at, each, 1<<(8*size)-1, shift)
			p.line("atomicOr(&%s[(%s) / %du], %s << %s);", b, at, each, wgslBits(t, p.spelled[v]), shift)
		}
		return
	}
	for k := 0; k < len(in.Args)-1; k += each {
		var parts []string
		for e := range each {
			s := wgslBits(t, p.spelled[in.Args[1+k+e]])
			if e > 0 {
				s = fmt.Sprintf("(%s << %du)", s, 8*size*e)
			}
			parts = append(parts, s)
		}
		store(fmt.Sprintf("u32(%s) / %du + %du", i, each, k/each), strings.Join(parts, " | "))
	}
}

// wgslShared returns the expression of an element of a shared array, which has one word for each element.
func (p *printer) wgslShared(m int32, i string, k int) string {
	s := fmt.Sprintf("%s[%s]", p.shared(m), plus(i, k))
	if p.atomicShared[m] {
		s = fmt.Sprintf("atomicLoad(&%s)", s)
	}
	switch t := p.k.Shared[m].Type; {
	case t == dtype.Bool:
		return s + " != 0u"
	case t == dtype.F32 && p.atomicShared[m]:
		return "bitcast<f32>(" + s + ")"
	}
	return s
}

func (p *printer) wgslSharedStore(m int32, i, v string) {
	switch t := p.k.Shared[m].Type; {
	case t == dtype.Bool:
		v = "u32(" + v + ")"
	case t == dtype.F32 && p.atomicShared[m]:
		v = "bitcast<u32>(" + v + ")"
	}
	if p.atomicShared[m] {
		p.line("atomicStore(&%s[%s], %s);", p.shared(m), i, v)
	} else {
		p.line("%s[%s] = %s;", p.shared(m), i, v)
	}
}

// wgslAtomic prints an atomic on the word at a place. Atomics on floats are loops that compare and exchange the bits.
func (p *printer) wgslAtomic(in *ir.Inst, place string) {
	t, v := in.Type, p.arg(in, 1)
	name := map[ir.Op]string{ir.AtomicAdd: "Add", ir.SharedAdd: "Add", ir.AtomicMin: "Min", ir.AtomicMax: "Max"}[in.Op]
	if t.Size() != 4 {
		p.fail("the language has no %v of %v", in.Op, t)
		return
	}
	if t != dtype.F32 && name != "" {
		p.define(in.Out[0], fmt.Sprintf("atomic%s(%s, %s)", name, place, v))
		return
	}
	old := fmt.Sprintf("old%d", in.Out[0])
	seen := "bitcast<f32>(" + old + ")"
	bits, value := func(s string) string { return s }, old
	if t == dtype.F32 {
		bits, value = func(s string) string { return "bitcast<u32>(" + s + ")" }, seen
	}
	if in.Op == ir.AtomicSwap {
		p.line("var %s = %s;", old, bits(v))
		p.line("loop {")
		p.line("\tlet r = atomicCompareExchangeWeak(%s, %s, %s);", place, old, bits(p.arg(in, 2)))
		p.line("\tif (r.exchanged || r.old_value != %s) { %s = r.old_value; break; }", old, old)
	} else {
		next := map[string]string{"Add": seen + " + " + v, "Min": fmt.Sprintf("select(%s, %s, %s < %s)", seen, v, v, seen), "Max": fmt.Sprintf("select(%s, %s, %s > %s)", seen, v, v, seen)}[name]
		p.line("var %s = atomicLoad(%s);", old, place)
		p.line("loop {")
		p.line("\tlet r = atomicCompareExchangeWeak(%s, %s, %s);", place, old, bits(next))
		p.line("\tif (r.exchanged) { break; }")
		p.line("\t%s = r.old_value;", old)
	}
	p.line("}")
	p.define(in.Out[0], value)
}
