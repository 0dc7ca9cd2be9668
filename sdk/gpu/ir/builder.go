package ir

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
)

// Builder builds a kernel. Its methods append instructions to the innermost open body. They panic with a *BuildError if types or operands
// are wrong, because that is a bug of the template. A Builder is used by one goroutine.
type Builder struct {
	// Index is the type of indices: i32, or i64 for launches of more than 2^31-1 elements.
	Index dtype.DType

	k    *Kernel
	body *[]Inst
	// scopes holds the open bodies, the outermost first. Each scope contains the values that may be used, and the pure instructions that
	// defined these values.
	scopes []scope
	defs   []Inst  // definition, by value
	depth  []int32 // serial number of the scope, by value
	serial int32
	done   bool
}

type scope struct {
	serial int32
	pure   map[key]Value
}

// BuildError describes a bug of a template.
type BuildError struct{ Kernel, Text string }

func (e *BuildError) Error() string { return "kernel " + e.Kernel + ": " + e.Text }

// Buf is a buffer parameter, Var a local array, Mem a shared array, Frag a fragment array; they are numbers in the kernel's lists.
type (
	Buf  int32
	Var  int32
	Mem  int32
	Frag int32
)

// New begins a kernel whose blocks have the given number of threads. Indices are i32 unless Index is set.
func New(name string, threads int) *Builder {
	k := &Kernel{Name: name, Threads: threads, Types: []dtype.DType{dtype.Invalid}}
	b := &Builder{Index: dtype.I32, k: k, body: &k.Body, defs: make([]Inst, 1), depth: make([]int32, 1)}
	b.open()
	return b
}

// Kernel finishes the kernel and returns it, without instructions that have no effect.
func (b *Builder) Kernel() *Kernel {
	if !b.done {
		b.k.dropUnused()
	}
	b.done = true
	return b.k
}

// Buffer adds a buffer parameter.
func (b *Builder) Buffer(name string, t dtype.DType, a Access) Buf {
	b.k.Params = append(b.k.Params, Param{Name: name, Type: t, Access: a})
	return Buf(len(b.k.Params) - 1)
}

// Scalar adds a scalar parameter and returns its value.
func (b *Builder) Scalar(name string, t dtype.DType) Value {
	b.k.Params = append(b.k.Params, Param{Name: name, Type: t})
	return b.emit(Inst{Op: Scalar, Type: t, Ref: int32(len(b.k.Params) - 1)})
}

// Shared adds an array in the memory of the block.
func (b *Builder) Shared(name string, t dtype.DType, n int) Mem {
	b.k.Shared = append(b.k.Shared, Array{name, t, n})
	return Mem(len(b.k.Shared) - 1)
}

// Local adds an array of the thread.
func (b *Builder) Local(name string, t dtype.DType, n int) Var {
	b.k.Locals = append(b.k.Locals, Array{name, t, n})
	return Var(len(b.k.Locals) - 1)
}

// Fragments adds an array of matrix fragments.
func (b *Builder) Fragments(name string, m MMA, r Role, n int) Frag {
	b.k.Frags = append(b.k.Frags, Fragments{name, m, r, n})
	return Frag(len(b.k.Frags) - 1)
}

// SetSubgroup sets the size of subgroups for which the kernel is built.
func (b *Builder) SetSubgroup(n int) { b.k.Subgroup = n }

// SetBlocks sets a hint: the number of blocks that should fit on a multiprocessor.
func (b *Builder) SetBlocks(n int) { b.k.Blocks = n }

// TypeOf returns the type of a value.
func (b *Builder) TypeOf(v Value) dtype.DType {
	if v <= 0 || int(v) >= len(b.k.Types) {
		b.fail("value %%%d is not there", v)
	}
	return b.k.Types[v]
}

func (b *Builder) fail(format string, args ...any) {
	panic(&BuildError{b.k.Name, fmt.Sprintf(format, args...)})
}

func (b *Builder) open() {
	b.serial++
	b.scopes = append(b.scopes, scope{b.serial, map[key]Value{}})
}

func (b *Builder) close() { b.scopes = b.scopes[:len(b.scopes)-1] }

func (b *Builder) value(t dtype.DType) Value {
	b.k.Types = append(b.k.Types, t)
	b.defs = append(b.defs, Inst{})
	b.depth = append(b.depth, b.scopes[len(b.scopes)-1].serial)
	return Value(len(b.k.Types) - 1)
}

// visible panics unless v may be used here.
func (b *Builder) visible(v Value) {
	if v <= 0 || int(v) >= len(b.k.Types) {
		b.fail("value %%%d is not there", v)
	}
	for i := len(b.scopes) - 1; i >= 0; i-- {
		if b.scopes[i].serial == b.depth[v] {
			return
		}
	}
	b.fail("value %%%d (%v) is used outside the body that defines it", v, b.defs[v].Op)
}

