package ir

import "github.com/goburn/burn/core/dtype"

// inside returns the body that f builds. before runs first, in the body's scope.
func (b *Builder) inside(before, f func()) []Inst {
	var body []Inst
	outer := b.body
	b.body = &body
	b.open()
	before()
	f()
	b.close()
	b.body = outer
	return body
}

func nothing() {}

// For runs body for i = lo, lo+step, ... below hi. step is positive, and i + step does not overflow.
func (b *Builder) For(lo, hi Value, step int, body func(i Value)) { b.loop(lo, hi, step, false, body) }

// Unroll runs body for i = 0, 1, ... n-1, as n copies of the body.
func (b *Builder) Unroll(n int, body func(i Value)) { b.loop(b.Int(0), b.Int(n), 1, true, body) }

func (b *Builder) loop(lo, hi Value, step int, unroll bool, body func(i Value)) {
	if b.TypeOf(lo) != b.TypeOf(hi) || step < 1 {
		b.fail("for from %v to %v by %d", b.TypeOf(lo), b.TypeOf(hi), step)
	}
	switch first, last, known := b.trips(lo, hi, step); {
	case known && first > last:
		return
	case known && first == last:
		body(lo)
		return
	}
	in := Inst{Op: For, Type: b.TypeOf(lo), Imm: uint64(step), Unroll: unroll, Args: []Value{lo, hi}}
	var i Value
	in.Body = b.inside(func() { i = b.value(in.Type) }, func() { body(i) })
	in.Out = []Value{i}
	b.do(in)
}

// trips returns the numbers of the first and the last iteration of a loop, counted from 0, if the bounds are constants that are not negative.
// If there is no iteration, first is greater than last.
func (b *Builder) trips(lo, hi Value, step int) (first, last uint64, known bool) {
	l, ok := b.constant(lo)
	h, ok2 := b.constant(hi)
	if !ok || !ok2 || int64(l) < 0 || int64(h) < 0 {
		return 0, 0, false
	}
	if l >= h {
		return 1, 0, true
	}
	return 0, (h - 1 - l) / uint64(step), true
}

// If runs the body then in threads where cond is true.
func (b *Builder) If(cond Value, then func()) { b.IfElse(cond, then, nothing) }

// IfElse runs the body then in threads where cond is true, and the body otherwise in all other threads.
func (b *Builder) IfElse(cond Value, then, otherwise func()) {
	if b.TypeOf(cond) != dtype.Bool {
		b.fail("if of %v", b.TypeOf(cond))
	}
	if c, ok := b.constant(cond); ok {
		if c != 0 {
			then()
		} else {
			otherwise()
		}
		return
	}
	b.do(Inst{Op: If, Args: []Value{cond}, Body: b.inside(nothing, then), Else: b.inside(nothing, otherwise)})
}

// While runs body as long as cond returns a true value. Values that cond builds cannot be used in body.
func (b *Builder) While(cond func() Value, body func()) {
	var c Value
	head := b.inside(nothing, func() {
		c = cond()
		b.visible(c)
	})
	b.do(Inst{Op: While, Args: []Value{c}, Head: head, Body: b.inside(nothing, body)})
}

// Barrier waits for all threads of the block.
func (b *Builder) Barrier() { b.do(Inst{Op: Barrier}) }

// SubgroupBarrier waits for all threads of the subgroup.
func (b *Builder) SubgroupBarrier() { b.do(Inst{Op: SubgroupBarrier}) }

// Lane returns the number of the thread in its subgroup, as an index.
func (b *Builder) Lane() Value { return b.Cast(b.Index, b.emit(Inst{Op: Lane, Type: dtype.I32})) }

// ShuffleXor returns v of thread lane^mask of the subgroup.
func (b *Builder) ShuffleXor(v Value, mask int) Value {
	return b.emit(Inst{Op: ShuffleXor, Type: b.TypeOf(v), Imm: uint64(mask), Args: []Value{v}})
}

// ShuffleUp returns v of thread lane-delta of the subgroup. Threads whose lane is below delta receive their own v.
func (b *Builder) ShuffleUp(v Value, delta int) Value {
	return b.emit(Inst{Op: ShuffleUp, Type: b.TypeOf(v), Imm: uint64(delta), Args: []Value{v}})
}

// ShuffleFrom returns v of thread lane of the subgroup.
func (b *Builder) ShuffleFrom(v, lane Value) Value {
	return b.emit(Inst{Op: ShuffleFrom, Type: b.TypeOf(v), Args: []Value{v, b.Cast(dtype.I32, lane)}})
}

// Ballot returns a u32 in which bit k is set where cond of lane k is true.
func (b *Builder) Ballot(cond Value) Value {
	return b.emit(Inst{Op: Ballot, Type: dtype.U32, Args: []Value{cond}})
}

// PopCount returns the number of bits of a u32 that are set.
func (b *Builder) PopCount(v Value) Value {
	return b.emit(Inst{Op: PopCount, Type: dtype.U32, Args: []Value{v}})
}

// FragFill sets all elements of fragment i to v.
func (b *Builder) FragFill(f Frag, i, v Value) {
	b.do(Inst{Op: FragFill, Ref: int32(f), Args: []Value{i, v}})
}

// FragLoad loads fragment i from a shared array: the matrix begins at offset, and its rows are stride elements apart. If transposed is
// true, its columns are stride elements apart.
func (b *Builder) FragLoad(f Frag, i Value, m Mem, offset, stride Value, transposed bool) {
	b.FragLoadWide(f, i, 1, m, offset, stride, transposed)
}

// FragLoadWide loads n neighbouring fragments from fragment i on. n is 1 or 2. The matrices are side by side in the array along their
// columns.
func (b *Builder) FragLoadWide(f Frag, i Value, n int, m Mem, offset, stride Value, transposed bool) {
	in := Inst{Op: FragLoad, Ref: int32(f), Ref2: int32(m), Width: int32(n), Args: []Value{i, offset, stride}}
	if transposed {
		in.Imm = 1
	}
	b.do(in)
}

// FragMMA adds A[i]·B[j] to C[k].
func (b *Builder) FragMMA(c Frag, k Value, x Frag, i Value, y Frag, j Value) {
	b.do(Inst{Op: FragMMA, Ref: int32(c), Ref2: int32(x), Imm: uint64(y), Args: []Value{k, i, j}})
}

// FragStore stores C fragment i. The matrix begins at offset, and its rows are stride elements apart.
func (b *Builder) FragStore(f Frag, i Value, m Mem, offset, stride Value) {
	b.do(Inst{Op: FragStore, Ref: int32(f), Ref2: int32(m), Args: []Value{i, offset, stride}})
}

// FragGet returns element e of this thread's part of C fragment i.
func (b *Builder) FragGet(f Frag, i Value, e int) Value {
	return b.emit(Inst{Op: FragGet, Type: dtype.F32, Ref: int32(f), Imm: uint64(e), Args: []Value{i}})
}

// FragSet sets element e of this thread's part of C fragment i.
func (b *Builder) FragSet(f Frag, i Value, e int, v Value) {
	b.do(Inst{Op: FragSet, Type: dtype.F32, Ref: int32(f), Imm: uint64(e), Args: []Value{i, v}})
}

// FragPack sets A fragment i to the neighbouring C fragments from fragment j on, rounded to the type of A. With it a result becomes a
// factor without passing through shared memory.
func (b *Builder) FragPack(x Frag, i Value, c Frag, j Value) {
	b.do(Inst{Op: FragPack, Ref: int32(x), Ref2: int32(c), Args: []Value{i, j}})
}
