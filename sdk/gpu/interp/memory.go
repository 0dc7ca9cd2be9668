package interp

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

type word interface {
	uint8 | uint16 | uint32 | uint64
}

// access compiles a memory instruction. The code depends on the type of its index and the size of its elements.
func (m *machine) access(in *ir.Inst) step {
	if in.Op == ir.LocalLoad || in.Op == ir.LocalStore {
		return m.local(in)
	}
	switch m.k.Types[in.Args[0]] {
	case dtype.I32:
		return accessBy[int32](m, in)
	case dtype.I64:
		return accessBy[int64](m, in)
	case dtype.U32:
		return accessBy[uint32](m, in)
	case dtype.U64:
		return accessBy[uint64](m, in)
	}
	return nil
}

func accessBy[I integer](m *machine, in *ir.Inst) step {
	if in.Op >= ir.AtomicAdd && in.Op <= ir.SharedAdd {
		return atomics[I](m, in)
	}
	switch in.Type.Size() {
	case 1:
		return move[I, uint8](m, in)
	case 2:
		return move[I, uint16](m, in)
	case 4:
		return move[I, uint32](m, in)
	case 8:
		return move[I, uint64](m, in)
	}
	return nil
}

// region is the memory that an instruction accesses.
type region[T any] struct {
	data   []T
	state  []state // state by element, for shared arrays
	shadow *cells
	// skew is the distance in elements from a multiple of 16 bytes to the beginning of data.
	skew int64
}

// regionOf returns the memory that Ref of an instruction names.
func regionOf[T any](m *machine, in *ir.Inst) region[T] {
	if in.Op == ir.SharedLoad || in.Op == ir.SharedStore || in.Op == ir.SharedAdd {
		s := m.shared[in.Ref]
		return region[T]{data: elements[T](s.data), state: s.state, shadow: m.races.ofShared(in.Ref)}
	}
	return region[T]{data: elements[T](m.buffers[in.Ref]), shadow: m.races.ofBuffer(in.Ref), skew: m.l.Args[in.Ref].Offset / int64(in.Type.Size())}
}

// check fails for an index that is out of range or not aligned.
func check[I integer, T any](m *machine, in *ir.Inst, p *region[T], lane int32, i I, w int) {
	at := int64(i)
	if at < 0 || at > int64(len(p.data)-w) {
		m.fail(in, lane, "index %d of %d elements", i, len(p.data))
	}
	if (at+p.skew)&int64(w-1) != 0 {
		m.fail(in, lane, "index %d of an access to %d elements", i, w)
	}
}

// checkAll checks the indices of all active threads.
func checkAll[I integer, T any](m *machine, in *ir.Inst, p *region[T], a *active, idx []I, w int) {
	most, low, skew := int64(len(p.data)-w), int64(w-1), p.skew
	if a.full {
		for i, x := range idx {
			if at := int64(x); at < 0 || at > most || (at+skew)&low != 0 {
				check(m, in, p, int32(i), x, w)
			}
		}
		return
	}
	for _, i := range a.lanes {
		if at := int64(idx[i]); at < 0 || at > most || (at+skew)&low != 0 {
			check(m, in, p, i, idx[i], w)
		}
	}
}

func move[I integer, T word](m *machine, in *ir.Inst) step {
	idx, p, w := vector[I](m, in.Args[0]), regionOf[T](m, in), int(in.Width)
	if in.Op == ir.Load || in.Op == ir.SharedLoad {
		out := make([][]T, w)
		for k := range out {
			out[k] = vector[T](m, in.Out[k])
		}
		return load(m, in, p, idx, out)
	}
	v := make([][]T, w)
	for k := range v {
		v[k] = vector[T](m, in.Args[1+k])
	}
	return store(m, in, p, idx, v)
}

func load[I integer, T word](m *machine, in *ir.Inst, p region[T], idx []I, out [][]T) step {
	w := len(out)
	return func(a *active) {
		checkAll(m, in, &p, a, idx, w)
		if p.state != nil || p.shadow != nil {
			elementwise(a, idx, w, func(lane int32, at int) {
				if p.state != nil && p.state[at] != written {
					m.readable(in, lane, p.state, at)
				}
				if p.shadow != nil {
					p.shadow.read(in, m.races.of(lane), at)
				}
			})
		}
		for k := range out {
			to, from := out[k], p.data[k:]
			if a.full {
				for i, x := range idx {
					to[i] = from[x]
				}
				continue
			}
			for _, i := range a.lanes {
				to[i] = from[idx[i]]
			}
		}
	}
}

