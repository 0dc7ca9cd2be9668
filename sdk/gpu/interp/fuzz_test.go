package interp_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// author writes random kernels that are well typed, with indices of which some are in range.
type author struct {
	*ir.Builder
	r       *rand.Rand
	values  map[dtype.DType][]ir.Value
	buffers []ir.Buf
	types   []dtype.DType // of the buffers
	lengths []int
	shared  []ir.Mem
	local   ir.Var
	depth   int
}

var computed = []dtype.DType{dtype.I32, dtype.I32, dtype.I32, dtype.U32, dtype.I64, dtype.U64, dtype.F32, dtype.F64, dtype.Bool}

const threads = 64

// write returns a random launch and the sizes of its slots in bytes.
func write(seed uint64) (l ir.Launch, slots []int64) {
	a := &author{Builder: ir.New("random", threads), r: rand.New(rand.NewPCG(seed, 9)), values: map[dtype.DType][]ir.Value{}}
	a.SetSubgroup(16)
	for range 3 {
		d := dtype.All()[a.r.IntN(len(dtype.All()))]
		n := []int{1, 60, 128, 256, 300}[a.r.IntN(5)]
		a.buffers = append(a.buffers, a.Buffer("p", d, ir.Read|ir.Write|ir.Atomic))
		a.types, a.lengths = append(a.types, d), append(a.lengths, n)
		l.Args = append(l.Args, ir.Arg{Slot: len(slots)})
		slots = append(slots, int64(n*d.Size()))
	}
	for _, d := range []dtype.DType{dtype.I32, dtype.I64, dtype.U32, dtype.F32} {
		v := a.Scalar("s", d)
		a.know(d, v)
		l.Args = append(l.Args, ir.Arg{Bits: uint64(a.r.IntN(300))})
	}
	a.shared = []ir.Mem{a.Shared("m", dtype.I32, 64), a.Shared("h", dtype.F16, 100)}
	a.local = a.Local("l", dtype.I32, 2)
	a.Put(a.local, a.Int(0))
	a.Set(a.local, a.Int(1), a.Int(1))
	a.know(dtype.I32, a.Thread(), a.Block(0), a.Lane(), a.Add(a.Mul(a.Block(0), a.Int(threads)), a.Thread()))
	a.body(12)
	l.Kernel, l.Grid = a.Kernel(), [3]int{3, 1, 1}
	return l, slots
}

func (a *author) know(d dtype.DType, v ...ir.Value) { a.values[d] = append(a.values[d], v...) }

// some returns a known value or a constant of a type.
func (a *author) some(d dtype.DType) ir.Value {
	if list := a.values[d]; len(list) > 0 && a.r.IntN(4) > 0 {
		return list[a.r.IntN(len(list))]
	}
	switch {
	case d.IsFloat():
		return a.Float(d, a.r.NormFloat64())
	case a.r.IntN(8) == 0:
		return a.Const(d, a.r.Uint64()>>a.r.IntN(64))
	}
	return a.Const(d, uint64(a.r.IntN(70)))
}

func (a *author) body(n int) {
	a.scope(func() {
		a.depth++
		for range 1 + a.r.IntN(n) {
			a.statement()
		}
		a.depth--
	})
}

// scope calls f and then forgets the values that f added.
func (a *author) scope(f func()) {
	saved := map[dtype.DType][]ir.Value{}
	for d, list := range a.values {
		saved[d] = list[:len(list):len(list)]
	}
	f()
	a.values = saved
}

func (a *author) statement() {
	switch k := a.r.IntN(32); {
	case k < 12:
		a.arithmetic()
	case k < 17:
		a.access()
	case k < 19:
		a.sharedAccess()
	case k < 20:
		a.Set(a.local, a.Int(a.r.IntN(2)), a.some(dtype.I32))
		a.know(dtype.I32, a.At(a.local))
	case k < 22:
		d := computed[a.r.IntN(len(computed))]
		a.know(d, a.Cast(d, a.some(computed[a.r.IntN(len(computed))])))
	case k < 23:
		a.Barrier()
	case k < 24:
		a.together()
	case a.depth > 3:
	case k < 29:
		cond := a.condition()
		a.IfElse(cond, func() { a.body(5) }, func() { a.body(2) })
	default:
		a.For(a.Max(a.some(dtype.I32), a.Int(-50)), a.Min(a.some(dtype.I32), a.Int(a.r.IntN(400))), 30+a.r.IntN(200), func(i ir.Value) {
			a.scope(func() {
				a.know(dtype.I32, i, i, i)
				a.body(5)
			})
		})
	}
}

