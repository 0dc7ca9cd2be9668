package narrow_test

import (
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// author writes random kernels whose indices can be proved and whose threads write elements of their own.
type author struct {
	*ir.Builder
	r      *rand.Rand
	values map[dtype.DType][]ir.Value
	in     []ir.Buf // of places elements each
	out    []ir.Buf // of width neighbouring elements for each thread
	width  []int
	shared []ir.Mem      // of an element for each thread of a block
	kept   []dtype.DType // types of shared
	locals []ir.Var      // of two elements
	types  []dtype.DType // of out
	id     ir.Value
	depth  int
}

const (
	threads = 64
	blocks  = 3
	places  = 128
)

var (
	calculated = []dtype.DType{dtype.I64, dtype.U64, dtype.I64, dtype.U64, dtype.I32, dtype.U32, dtype.F32}
	stored     = []dtype.DType{dtype.I64, dtype.U64, dtype.I32, dtype.U32, dtype.F32, dtype.I16, dtype.U16, dtype.I8, dtype.U8, dtype.Bool, dtype.F16, dtype.BF16}
)

// write returns a random launch and its memory.
func write(seed uint64) (ir.Launch, [][]byte) {
	a := &author{Builder: ir.New("random", threads), r: rand.New(rand.NewPCG(seed, 7)), values: map[dtype.DType][]ir.Value{}}
	a.SetSubgroup(words.Subgroup)
	var l ir.Launch
	var slots [][]byte
	buffer := func(d dtype.DType, elements int, access ir.Access) ir.Buf {
		begin := a.r.IntN(3) * 16 // a multiple of every access
		s := make([]byte, begin+elements*d.Size()+(4-elements*d.Size()%4)%4)
		for i := range s {
			if s[i] = byte(a.r.Uint64()); d == dtype.Bool {
				s[i] &= 1
			} else if d.IsFloat() { // small numbers
				s[i] &= 0x3f
			}
		}
		l.Args = append(l.Args, ir.Arg{Slot: len(slots), Offset: int64(begin)})
		slots = append(slots, s)
		return a.Buffer("p", d, access)
	}
	for range 3 {
		a.in = append(a.in, buffer(a.pick(stored), places, ir.Read))
	}
	for range 4 {
		d := a.pick(stored)
		w := 1 << a.r.IntN(3)
		if d.Size() == 8 {
			w = min(w, 2)
		}
		a.out, a.width, a.types = append(a.out, buffer(d, threads*blocks*w, ir.Read|ir.Write)), append(a.width, w), append(a.types, d)
	}
	for _, d := range []dtype.DType{dtype.I64, dtype.U64, dtype.I32, dtype.U8} {
		bits := a.r.Uint64() >> a.r.IntN(64)
		l.Args = append(l.Args, ir.Arg{Bits: a.canonical(d, bits)})
		a.know(a.Scalar("s", d))
	}
	for range 2 {
		d := a.pick(stored)
		a.shared, a.kept = append(a.shared, a.Shared("m", d, threads)), append(a.kept, d)
	}
	a.id = a.Add(a.Mul(a.Block(0), a.Int(threads)), a.Thread())
	a.know(a.id, a.Thread(), a.Lane())
	for _, d := range []dtype.DType{dtype.I64, a.pick(stored)} {
		v := a.Local("l", d, 2)
		a.Set(v, a.Int(0), a.some(d))
		a.Set(v, a.Int(1), a.some(d))
		a.locals = append(a.locals, v)
	}
	for range 2 {
		a.body(8)
		a.together()
	}
	for i, p := range a.out {
		a.store(p, i)
	}
	l.Kernel, l.Grid = a.Kernel(), [3]int{blocks, 1, 1}
	return l, slots
}

func (a *author) pick(list []dtype.DType) dtype.DType { return list[a.r.IntN(len(list))] }

func (a *author) canonical(d dtype.DType, bits uint64) uint64 {
	shift := 64 - 8*d.Size()
	if d.Class() == dtype.Signed {
		return uint64(int64(bits<<shift) >> shift)
	}
	return bits << shift >> shift
}

func (a *author) know(vs ...ir.Value) {
	for _, v := range vs {
		d := a.TypeOf(v)
		a.values[d] = append(a.values[d], v)
	}
}

// some returns a value of a type, finite where it is a float.
func (a *author) some(d dtype.DType) ir.Value {
	if list := a.values[d]; len(list) > 0 && a.r.IntN(5) > 0 {
		return list[a.r.IntN(len(list))]
	}
	switch {
	case d.IsFloat():
		return a.Float(d, float64(a.r.IntN(64))/8)
	case d == dtype.Bool:
		return a.Const(d, a.r.Uint64()&1)
	case a.r.IntN(3) == 0:
		return a.Const(d, uint64(a.r.IntN(70)))
	}
	return a.Const(d, a.r.Uint64()>>a.r.IntN(64))
}

// index returns a random index below n, a power of two.
func (a *author) index(n int) ir.Value {
	d := []dtype.DType{dtype.U32, dtype.I64, dtype.U64}[a.r.IntN(3)]
	x := a.some(d)
	if d == dtype.I64 {
		x = a.any(x)
	}
	return a.And(x, a.Const(d, uint64(n-1)))
}

// any returns an i64 of which Check knows nothing, not even that it may have overflowed.
func (a *author) any(x ir.Value) ir.Value {
	a.Set(a.locals[0], a.Int(1), x)
	return a.Get(a.locals[0], a.Int(1))
}

// cast converts to any type; floats become small enough for integers first.
func (a *author) cast(d dtype.DType, v ir.Value) ir.Value {
	if from := a.TypeOf(v); from.IsFloat() && d.IsInt() {
		v = a.Cast(dtype.F32, v)
		low, high := 0.0, 120.0
		if d.Class() == dtype.Signed {
			low = -120
		}
		if d.Size() == 8 {
			high = 0x1p62
		}
		v = a.Max(a.Min(v, a.Float(dtype.F32, high)), a.Float(dtype.F32, low))
	}
	return a.Cast(d, v)
}

// inner writes a body of up to n statements, which may also use v. The values that the body computes are unknown after it.
func (a *author) inner(n int, v ...ir.Value) {
	saved := map[dtype.DType][]ir.Value{}
	for d, list := range a.values {
		saved[d] = list[:len(list):len(list)]
	}
	a.know(v...)
	a.depth++
	a.body(n)
	a.depth--
	a.values = saved
}

func (a *author) body(n int) {
	for range 1 + a.r.IntN(n) {
		a.statement()
	}
}

func (a *author) statement() {
	switch k := a.r.IntN(24); {
	case k < 10:
		a.know(a.arithmetic(a.pick(calculated)))
	case k < 12:
		a.know(a.cast(a.pick(stored), a.some(a.pick(stored))))
	case k < 15:
		p := a.in[a.r.IntN(len(a.in))]
		w := []int{1, 1, 2}[a.r.IntN(3)]
		i := a.index(places / w)
		a.know(a.LoadWide(p, a.Mul(i, a.Const(a.TypeOf(i), uint64(w))), w)...)
	case k < 17:
		i := a.r.IntN(len(a.out))
		a.store(a.out[i], i)
		a.know(a.Load(a.out[i], a.Mul(a.id, a.Int(a.width[i]))))
	case k < 19:
		v, i := a.locals[a.r.IntN(2)], a.Int(a.r.IntN(2))
		old := a.Get(v, i)
		a.know(old)
		a.Set(v, a.Int(a.r.IntN(2)), a.some(a.TypeOf(old)))
	case k < 20: // a guard in 64 bits
		x, p := a.any(a.some(dtype.I64)), a.in[0]
		inside := a.And(a.Le(a.Const(dtype.I64, 0), x), a.Lt(x, a.Const(dtype.I64, places)))
		a.If(inside, func() { a.Set(a.locals[0], a.Int(0), a.cast(dtype.I64, a.Load(p, x))) })
	case a.depth > 3:
	case k < 22:
		c := a.Binary([]ir.Op{ir.Lt, ir.Le, ir.Eq, ir.Ne}[a.r.IntN(4)], a.some(dtype.I64), a.some(dtype.I64))
		a.know(c)
		a.IfElse(c, func() { a.inner(4) }, func() { a.inner(2) })
	case k < 23:
		a.Unroll(a.r.IntN(4), func(i ir.Value) { a.inner(3, i) })
	default:
		d := []dtype.DType{dtype.I32, dtype.I64}[a.r.IntN(2)]
		a.For(a.Const(d, uint64(a.r.IntN(5))), a.Const(d, uint64(a.r.IntN(40))), 1+a.r.IntN(9), func(i ir.Value) { a.inner(3, i) })
	}
}

// arithmetic returns a random value of a type.
func (a *author) arithmetic(d dtype.DType) ir.Value {
	x, y := a.some(d), a.some(d)
	if d.IsFloat() {
		half := a.Mul(x, a.Float(d, 0.5))
		return []ir.Value{half, a.Min(x, y), a.Max(x, y), a.Add(half, a.Mul(y, a.Float(d, 0.5)))}[a.r.IntN(4)]
	}
	o := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.MulHi, ir.Div, ir.Rem, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor, ir.Shl, ir.Shr, ir.Not, ir.Neg, ir.Abs, ir.Select}[a.r.IntN(17)]
	switch o {
	case ir.Shl, ir.Shr:
		y = a.And(y, a.Const(d, uint64(8*d.Size()-1)))
	case ir.Div, ir.Rem:
		y = a.Or(a.And(y, a.Const(d, 1<<30-1)), a.Const(d, 1))
	case ir.Not, ir.Neg, ir.Abs:
		return a.Unary(o, x)
	case ir.Select:
		return a.Select(a.some(dtype.Bool), x, y)
	}
	return a.Binary(o, x, y)
}

// store writes random values to the elements that the thread has in p, which is buffer i of out.
func (a *author) store(p ir.Buf, i int) {
	var vs []ir.Value
	for range a.width[i] {
		vs = append(vs, a.some(a.types[i]))
	}
	a.Store(p, a.Mul(a.id, a.Int(a.width[i])), vs...)
}

// together exchanges values through shared memory and in subgroups. All threads of a block have to reach it.
func (a *author) together() {
	d := a.pick(stored)
	a.know(a.ShuffleXor(a.some(d), 1<<a.r.IntN(4)), a.ShuffleUp(a.some(d), 1), a.ShuffleFrom(a.some(d), a.And(a.Lane(), a.Int(7))))
	for i, m := range a.shared {
		a.SharedStore(m, a.Thread(), a.some(a.kept[i]))
		a.Barrier()
		a.know(a.SharedLoad(m, a.index(threads)))
		a.Barrier()
	}
}

// TestRandom compares random kernels with their rewritten forms.
func TestRandom(t *testing.T) {
	for seed := range uint64(400) {
		l, slots := write(seed)
		compare(t, l, slots)
	}
}

func FuzzLaunch(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) {
		l, slots := write(seed)
		compare(t, l, slots)
	})
}
