package ir

import (
	"maps"
	"slices"

	"github.com/goburn/burn/core/dtype"
)

// Unrolled returns the kernel with the loops of Builder.Unroll written out, for languages without a directive for it. Values that are equal
// in several copies are computed once. Elements of local arrays whose value is known are not loaded, and a store is dropped if the next
// store overwrites it. The results have the same bits.
func (k *Kernel) Unrolled() *Kernel {
	n := *k
	n.Body, n.Types = nil, []dtype.DType{dtype.Invalid}
	b := &Builder{k: &n, body: &n.Body, defs: make([]Inst, 1), depth: make([]int32, 1)}
	b.open()
	u := &unrolling{Builder: b, to: make([]Value, len(k.Types)), known: map[element]Value{}}
	u.replay(k.Body)
	s := settling{constants: map[Value]uint64{}, loaded: map[int32]bool{}, number: map[int32]int32{}}
	for v, in := range b.defs {
		if in.Op == Const {
			s.constants[Value(v)] = in.Imm
		}
	}
	loads(n.Body, s.loaded)
	n.Locals = nil
	for i, x := range k.Locals {
		if s.loaded[int32(i)] {
			s.number[int32(i)] = int32(len(n.Locals))
			n.Locals = append(n.Locals, x)
		}
	}
	n.Body = s.body(n.Body)
	return b.Kernel()
}

// element is an element of a local array.
type element struct {
	array int32
	at    uint64
}

// unrolling builds the unrolled kernel from the original kernel.
type unrolling struct {
	*Builder
	to    []Value           // values of the new kernel, by value of the old kernel
	known map[element]Value // known values of elements of local arrays
}

func (u *unrolling) replay(list []Inst) {
	for i := range list {
		u.inst(&list[i])
	}
}

// within copies a list of instructions that control flow may skip. It restores the known elements afterwards. The caller must call
// forgetStored for the list: after it, or before it if the list is repeated.
func (u *unrolling) within(list []Inst) {
	before := maps.Clone(u.known)
	u.replay(list)
	u.known = before
}

// forgetStored marks the elements of the local arrays to which a list stores as unknown.
func (u *unrolling) forgetStored(list []Inst) {
	for i := range list {
		in := &list[i]
		if in.Op == LocalStore {
			maps.DeleteFunc(u.known, func(e element, _ Value) bool { return e.array == in.Ref })
		}
		u.forgetStored(in.Head)
		u.forgetStored(in.Body)
		u.forgetStored(in.Else)
	}
}

func (u *unrolling) inst(old *Inst) {
	in := *old
	in.Args = make([]Value, len(old.Args))
	for i, v := range old.Args {
		in.Args[i] = u.to[v]
	}
	switch in.Op {
	case For:
		u.loop(old, in)
	case If:
		u.IfElse(in.Args[0], func() { u.within(old.Body) }, func() { u.within(old.Else) })
		u.forgetStored(old.Body)
		u.forgetStored(old.Else)
	case While:
		u.forgetStored(old.Head)
		u.forgetStored(old.Body)
		u.While(func() Value {
			u.within(old.Head)
			return u.to[old.Args[0]]
		}, func() { u.within(old.Body) })
	case LocalLoad:
		at, constant := u.constant(in.Args[0])
		v, ok := u.known[element{in.Ref, at}]
		if !constant || !ok {
			v = u.emit(in)
		}
		if constant {
			u.known[element{in.Ref, at}] = v
		}
		u.to[old.Out[0]] = v
	case LocalStore:
		if at, ok := u.constant(in.Args[0]); ok {
			u.known[element{in.Ref, at}] = in.Args[1]
		} else {
			u.forgetStored([]Inst{in})
		}
		u.do(in)
	case Load, SharedLoad:
		for i, v := range u.wide(in) {
			u.to[old.Out[i]] = v
		}
	default:
		if len(old.Out) == 0 {
			u.do(in)
		} else {
			u.to[old.Out[0]] = u.emit(in)
		}
	}
}

func (u *unrolling) loop(old *Inst, in Inst) {
	if first, last, known := u.trips(in.Args[0], in.Args[1], int(in.Imm)); in.Unroll && known {
		lo, _ := u.constant(in.Args[0])
		for i := first; i <= last; i++ {
			u.to[old.Out[0]] = u.Const(in.Type, lo+i*in.Imm)
			u.replay(old.Body)
		}
		return
	}
	u.forgetStored(old.Body)
	u.For(in.Args[0], in.Args[1], int(in.Imm), func(i Value) {
		u.to[old.Out[0]] = i
		u.within(old.Body)
	})
}

// loads records in loaded the local arrays from which a list loads.
func loads(list []Inst, loaded map[int32]bool) {
	for i := range list {
		in := &list[i]
		if in.Op == LocalLoad {
			loaded[in.Ref] = true
		}
		loads(in.Head, loaded)
		loads(in.Body, loaded)
		loads(in.Else, loaded)
	}
}

// settling drops stores to local arrays that have no effect.
type settling struct {
	constants map[Value]uint64
	loaded    map[int32]bool  // arrays from which the kernel loads
	number    map[int32]int32 // new numbers of these arrays
}

// body returns a list without stores to elements that are stored again before anything can load them, and without stores to arrays from
// which nothing is loaded.
func (s *settling) body(list []Inst) []Inst {
	overwritten := map[element]bool{}
	kept := make([]Inst, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		in := list[i]
		var e element
		known := false
		if in.Op == LocalLoad || in.Op == LocalStore {
			e.array = in.Ref
			e.at, known = s.constants[in.Args[0]]
		}
		switch {
		case in.Op == LocalStore:
			if !s.loaded[in.Ref] || known && overwritten[e] {
				continue
			} else if known {
				overwritten[e] = true
			}
		case known:
			delete(overwritten, e)
		default:
			seen := map[int32]bool{}
			loads(list[i:i+1], seen)
			maps.DeleteFunc(overwritten, func(e element, _ bool) bool { return seen[e.array] })
		}
		in.Head, in.Body, in.Else = s.body(in.Head), s.body(in.Body), s.body(in.Else)
		if in.Op == LocalLoad || in.Op == LocalStore {
			in.Ref = s.number[in.Ref]
		}
		kept = append(kept, in)
	}
	slices.Reverse(kept)
	return kept
}