func (a *author) condition() ir.Value {
	d := []dtype.DType{dtype.I32, dtype.I32, dtype.U32, dtype.I64, dtype.F32}[a.r.IntN(5)]
	c := a.Binary([]ir.Op{ir.Lt, ir.Le, ir.Eq, ir.Ne, ir.Lt}[a.r.IntN(5)], a.some(d), a.some(d))
	switch a.r.IntN(4) {
	case 0:
		c = a.Unary(ir.Not, c)
	case 1:
		c = a.Binary([]ir.Op{ir.And, ir.Or}[a.r.IntN(2)], c, a.some(dtype.Bool))
	}
	a.know(dtype.Bool, c)
	return c
}

func (a *author) arithmetic() {
	d := computed[a.r.IntN(len(computed))]
	var v ir.Value
	switch {
	case a.r.IntN(6) == 0:
		v = a.Select(a.condition(), a.some(d), a.some(d))
	case d == dtype.Bool:
		v = a.condition()
	case d.IsFloat():
		v = a.Binary([]ir.Op{ir.Add, ir.Mul, ir.Sub, ir.Min, ir.Max}[a.r.IntN(5)], a.some(d), a.some(d))
	default:
		ops := []ir.Op{ir.Add, ir.Add, ir.Sub, ir.Mul, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor, ir.MulHi}
		v = a.Binary(ops[a.r.IntN(len(ops))], a.some(d), a.some(d))
		c := a.Const(d, uint64(1+a.r.IntN(40)))
		switch a.r.IntN(7) {
		case 0:
			v = a.Div(a.some(d), c)
		case 1:
			v = a.Rem(a.some(d), c)
		case 2:
			v = a.Binary([]ir.Op{ir.Shl, ir.Shr}[a.r.IntN(2)], a.some(d), a.Rem(c, a.Const(d, 30)))
		case 3:
			x := a.some(d)
			v = a.Sub(x, a.Mul(a.Div(x, c), c))
		case 4:
			v = a.Unary([]ir.Op{ir.Neg, ir.Abs, ir.Not}[a.r.IntN(3)], a.some(d))
		}
	}
	a.know(d, v)
}

// index calls f with an index for accesses to width of n elements: unchecked, clamped or within a guard.
func (a *author) index(n, width int, f func(i ir.Value)) {
	d := []dtype.DType{dtype.I32, dtype.I32, dtype.U32, dtype.I64}[a.r.IntN(4)]
	i, most := a.some(d), a.Const(d, uint64(max(n-width, 0)))
	if width > 1 && a.r.IntN(4) > 0 {
		i = a.Mul(i, a.Const(d, uint64(width)))
	}
	switch a.r.IntN(5) {
	case 0:
		i = a.Max(a.Const(d, 0), a.Min(i, most))
	case 1:
		i = a.Select(a.And(a.Le(a.Const(d, 0), i), a.Le(i, most)), i, a.Const(d, 0))
	case 2, 3:
		a.If(a.And(a.Le(a.Const(d, 0), i), a.Le(a.Add(i, a.Const(d, uint64(a.r.IntN(2)))), most)), func() { a.scope(func() { f(i) }) })
		return
	}
	f(i)
}

func (a *author) access() {
	k := a.r.IntN(len(a.buffers))
	p, d, n := a.buffers[k], a.types[k], a.lengths[k]
	width := 1 << a.r.IntN(3)
	if width*d.Size() > 16 {
		width = 1
	}
	a.index(n, width, func(i ir.Value) {
		v := a.LoadWide(p, i, width)
		if a.r.IntN(2) == 0 {
			a.Store(p, i, v...)
		}
		if width == 1 && d != dtype.Bool && a.r.IntN(4) == 0 {
			a.Atomic(ir.AtomicAdd, p, i, v[0])
		}
	})
}

func (a *author) sharedAccess() {
	a.index(64, 1, func(i ir.Value) {
		a.SharedStore(a.shared[0], i, a.some(dtype.I32))
		a.know(dtype.I32, a.SharedLoad(a.shared[0], i))
	})
}