// emit appends an instruction with one result, unless an equal value exists.
func (b *Builder) emit(i Inst) Value {
	for _, v := range i.Args {
		b.visible(v)
	}
	i.Out = []Value{b.value(i.Type)}
	if text := b.k.wrong(&i); text != "" {
		b.fail("%s: %s", b.k.Line(&i), text)
	}
	if pure(i.Op) {
		b.forget()
		if v, ok := b.fold(&i); ok {
			return v
		}
		k := keyOf(&i)
		for _, s := range b.scopes {
			if v, ok := s.pure[k]; ok {
				return v
			}
		}
		i.Out = []Value{b.value(i.Type)}
		b.scopes[len(b.scopes)-1].pure[k] = i.Out[0]
	}
	b.append(i)
	return i.Out[0]
}

// forget removes the last value.
func (b *Builder) forget() {
	n := len(b.k.Types) - 1
	b.k.Types, b.defs, b.depth = b.k.Types[:n], b.defs[:n], b.depth[:n]
}

// do appends an instruction. Its bodies must be complete.
func (b *Builder) do(i Inst) {
	for _, v := range i.Args {
		if i.Op != While {
			b.visible(v)
		}
	}
	if text := b.k.wrong(&i); text != "" {
		b.fail("%s: %s", b.k.Line(&i), text)
	}
	b.append(i)
}

func (b *Builder) append(i Inst) {
	if b.done {
		b.fail("%s: the kernel is built already", b.k.Line(&i))
	}
	for _, v := range i.Out {
		b.defs[v] = i
	}
	*b.body = append(*b.body, i)
}

// Const returns a constant of type t; bits is sign or zero extended; for a float, it is the IEEE bits in type t.
func (b *Builder) Const(t dtype.DType, bits uint64) Value {
	return b.emit(Inst{Op: Const, Type: t, Imm: canonical(t, bits)})
}

// Int returns a constant of the type of indices.
func (b *Builder) Int(n int) Value {
	if canonical(b.Index, uint64(n)) != uint64(n) {
		b.fail("%d is no %v", n, b.Index)
	}
	return b.Const(b.Index, uint64(n))
}

// Float returns f, rounded to floating point type t, as a constant.
func (b *Builder) Float(t dtype.DType, f float64) Value {
	if !t.IsFloat() {
		b.fail("%g as %v", f, t)
	}
	return b.Const(t, bitsOf(t, f))
}

// Thread returns the number of the thread in its block, as an index.
func (b *Builder) Thread() Value { return b.Cast(b.Index, b.emit(Inst{Op: Thread, Type: dtype.I32})) }

// Block returns the number of the block along an axis, as an index.
func (b *Builder) Block(axis int) Value {
	return b.Cast(b.Index, b.emit(Inst{Op: Block, Type: dtype.I32, Imm: uint64(axis)}))
}

// Blocks returns the number of blocks along an axis, as an index.
func (b *Builder) Blocks(axis int) Value {
	return b.Cast(b.Index, b.emit(Inst{Op: Blocks, Type: dtype.I32, Imm: uint64(axis)}))
}

// Unary returns the result of an operation whose operand has the type of the result.
func (b *Builder) Unary(o Op, x Value) Value {
	return b.emit(Inst{Op: o, Type: b.TypeOf(x), Args: []Value{x}})
}

// Binary returns the result of an operation on two operands of one type. Comparisons return bool.
func (b *Builder) Binary(o Op, x, y Value) Value {
	t := b.TypeOf(x)
	if t != b.TypeOf(y) {
		b.fail("%v of %v and %v", o, t, b.TypeOf(y))
	}
	if o >= Eq && o <= Le {
		t = dtype.Bool
	}
	return b.emit(Inst{Op: o, Type: t, Args: []Value{x, y}})
}

// FMA returns x·y + z, rounded once.
func (b *Builder) FMA(x, y, z Value) Value {
	if t := b.TypeOf(x); t != b.TypeOf(y) || t != b.TypeOf(z) {
		b.fail("fma of %v, %v and %v", t, b.TypeOf(y), b.TypeOf(z))
	}
	return b.emit(Inst{Op: FMA, Type: b.TypeOf(x), Args: []Value{x, y, z}})
}

// Select returns x where cond is true, else y.
func (b *Builder) Select(cond, x, y Value) Value {
	if b.TypeOf(cond) != dtype.Bool || b.TypeOf(x) != b.TypeOf(y) {
		b.fail("select of %v, %v and %v", b.TypeOf(cond), b.TypeOf(x), b.TypeOf(y))
	}
	return b.emit(Inst{Op: Select, Type: b.TypeOf(x), Args: []Value{cond, x, y}})
}

// Cast returns x converted to type t. It returns x itself if x has that type.
func (b *Builder) Cast(t dtype.DType, x Value) Value {
	if b.TypeOf(x) == t {
		return x
	}
	return b.emit(Inst{Op: Cast, Type: t, Args: []Value{x}})
}

// Bitcast returns the bits of x as a value of type t.
func (b *Builder) Bitcast(t dtype.DType, x Value) Value {
	if b.TypeOf(x) == t {
		return x
	}
	return b.emit(Inst{Op: Bitcast, Type: t, Args: []Value{x}})
}
