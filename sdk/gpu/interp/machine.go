package interp

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// active is the set of threads that execute an instruction: lanes holds their numbers in order; full says that all threads of the block are
// active.
type active struct {
	full  bool
	lanes []int32
}

// step is a compiled instruction. It panics with a *Fault.
type step func(a *active)

// machine is a kernel compiled for one launch, with the state of one block. One goroutine uses it.
type machine struct {
	k    *ir.Kernel
	l    ir.Launch
	o    Options
	n    int // number of threads of a block
	sub  int // number of threads of a subgroup
	lock *sync.Mutex

	uniform []bool // by value: whether it is equal in all threads
	spread  []bool // by uniform value: whether some instruction needs one copy for each thread
	memory  []unsafe.Pointer
	slots   [][]byte
	buffers [][]byte // memory by parameter
	shared  []array
	locals  []array
	frags   []fragments
	async   async
	races   *races

	code  []step
	all   active
	index [3]int // position of the block in the grid
}

// array is the memory of a shared array of the block, or of a local array of all threads. In a local array, element i of all threads comes
// before element i+1.
type array struct {
	data  []byte
	state []state // by element
	len   int
}

// state says whether and how an element was written.
type state uint8

const (
	unwritten state = iota
	written
	copying // being written by an asynchronous copy for which no thread has waited
)

func newMachine(l ir.Launch, slots [][]byte, o Options, lock *sync.Mutex) (m *machine, err error) {
	k := l.Kernel
	if err := k.Verify(); err != nil {
		return nil, err
	}
	m = &machine{k: k, l: l, o: o, n: k.Threads, sub: k.Subgroup, lock: lock, slots: slots}
	if m.sub == 0 {
		m.sub = o.Subgroup
	}
	if len(l.Args) != len(k.Params) {
		return nil, fmt.Errorf("kernel %s: %d arguments for %d parameters", k.Name, len(l.Args), len(k.Params))
	}
	m.buffers = make([][]byte, len(k.Params))
	for i, p := range k.Params {
		if !p.IsBuffer() {
			continue
		}
		a := l.Args[i]
		if a.Slot < 0 || a.Slot >= len(slots) || a.Offset < 0 || a.Offset > int64(len(slots[a.Slot])) || a.Offset%int64(p.Type.Size()) != 0 {
			return nil, fmt.Errorf("kernel %s: argument %s: slot %d, offset %d", k.Name, p.Name, a.Slot, a.Offset)
		}
		m.buffers[i] = slots[a.Slot][a.Offset:]
	}
	m.all = active{true, make([]int32, m.n)}
	for i := range m.all.lanes {
		m.all.lanes[i] = int32(i)
	}
	for _, s := range k.Shared {
		m.shared = append(m.shared, array{aligned(s.Len * s.Type.Size()), make([]state, s.Len), s.Len})
	}
	for _, s := range k.Locals {
		m.locals = append(m.locals, array{aligned(s.Len * s.Type.Size() * m.n), make([]state, s.Len*m.n), s.Len})
	}
	m.newFragments()
	if o.Races {
		m.races = newRaces(m)
	}
	defer m.recovered(&err)
	m.allocate()
	m.code = m.compile(k.Body)
	return m, nil
}

// aligned returns n bytes that begin at a multiple of 8.
func aligned(n int) []byte {
	words := make([]uint64, (n+7)/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// block runs block i of the grid.
func (m *machine) block(i int) (err error) {
	g := m.l.Grid
	m.index = [3]int{i % g[0], i / g[0] % g[1], i / (g[0] * g[1])}
	for _, s := range m.shared {
		clear(s.state)
	}
	for _, s := range m.locals {
		clear(s.state)
	}
	m.clearFragments()
	m.async.clear()
	if m.races != nil {
		m.races.begin(i)
	}
	defer m.recovered(&err)
	run(m.code, &m.all)
	return nil
}

func run(code []step, a *active) {
	for _, s := range code {
		s(a)
	}
}

func (m *machine) recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Fault:
		*err = r
	default:
		panic(r)
	}
}

// fail ends the launch with a *Fault.
func (m *machine) fail(in *ir.Inst, lane int32, format string, args ...any) {
	panic(&Fault{Kernel: m.k.Name, Block: m.index, Thread: int(lane), Inst: m.k.Line(in), Text: fmt.Sprintf(format, args...)})
}

// allocate determines the values that are equal in all threads, and allocates memory for all values.
func (m *machine) allocate() {
	m.uniform = make([]bool, len(m.k.Types))
	m.spread = make([]bool, len(m.k.Types))
	m.mark(m.k.Body)
	m.memory = make([]unsafe.Pointer, len(m.k.Types))
	for v, t := range m.k.Types {
		n := m.n
		if m.uniform[v] && !m.spread[v] {
			n = 1
		}
		m.memory[v] = unsafe.Pointer(unsafe.SliceData(aligned(n * t.Size())))
	}
}

