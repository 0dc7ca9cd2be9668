package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// sequence collects the launches and temporaries of a Work.
type sequence struct {
	t     Target
	work  ir.Work
	slots int // operands and results
}

// region is the beginning of the elements of an operand: a slot and an offset in bytes.
type region struct {
	slot   int
	offset int64
}

// newSequence begins a Work. slots is the number of its operands and results. faulty says that the work may read an index that is out of
// range.
func newSequence(t Target, slots int, faulty bool) *sequence {
	s := &sequence{t: t, slots: slots}
	if faulty {
		s.work.Fault = true
		s.temp(4)
	}
	return s
}

// temp adds a temporary of the given size, at least 4 bytes, and returns its region.
func (s *sequence) temp(bytes int) region {
	s.work.Temps = append(s.work.Temps, int64(max(bytes, 4)))
	return region{slot: s.slots + len(s.work.Temps) - 1}
}

// fault returns the region of the word that Work.Fault describes.
func (s *sequence) fault() region { return region{slot: s.slots} }

// regionOf returns the region of operand o, which is in the given slot.
func regionOf(slot int, o Operand) region {
	return region{slot, int64(o.View.Offset) * int64(o.Type.Size())}
}

// step is a launch under construction: a kernel and the arguments of its parameters.
type step struct {
	*ir.Builder
	t       Target
	threads int // threads of a block
	args    []ir.Arg
	grid    [3]int
	block   ir.Value      // the block's number over the whole grid
	shared  []dtype.DType // types of shared arrays
}

// begin starts a kernel that runs on the given number of blocks with the given number of threads each. Indices are of type i64 if the
// number of threads, or numbers, the greatest number in index arithmetic, is too large for i32.
func (s *sequence) begin(name string, threads, blocks, numbers int) *step {
	p := &step{Builder: ir.New(name, threads), t: s.t, threads: threads, grid: spread(s.t, blocks)}
	if p.grid[0]*p.grid[1]*p.grid[2] > math.MaxInt32/threads || numbers > math.MaxInt32 {
		p.Index = dtype.I64
	}
	p.block = p.Block(0)
	for axis, below := 1, p.grid[0]; axis < 3 && p.grid[axis] > 1; axis++ {
		p.block = p.Add(p.block, p.Mul(p.Block(axis), p.Int(below)))
		below *= p.grid[axis]
	}
	return p
}

// end adds the launch to the sequence.
func (s *sequence) end(p *step) {
	s.work.Launches = append(s.work.Launches, ir.Launch{Kernel: p.Kernel(), Grid: p.grid, Args: p.args})
}

// spread returns a grid of at least the given number of blocks, and few more, within the limits of the target.
func spread(t Target, blocks int) [3]int {
	g := [3]int{max(blocks, 1), 1, 1}
	for axis := 0; axis < 2 && t.Grid[axis] > 0 && g[axis] > t.Grid[axis]; axis++ {
		g[axis+1] = (g[axis] + t.Grid[axis] - 1) / t.Grid[axis]
		g[axis] = (g[axis] + g[axis+1] - 1) / g[axis+1]
	}
	return g
}

// buffer adds a buffer parameter and its argument.
func (p *step) buffer(name string, d dtype.DType, a ir.Access, at region) ir.Buf {
	p.args = append(p.args, ir.Arg{Slot: at.slot, Offset: at.offset})
	return p.Buffer(name, d, a)
}

// number adds a scalar parameter of the type of indices, so that different sizes share a kernel.
func (p *step) number(name string, v int) ir.Value {
	p.args = append(p.args, ir.Arg{Bits: uint64(int64(v))})
	return p.Scalar(name, p.Index)
}

// item returns the number of the thread over the whole grid.
func (p *step) item() ir.Value {
	return p.Add(p.Mul(p.block, p.Int(p.threads)), p.Thread())
}

// split converts number i to coordinates, the last changing fastest. dims[0] is not used as a bound.
func (p *step) split(i ir.Value, dims ...int) []ir.Value {
	out := make([]ir.Value, len(dims))
	for k := len(dims) - 1; k >= 0; k-- {
		switch {
		case k == 0:
			out[k] = i
		case dims[k] <= 1:
			out[k] = p.Int(0)
		default:
			out[k] = p.Rem(i, p.Int(dims[k]))
			i = p.Div(i, p.Int(dims[k]))
		}
	}
	return out
}

