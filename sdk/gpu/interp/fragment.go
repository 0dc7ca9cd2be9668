package interp

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// fragments holds an array of fragments for all subgroups of a block. A fragment is stored as a whole matrix, row by row.
type fragments struct {
	ir.Fragments
	rows, cols int
	data       [][]float32 // by element, then subgroup; nil until the fragment is written
}

func (m *machine) newFragments() {
	for _, f := range m.k.Frags {
		g := fragments{Fragments: f}
		g.rows, g.cols = f.Shape()
		g.data = make([][]float32, f.Len*((m.n+m.sub-1)/m.sub))
		m.frags = append(m.frags, g)
	}
}

func (m *machine) clearFragments() {
	for _, f := range m.frags {
		clear(f.data)
	}
}

// fragment compiles an instruction on fragments. It runs once for each subgroup, all of whose threads are active.
func (m *machine) fragment(in *ir.Inst) step {
	var f func(lanes []int32)
	switch in.Op {
	case ir.FragFill:
		v := vector[float32](m, in.Args[1])
		f = func(lanes []int32) {
			m.same(in, lanes, 1)
			set := m.matrix(in, in.Ref, 0, lanes[0], true)
			for i := range set {
				set[i] = v[lanes[0]]
			}
		}
	case ir.FragLoad, ir.FragStore:
		f = func(lanes []int32) { m.matrixMove(in, lanes) }
	case ir.FragMMA:
		f = func(lanes []int32) { m.multiply(in, lanes[0]) }
	case ir.FragGet, ir.FragSet:
		f = m.element(in)
	case ir.FragPack:
		f = func(lanes []int32) { m.pack(in, lanes) }
	default:
		return nil
	}
	return func(a *active) {
		m.whole(in, a)
		for i := 0; i+m.sub <= len(a.lanes); i += m.sub {
			f(a.lanes[i : i+m.sub])
		}
	}
}

// same fails unless operand i is equal in all threads of a subgroup. It returns the operand if that is an integer.
func (m *machine) same(in *ir.Inst, lanes []int32, i int) int64 {
	var get func(int32) int64
	if m.k.Types[in.Args[i]] == dtype.F32 {
		bits := vector[uint32](m, in.Args[i])
		get = func(lane int32) int64 { return int64(bits[lane]) }
	} else {
		get = m.indices(in.Args[i])
	}
	x := get(lanes[0])
	for _, lane := range lanes {
		if get(lane) != x {
			m.fail(in, lane, "operand %d differs within the subgroup", i)
		}
	}
	return x
}

// matrix returns the matrix of element Args[arg] of fragment array ref, for the subgroup of a thread.
func (m *machine) matrix(in *ir.Inst, ref int32, arg int, lane int32, write bool) []float32 {
	return m.matrixAt(in, ref, m.indices(in.Args[arg])(lane), lane, write)
}

// matrixAt returns the matrix of element i.
func (m *machine) matrixAt(in *ir.Inst, ref int32, i int64, lane int32, write bool) []float32 {
	f := &m.frags[ref]
	if i < 0 || i >= int64(f.Len) {
		m.fail(in, lane, "index %d of %d fragments", i, f.Len)
	}
	at := &f.data[int(i)*((m.n+m.sub-1)/m.sub)+int(lane)/m.sub]
	if *at == nil {
		if !write {
			m.fail(in, lane, "fragment %d is read before it is written", i)
		}
		*at = make([]float32, f.rows*f.cols)
	}
	return *at
}

func (m *machine) matrixMove(in *ir.Inst, lanes []int32) {
	m.same(in, lanes, 0)
	offset, stride := m.same(in, lanes, 1), m.same(in, lanes, 2)
	f := &m.frags[in.Ref]
	var now event
	if m.races != nil {
		now = m.races.together(lanes[0] / int32(m.sub))
	}
	for n := range max(1, int(in.Width)) {
		at := offset
		if in.Imm != 0 {
			at += int64(n*f.cols) * stride
		} else {
			at += int64(n * f.cols)
		}
		m.matrixMoveOne(in, lanes[0], n, at, stride, now)
	}
}