func (a *author) together() {
	v := a.some(dtype.I32)
	switch a.r.IntN(4) {
	case 0:
		a.know(dtype.I32, a.ShuffleXor(v, a.r.IntN(16)))
	case 1:
		a.know(dtype.I32, a.ShuffleFrom(v, a.Binary(ir.And, a.some(dtype.I32), a.Int(15))))
	case 2:
		a.know(dtype.U32, a.Ballot(a.some(dtype.Bool)))
	case 3:
		a.SubgroupBarrier()
	}
}

// excused are the faults that Check leaves to the interpreter.
var excused = []string{"division by zero", "shift by", "is read before it is written"}

// agree checks that a launch that Check accepts runs without a fault in indices, barriers and loops. It reports whether Check accepts it.
func agree(t *testing.T, seed uint64) (accepted bool) {
	l, sizes := write(seed)
	require.NotEmpty(t, l.Kernel.String())
	slots := make([][]byte, len(sizes))
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range slots {
		slots[i] = make([]byte, sizes[i])
		for k := range slots[i] {
			slots[i][k] = byte(r.Uint32())
		}
	}
	checked := ir.Check(l, sizes, ir.Limits{})
	err := interp.Run(l, slots, interp.Options{})
	if checked != nil {
		var e *ir.CheckError
		require.ErrorAs(t, checked, &e)
		return false
	}
	var f *interp.Fault
	if errors.As(err, &f) {
		for _, text := range excused {
			if strings.Contains(f.Text, text) {
				return true
			}
		}
	}
	require.NoError(t, err, "seed %d: accepted, and yet\n%v", seed, l.Kernel)
	return true
}

func TestCheckedKernelsRun(t *testing.T) {
	accepted := 0
	for seed := range uint64(2000) {
		if agree(t, seed) {
			accepted++
		}
	}
	t.Logf("%d accepted", accepted)
	require.Greater(t, accepted, 200)
}

func FuzzCheckedKernelsRun(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { agree(t, seed) })
}

// FuzzSpoiltKernels changes kernels at random and checks that neither Check nor String nor Run panics, and that kernels that Verify refuses
// are refused by Check and Run.
func FuzzSpoiltKernels(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint32(seed*7919), uint8(seed), uint64(1)<<(seed%64))
	}
	f.Fuzz(func(t *testing.T, seed uint64, region uint32, field uint8, value uint64) {
		l, sizes := write(seed)
		n := 0
		var list func(body []ir.Inst) // all instructions
		var all []*ir.Inst
		list = func(body []ir.Inst) {
			for i := range body {
				all = append(all, &body[i])
				list(body[i].Head)
				list(body[i].Body)
				list(body[i].Else)
			}
		}
		list(l.Kernel.Body)
		in := all[int(region)%len(all)]
		spoil(in, l.Kernel, field, value, int(region))
		n += len(l.Kernel.String())
		require.Positive(t, n)
		slots := make([][]byte, len(sizes))
		for i := range slots {
			slots[i] = make([]byte, sizes[i])
		}
		checked := ir.Check(l, sizes, ir.Limits{})
		err := interp.Run(l, slots, interp.Options{Iterations: 100, Races: true})
		if l.Kernel.Verify() != nil {
			require.Error(t, checked)
			require.Error(t, err)
		}
	})
}

func spoil(in *ir.Inst, k *ir.Kernel, field uint8, value uint64, region int) {
	v := ir.Value(value)
	switch field % 14 {
	case 0:
		in.Op = ir.Op(value)
	case 1:
		in.Type = dtype.DType(value)
	case 2:
		in.Width = int32(value)
	case 3:
		in.Ref = int32(value)
	case 4:
		in.Ref2 = int32(value)
	case 5:
		in.Imm = value
	case 6:
		in.Out = append(in.Out, v)
	case 7:
		in.Args = append(in.Args, v)
	case 8:
		if len(in.Args) > 0 {
			in.Args[region%len(in.Args)] = v
		}
	case 9:
		if len(in.Args) > 0 {
			in.Args = in.Args[1:]
		}
	case 10:
		in.Out = nil
	case 11:
		k.Types[region%len(k.Types)] = dtype.DType(value)
	case 12:
		in.Body, in.Else, in.Head = in.Else, in.Head, in.Body
	case 13:
		k.Shared[region%len(k.Shared)].Type = dtype.DType(value)
	}
}
