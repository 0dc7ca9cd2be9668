package ir

import "github.com/goburn/burn/core/dtype"

// Load returns element i of a buffer.
func (b *Builder) Load(p Buf, i Value) Value { return b.LoadWide(p, i, 1)[0] }

// LoadWide returns n neighbouring elements of a buffer, beginning at element i. i is a multiple of n.
func (b *Builder) LoadWide(p Buf, i Value, n int) []Value {
	return b.wide(Inst{Op: Load, Type: b.k.Params[p].Type, Ref: int32(p), Width: int32(n), Args: []Value{i}})
}

// Store stores values in neighbouring elements of a buffer, beginning at element i. i is a multiple of the number of values.
func (b *Builder) Store(p Buf, i Value, v ...Value) {
	b.put(Store, int32(p), b.k.Params[p].Type, i, v)
}

// SharedLoad returns element i of a shared array.
func (b *Builder) SharedLoad(m Mem, i Value) Value { return b.SharedLoadWide(m, i, 1)[0] }

// SharedLoadWide returns n neighbouring elements of a shared array, beginning at element i. i is a multiple of n.
func (b *Builder) SharedLoadWide(m Mem, i Value, n int) []Value {
	return b.wide(Inst{Op: SharedLoad, Type: b.k.Shared[m].Type, Ref: int32(m), Width: int32(n), Args: []Value{i}})
}

// SharedStore stores values in neighbouring elements of a shared array, beginning at element i. i is a multiple of the number of values.
func (b *Builder) SharedStore(m Mem, i Value, v ...Value) {
	b.put(SharedStore, int32(m), b.k.Shared[m].Type, i, v)
}

func (b *Builder) wide(in Inst) []Value {
	in.Out = make([]Value, in.Width)
	for k := range in.Out {
		in.Out[k] = b.value(in.Type)
	}
	b.do(in)
	return in.Out
}

func (b *Builder) put(o Op, ref int32, t dtype.DType, i Value, v []Value) {
	b.do(Inst{Op: o, Type: t, Ref: ref, Width: int32(len(v)), Args: append([]Value{i}, v...)})
}

// Get returns element i of a local array. i must be computed only from constants and variables of unrolled loops.
func (b *Builder) Get(l Var, i Value) Value {
	return b.emit(Inst{Op: LocalLoad, Type: b.k.Locals[l].Type, Ref: int32(l), Args: []Value{i}})
}

// Set stores v in element i of a local array. The rule for i is the same as for Get.
func (b *Builder) Set(l Var, i, v Value) {
	b.do(Inst{Op: LocalStore, Type: b.k.Locals[l].Type, Ref: int32(l), Args: []Value{i, v}})
}

// At returns element 0 of a local array.
func (b *Builder) At(l Var) Value { return b.Get(l, b.Int(0)) }

// Put stores v in element 0 of a local array.
func (b *Builder) Put(l Var, v Value) { b.Set(l, b.Int(0), v) }

// Atomic applies AtomicAdd, AtomicMin or AtomicMax of v to element i of a buffer and returns the element's old value.
func (b *Builder) Atomic(o Op, p Buf, i, v Value) Value {
	return b.emit(Inst{Op: o, Type: b.k.Params[p].Type, Ref: int32(p), Args: []Value{i, v}})
}

// AtomicSwap stores v in element i of a buffer if the element equals expected, and returns its old value.
func (b *Builder) AtomicSwap(p Buf, i, expected, v Value) Value {
	return b.emit(Inst{Op: AtomicSwap, Type: b.k.Params[p].Type, Ref: int32(p), Args: []Value{i, expected, v}})
}

// SharedAdd atomically adds v to element i of a shared array, and returns its old value.
func (b *Builder) SharedAdd(m Mem, i, v Value) Value {
	return b.emit(Inst{Op: SharedAdd, Type: b.k.Shared[m].Type, Ref: int32(m), Args: []Value{i, v}})
}

// AsyncCopy starts a copy of n elements from buffer p, beginning at index from, to shared array m, beginning at index to.
func (b *Builder) AsyncCopy(m Mem, to Value, p Buf, from Value, n int) {
	b.do(Inst{Op: AsyncCopy, Type: b.k.Shared[m].Type, Ref: int32(m), Ref2: int32(p), Width: int32(n), Args: []Value{to, from}})
}

// AsyncCommit joins the copies that the thread started since the last AsyncCommit into one group.
func (b *Builder) AsyncCommit() { b.do(Inst{Op: AsyncCommit}) }

// AsyncWait waits until at most n groups of this thread are pending.
func (b *Builder) AsyncWait(n int) { b.do(Inst{Op: AsyncWait, Imm: uint64(n)}) }