func store[I integer, T word](m *machine, in *ir.Inst, p region[T], idx []I, v [][]T) step {
	w := len(v)
	return func(a *active) {
		checkAll(m, in, &p, a, idx, w)
		if p.state != nil || p.shadow != nil {
			elementwise(a, idx, w, func(lane int32, at int) {
				if p.state != nil && p.state[at] != written {
					m.writable(in, lane, p.state, at)
				}
				if p.shadow != nil {
					p.shadow.write(in, m.races.of(lane), at)
				}
			})
		}
		if w == 1 && a.full {
			from := v[0]
			for i, x := range idx {
				p.data[x] = from[i]
			}
			return
		}
		for _, i := range a.lanes { // if several threads store to one element, the last thread stores all its elements
			x := idx[i]
			for k := range v {
				p.data[int(x)+k] = v[k][i]
			}
		}
	}
}

// elementwise calls f for each element that an active thread accesses.
func elementwise[I integer](a *active, idx []I, w int, f func(lane int32, at int)) {
	for _, i := range a.lanes {
		x := int(idx[i])
		for k := range w {
			f(i, x+k)
		}
	}
}

// local compiles an access to a local array.
func (m *machine) local(in *ir.Inst) step {
	index := m.indices(in.Args[0])
	switch in.Type.Size() {
	case 1:
		return local[uint8](m, in, index)
	case 2:
		return local[uint16](m, in, index)
	case 4:
		return local[uint32](m, in, index)
	case 8:
		return local[uint64](m, in, index)
	}
	return nil
}

// indices returns a function that reads a value of any integer type as an index.
func (m *machine) indices(v ir.Value) func(lane int32) int64 {
	switch m.k.Types[v] {
	case dtype.I32:
		return reader(vector[int32](m, v))
	case dtype.U32:
		return reader(vector[uint32](m, v))
	case dtype.U64:
		return reader(vector[uint64](m, v))
	}
	return reader(vector[int64](m, v))
}

func reader[I integer](s []I) func(lane int32) int64 {
	if len(s) == 1 {
		return func(int32) int64 { return int64(s[0]) }
	}
	return func(lane int32) int64 { return int64(s[lane]) }
}

func local[T word](m *machine, in *ir.Inst, index func(int32) int64) step {
	arr, n := m.locals[in.Ref], m.n
	data := elements[T](arr.data)
	same := m.uniform[in.Args[0]]
	at := func(lane int32) int {
		i := index(lane)
		if i < 0 || i >= int64(arr.len) {
			m.fail(in, lane, "index %d of %d elements", i, arr.len)
		}
		return int(i) * n
	}
	if in.Op == ir.LocalStore {
		v := vector[T](m, in.Args[1])
		return func(a *active) {
			if same && a.full {
				i := at(0)
				copy(data[i:i+n], v)
				setAll(arr.state[i : i+n])
				return
			}
			for _, lane := range a.lanes {
				i := at(lane) + int(lane)
				data[i], arr.state[i] = v[lane], written
			}
		}
	}
	out := vector[T](m, in.Out[0])
	return func(a *active) {
		if same && a.full {
			i := at(0)
			if lane := unset(arr.state[i : i+n]); lane >= 0 {
				m.fail(in, int32(lane), "element %d is read before it is written", i/n)
			}
			copy(out, data[i:i+n])
			return
		}
		for _, lane := range a.lanes {
			i := at(lane) + int(lane)
			if arr.state[i] == unwritten {
				m.fail(in, lane, "element %d is read before it is written", i/n)
			}
			out[lane] = data[i]
		}
	}
}

func setAll(s []state) {
	for i := range s {
		s[i] = written
	}
}

// unset returns the first element that was not written, or -1 if all were.
func unset(s []state) int {
	for i, x := range s {
		if x == unwritten {
			return i
		}
	}
	return -1
}

// readable fails unless an element of a shared array has a value.
func (m *machine) readable(in *ir.Inst, lane int32, s []state, at int) {
	switch s[at] {
	case unwritten:
		m.fail(in, lane, "element %d is read before it is written", at)
	case copying:
		m.fail(in, lane, "element %d is read before the copy to it was waited for", at)
	}
}

// writable marks an element of a shared array as written. It fails if a copy to it is pending.
func (m *machine) writable(in *ir.Inst, lane int32, s []state, at int) {
	if s[at] == copying {
		m.fail(in, lane, "element %d is written before the copy to it was waited for", at)
	}
	s[at] = written
}