// matrixMoveOne moves the matrix of element Args[0]+n from or to a shared array, where it begins at offset.
func (m *machine) matrixMoveOne(in *ir.Inst, first int32, n int, offset, stride int64, now event) {
	set := m.matrixAt(in, in.Ref, m.indices(in.Args[0])(first)+int64(n), first, in.Op == ir.FragLoad)
	f, s := &m.frags[in.Ref], m.shared[in.Ref2]
	for r := range f.rows {
		for c := range f.cols {
			at := offset + int64(r)*stride + int64(c)
			if in.Imm != 0 {
				at = offset + int64(c)*stride + int64(r)
			}
			if at < 0 || at >= int64(s.len) {
				m.fail(in, first, "row %d, column %d: index %d of %d elements", r, c, at, s.len)
			}
			if in.Op == ir.FragStore {
				m.writable(in, first, s.state, int(at))
				elements[float32](s.data)[at] = set[r*f.cols+c]
				if m.races != nil {
					m.races.shared[in.Ref2].write(in, now, int(at))
				}
				continue
			}
			m.readable(in, first, s.state, int(at))
			set[r*f.cols+c] = factor(f.MMA.Type, s.data, int(at))
			if m.races != nil {
				m.races.shared[in.Ref2].read(in, now, int(at))
			}
		}
	}
}

// factor returns element i of an array with the precision with which matrix instructions read it.
func factor(t dtype.DType, data []byte, i int) float32 {
	switch t {
	case dtype.F16:
		return elements[dtype.Float16](data)[i].Float32()
	case dtype.BF16:
		return elements[dtype.BFloat16](data)[i].Float32()
	}
	return math.Float32frombits(elements[uint32](data)[i] &^ 0x1fff)
}

// multiply executes FragMMA: it adds exact products in float64 and rounds once.
func (m *machine) multiply(in *ir.Inst, lane int32) {
	c, a, b := m.matrix(in, in.Ref, 0, lane, false), m.matrix(in, in.Ref2, 1, lane, false), m.matrix(in, int32(in.Imm), 2, lane, false)
	f := m.frags[in.Ref].MMA
	for i := range f.M {
		for j := range f.N {
			sum := float64(c[i*f.N+j])
			for k := range f.K {
				sum += float64(a[i*f.K+k]) * float64(b[k*f.N+j])
			}
			c[i*f.N+j] = float32(sum)
		}
	}
}

// pack rounds neighbouring C fragments into the columns of an A fragment.
func (m *machine) pack(in *ir.Inst, lanes []int32) {
	m.same(in, lanes, 0)
	first := m.same(in, lanes, 1)
	a := m.matrix(in, in.Ref, 0, lanes[0], true)
	f, c := &m.frags[in.Ref], &m.frags[in.Ref2]
	for k := range f.cols / c.cols {
		i := first + int64(k)
		if i < 0 || i >= int64(c.Len) {
			m.fail(in, lanes[0], "index %d of %d fragments", i, c.Len)
		}
		from := c.data[int(i)*((m.n+m.sub-1)/m.sub)+int(lanes[0])/m.sub]
		if from == nil {
			m.fail(in, lanes[0], "fragment %d is read before it is written", i)
		}
		for r := range c.rows {
			for col := range c.cols {
				a[r*f.cols+k*c.cols+col] = rounded(f.MMA.Type, from[r*c.cols+col])
			}
		}
	}
}

// rounded returns v rounded to a factor of type t.
func rounded(t dtype.DType, v float32) float32 {
	switch t {
	case dtype.F16:
		return dtype.Float16From64(float64(v)).Float32()
	case dtype.BF16:
		return dtype.BFloat16From64(float64(v)).Float32()
	}
	return math.Float32frombits(math.Float32bits(v) &^ 0x1fff)
}

// element compiles an access to one element of the part of an accumulator that each thread holds.
func (m *machine) element(in *ir.Inst) func(lanes []int32) {
	f := &m.frags[in.Ref]
	var v []float32
	if in.Op == ir.FragGet {
		v = vector[float32](m, in.Out[0])
	} else {
		v = vector[float32](m, in.Args[1])
	}
	return func(lanes []int32) {
		m.same(in, lanes, 0)
		set := m.matrix(in, in.Ref, 0, lanes[0], in.Op == ir.FragSet)
		if n := f.Elements(m.sub); in.Imm >= uint64(n) {
			m.fail(in, -1, "element %d of %d", in.Imm, n)
		}
		for i, lane := range lanes {
			row, col := f.MMA.Accumulator(m.sub, i, int(in.Imm))
			if in.Op == ir.FragGet {
				v[lane] = set[row*f.cols+col]
			} else {
				set[row*f.cols+col] = v[lane]
			}
		}
	}
}