// join is the inverse of split: coordinates to a number.
func (p *step) join(dims []int, coords ...ir.Value) ir.Value {
	i := coords[0]
	for k := 1; k < len(coords); k++ {
		i = p.Add(p.Mul(i, p.Int(dims[k])), coords[k])
	}
	return i
}

// clamp returns v limited to [lo, hi].
func (p *step) clamp(v ir.Value, lo, hi int) ir.Value {
	d := p.TypeOf(v)
	return p.Min(p.Max(v, p.Const(d, uint64(int64(lo)))), p.Const(d, uint64(int64(hi))))
}

// guarded returns index v as a position in [0, n). n is at least 1. If v is out of range, it sets the fault.
func (p *step) guarded(v ir.Value, n int, fault ir.Buf) ir.Value {
	inside := p.clamp(v, 0, n-1)
	p.If(p.Ne(inside, v), func() { p.raise(fault) })
	return p.Cast(p.Index, inside)
}

// raise sets the fault.
func (p *step) raise(fault ir.Buf) {
	p.Atomic(ir.AtomicMax, fault, p.Int(0), p.Const(dtype.U32, 1))
}

// each adds a launch with one thread for each of n items. elements is the greatest number in its index arithmetic, if it is greater than
// n. build returns the function that builds the work on item i.
func (s *sequence) each(name string, n, elements int, build func(p *step) func(i ir.Value)) {
	const threads = 256
	p := s.begin(name, threads, (n+threads-1)/threads, max(n, elements))
	body := build(p)
	limit := p.number("n", n)
	i := p.item()
	p.If(p.Lt(i, limit), func() { body(i) })
	s.end(p)
}

// unit is the unit in which data is moved without computation: width elements of a type at a time.
type unit struct {
	d     dtype.DType
	width int
}

// bytes returns the size of a unit.
func (u unit) bytes() int { return u.d.Size() * u.width }

// unitOf returns the widest unit of elements of type d, of at most 16 bytes, whose size divides all the given numbers of bytes.
func unitOf(t Target, d dtype.DType, bytes ...int) unit {
	n := min(max(t.Wide, 8), 16)
	for _, b := range bytes {
		for n > d.Size() && b%n != 0 {
			n /= 2
		}
	}
	if n >= 4 {
		return unit{dtype.U32, n / 4}
	}
	return unit{d, n / d.Size()}
}

// zeros returns n zeros of type d.
func (p *step) zeros(d dtype.DType, n int) []ir.Value {
	v := make([]ir.Value, n)
	for k := range v {
		v[k] = p.Const(d, 0)
	}
	return v
}

// sharedRun returns n neighbouring elements of a shared array from at on, a multiple of n, with accesses as wide as possible.
func (p *step) sharedRun(m ir.Mem, at ir.Value, n int) []ir.Value {
	var out []ir.Value
	for w := p.widest(m, n); len(out) < n; {
		out = append(out, p.SharedLoadWide(m, p.Add(at, p.Int(len(out))), w)...)
	}
	return out
}

// sharedPut stores v in neighbouring elements of a shared array, from at on, with accesses as wide as possible.
func (p *step) sharedPut(m ir.Mem, at ir.Value, v []ir.Value) {
	for w, k := p.widest(m, len(v)), 0; k < len(v); k += w {
		p.SharedStore(m, p.Add(at, p.Int(k)), v[k:k+w]...)
	}
}

// widest returns the greatest power of two that divides n and does not exceed the number of elements of m that one access may have.
func (p *step) widest(m ir.Mem, n int) int {
	w := 1
	for n%(2*w) == 0 && 2*w*p.shared[m].Size() <= max(p.t.Wide, 1) {
		w *= 2
	}
	return w
}

// Shared adds an array in the memory of the block.
func (p *step) Shared(name string, d dtype.DType, n int) ir.Mem {
	p.shared = append(p.shared, d)
	return p.Builder.Shared(name, d, n)
}