// mark sets uniform and spread for a body. Values are defined before they are used, so one pass is enough.
func (m *machine) mark(body []ir.Inst) {
	for i := range body {
		in := &body[i]
		same := true
		for _, a := range in.Args {
			same = same && m.uniform[a]
		}
		switch {
		case in.Op == ir.Thread || in.Op == ir.Lane:
			same = false
		case in.Op == ir.Const || in.Op == ir.Scalar || in.Op == ir.Block || in.Op == ir.Blocks || in.Op == ir.PopCount:
		case in.Op >= ir.Add && in.Op <= ir.Exp2Fast:
		case in.Op == ir.For:
		case in.Op == ir.If:
			m.mark(in.Body)
			m.mark(in.Else)
			continue
		case in.Op == ir.While:
			m.mark(in.Head)
			m.mark(in.Body)
			continue
		default:
			same = false
		}
		if same {
			for _, v := range in.Out {
				m.uniform[v] = true
			}
		} else {
			for _, a := range in.Args {
				m.spread[a] = true
			}
		}
		if in.Op == ir.For {
			m.mark(in.Body)
		}
	}
}

// vector returns the values of v: one for each thread, or a single one if v is equal in all threads and no instruction needs a copy for
// each.
func vector[T any](m *machine, v ir.Value) []T {
	n := m.n
	if m.uniform[v] && !m.spread[v] {
		n = 1
	}
	return unsafe.Slice((*T)(m.memory[v]), n)
}

// elements returns b as a slice of elements of type T, without an incomplete last element.
func elements[T any](b []byte) []T {
	var z T
	n := len(b) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// width returns the number of elements of a value that an instruction computes.
func (m *machine) width(v ir.Value) int {
	if m.uniform[v] {
		return 1
	}
	return m.n
}

// spreading returns a step that runs f and then copies its single element to all threads, if an instruction needs that.
func (m *machine) spreading(v ir.Value, f step) step {
	if f == nil || !m.uniform[v] || !m.spread[v] {
		return f
	}
	fill := m.filler(v)
	return func(a *active) { f(a); fill() }
}

func (m *machine) filler(v ir.Value) func() {
	switch m.k.Types[v].Size() {
	case 1:
		return fill(vector[uint8](m, v))
	case 2:
		return fill(vector[uint16](m, v))
	case 4:
		return fill(vector[uint32](m, v))
	}
	return fill(vector[uint64](m, v))
}

func fill[T any](s []T) func() {
	return func() {
		x := s[0]
		for i := range s {
			s[i] = x
		}
	}
}

// put sets a constant value to bits, in all threads.
func (m *machine) put(v ir.Value, bits uint64) {
	switch m.k.Types[v].Size() {
	case 1:
		vector[uint8](m, v)[0] = uint8(bits)
	case 2:
		vector[uint16](m, v)[0] = uint16(bits)
	case 4:
		vector[uint32](m, v)[0] = uint32(bits)
	case 8:
		vector[uint64](m, v)[0] = bits
	}
	m.filler(v)()
}

// compile compiles a body.
func (m *machine) compile(body []ir.Inst) []step {
	var code []step
	for i := range body {
		if s := m.inst(&body[i]); s != nil {
			code = append(code, s)
		}
	}
	return code
}

// inst compiles an instruction. It returns nil if the instruction does nothing when a block runs.
func (m *machine) inst(in *ir.Inst) step {
	switch op := in.Op; {
	case op == ir.Const:
		m.put(in.Out[0], in.Imm)
		return nil
	case op == ir.Scalar:
		m.put(in.Out[0], m.l.Args[in.Ref].Bits)
		return nil
	case op == ir.Thread || op == ir.Lane:
		out := vector[int32](m, in.Out[0])
		for i := range out {
			out[i] = int32(i)
			if op == ir.Lane {
				out[i] %= int32(m.sub)
			}
		}
		return nil
	case op == ir.Blocks:
		m.put(in.Out[0], uint64(m.l.Grid[in.Imm]))
		return nil
	case op == ir.Block:
		out, axis := vector[int32](m, in.Out[0]), in.Imm
		return m.spreading(in.Out[0], func(*active) { out[0] = int32(m.index[axis]) })
	case op == ir.Cast:
		return m.need(in, m.spreading(in.Out[0], m.flushing(in, func() step { return m.cast(in) })))
	case op == ir.Bitcast:
		return m.spreading(in.Out[0], m.bitcast(in))
	case op == ir.Select:
		return m.spreading(in.Out[0], m.choose(in))
	case op == ir.PopCount:
		return m.spreading(in.Out[0], m.popCount(in))
	case op >= ir.Add && op <= ir.Exp2Fast:
		return m.need(in, m.spreading(in.Out[0], m.flushing(in, func() step { return m.arithmetic(in) })))
	case op >= ir.Load && op <= ir.SharedAdd:
		return m.need(in, m.access(in))
	case op == ir.AsyncCopy || op == ir.AsyncCommit || op == ir.AsyncWait:
		return m.asynchronous(in)
	case op == ir.For:
		return m.need(in, m.loop(in))
	case op == ir.If:
		return m.branch(in)
	case op == ir.While:
		return m.while(in)
	case op >= ir.Barrier && op <= ir.Ballot:
		return m.need(in, m.cooperate(in))
	case op >= ir.FragFill && op <= ir.FragPack:
		return m.need(in, m.fragment(in))
	}
	return m.need(in, nil)
}

// need returns s, and fails if it is nil.
func (m *machine) need(in *ir.Inst, s step) step {
	if s == nil {
		m.fail(in, -1, "there is no such operation on %v", in.Type)
	}
	return s
}

// bytesOf returns the first n bytes of the memory of a value.
func bytesOf(m *machine, v ir.Value, n int) []byte { return unsafe.Slice((*byte)(m.memory[v]), n) }
