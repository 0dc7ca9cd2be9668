package interp_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// one runs a kernel of one block on slots.
func one(k *ir.Kernel, o interp.Options, slots ...[]byte) error {
	l := ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}}
	for i := range slots {
		l.Args = append(l.Args, ir.Arg{Slot: i})
	}
	return interp.Run(l, slots, o)
}

func TestSubgroups(t *testing.T) {
	for _, sub := range []int{8, 32} {
		b := ir.New("exchange", 64)
		b.SetSubgroup(sub)
		out := b.Buffer("out", dtype.I32, ir.Write)
		th := b.Thread()
		ballot := b.Cast(dtype.I32, b.Ballot(b.Lt(b.Rem(b.Lane(), b.Int(8)), b.Int(3))))
		for k, v := range []ir.Value{b.ShuffleXor(th, 5), b.ShuffleUp(th, 3), b.ShuffleFrom(th, b.Sub(b.Int(sub-1), b.Lane())), ballot} {
			b.Store(out, b.Add(b.Int(64*k), th), v)
		}
		got := make([]int32, 256)
		require.NoError(t, one(b.Kernel(), interp.Options{}, raw(got)))
		for i := range int32(64) {
			lane := i % int32(sub)
			require.Equal(t, i^5, got[i])
			if lane < 3 {
				require.Equal(t, i, got[64+i])
			} else {
				require.Equal(t, i-3, got[64+i])
			}
			require.Equal(t, i-lane+int32(sub)-1-lane, got[128+i])
			require.Equal(t, map[int]uint32{8: 7, 32: 0x07070707}[sub], uint32(got[192+i]))
		}
	}
}

func TestControl(t *testing.T) {
	b := ir.New("collatz", 40)
	out := b.Buffer("out", dtype.I32, ir.Write)
	n, steps := b.Local("n", dtype.I32, 1), b.Local("steps", dtype.I32, 1)
	b.Put(n, b.Add(b.Thread(), b.Int(1)))
	b.Put(steps, b.Int(0))
	b.While(func() ir.Value { return b.Ne(b.At(n), b.Int(1)) }, func() {
		b.IfElse(b.Eq(b.Rem(b.At(n), b.Int(2)), b.Int(0)),
			func() { b.Put(n, b.Div(b.At(n), b.Int(2))) },
			func() { b.Put(n, b.Add(b.Mul(b.At(n), b.Int(3)), b.Int(1))) })
		b.Put(steps, b.Add(b.At(steps), b.Int(1)))
	})
	sum := b.Local("sum", dtype.I32, 1)
	b.Put(sum, b.At(steps))
	b.For(b.Thread(), b.Int(40), 7, func(i ir.Value) { b.Put(sum, b.Add(b.At(sum), b.Mul(i, b.Int(1000)))) })
	b.Store(out, b.Thread(), b.At(sum))
	got := make([]int32, 40)
	require.NoError(t, one(b.Kernel(), interp.Options{}, raw(got)))
	for i := range got {
		want := 0
		for n := i + 1; n != 1; want++ {
			if n%2 == 0 {
				n /= 2
			} else {
				n = 3*n + 1
			}
		}
		for k := i; k < 40; k += 7 {
			want += 1000 * k
		}
		require.EqualValues(t, want, got[i], "%d", i)
	}
}

func TestAtomics(t *testing.T) {
	b := ir.New("count", 64)
	p := b.Buffer("p", dtype.I32, ir.Atomic)
	h := b.Buffer("h", dtype.F16, ir.Atomic)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.Atomic(ir.AtomicAdd, p, b.Int(0), i)
	b.Atomic(ir.AtomicMin, p, b.Int(1), b.Unary(ir.Neg, i))
	b.Atomic(ir.AtomicMax, p, b.Int(2), i)
	b.AtomicSwap(p, b.Int(3), b.Int(7), b.Int(9))
	b.AtomicSwap(p, b.Int(4), b.Int(7), b.Int(9))
	b.Atomic(ir.AtomicAdd, h, b.Int(0), b.Float(dtype.F16, 0.5))
	for _, o := range orders() {
		got, half := []int32{0, 0, 0, 7, 8}, []uint16{0}
		l := ir.Launch{Kernel: b.Kernel(), Grid: [3]int{2, 2, 2}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
		require.NoError(t, interp.Run(l, [][]byte{raw(got), raw(half)}, o))
		require.Equal(t, []int32{4 * 127 * 64, -127, 127, 9, 8}, got[:5])
		require.Equal(t, float32(256), dtype.Float16(half[0]).Float32())
	}
}

// TestAsync checks that asynchronous copies take effect at the wait, and not before.
func TestAsync(t *testing.T) {
	pipeline := func(wait, barrier bool) *ir.Kernel {
		b := ir.New("pipeline", 32)
		x, y := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write)
		m := b.Shared("m", dtype.F32, 2*128)
		th := b.Mul(b.Thread(), b.Int(4))
		fetch := func(stage int) {
			b.AsyncCopy(m, b.Add(th, b.Int(128*(stage%2))), x, b.Add(th, b.Int(128*stage)), 4)
			b.AsyncCommit()
		}
		fetch(0)
		for s := range 4 {
			if s < 3 {
				fetch(s + 1)
			} else {
				b.AsyncCommit()
			}
			if wait {
				b.AsyncWait(1)
			}
			if barrier {
				b.Barrier()
			}
			for k := range 4 { // what another thread fetched
				at := b.Add(b.Int(32*k), b.Sub(b.Int(31), b.Thread()))
				b.Store(y, b.Add(at, b.Int(128*s)), b.SharedLoad(m, b.Add(at, b.Int(128*(s%2)))))
			}
			b.Barrier()
		}
		return b.Kernel()
	}
	x, y := make([]float32, 512), make([]float32, 512)
	for i := range x {
		x[i] = float32(i)
	}
	require.NoError(t, one(pipeline(true, true), interp.Options{Races: true}, raw(x), raw(y)))
	require.Equal(t, x, y)
	require.ErrorContains(t, one(pipeline(false, true), interp.Options{}, raw(x), raw(y)), "before the copy to it was waited for")
	require.ErrorContains(t, one(pipeline(true, false), interp.Options{Races: true}, raw(x), raw(y)), "race: element 31 of m was written by thread 7")
}

// TestFragments compares a product of 16×16 by 16×8 by fragments with sums.
func TestFragments(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		mma := ir.MMA{M: 16, N: 8, K: 16, Type: d}
		b := ir.New("product", 32)
		b.SetSubgroup(32)
		x, y, out := b.Buffer("x", d, ir.Read), b.Buffer("y", d, ir.Read), b.Buffer("out", dtype.F32, ir.Write)
		sx, sy, sc := b.Shared("sx", d, 256), b.Shared("sy", d, 128), b.Shared("sc", dtype.F32, 128)
		th := b.Thread()
		for k := range 8 {
			i := b.Add(th, b.Int(32*k))
			b.SharedStore(sx, i, b.Load(x, i))
			if k < 4 {
				b.SharedStore(sy, i, b.Load(y, i))
			}
		}
		b.SubgroupBarrier()
		fa, fb, fc := b.Fragments("a", mma, ir.A, 1), b.Fragments("b", mma, ir.B, 1), b.Fragments("c", mma, ir.C, 2)
		zero := b.Int(0)
		b.FragFill(fc, zero, b.Float(dtype.F32, 1))
		b.FragLoad(fa, zero, sx, zero, b.Int(16), false)
		b.FragLoad(fb, zero, sy, zero, b.Int(16), true) // as 8 rows of 16
		b.FragMMA(fc, zero, fa, zero, fb, zero)
		for e := range 4 {
			b.FragSet(fc, b.Int(1), e, b.Mul(b.FragGet(fc, zero, e), b.Float(dtype.F32, 2)))
			// Where PTX says that element e of this lane is.
			row := b.Add(b.Div(th, b.Int(4)), b.Int(8*(e/2)))
			col := b.Add(b.Mul(b.Rem(th, b.Int(4)), b.Int(2)), b.Int(e%2))
			b.Store(out, b.Add(b.Mul(row, b.Int(8)), col), b.FragGet(fc, zero, e))
		}
		b.FragStore(fc, b.Int(1), sc, zero, b.Int(8))
		b.SubgroupBarrier()
		for k := range 4 {
			i := b.Add(th, b.Int(32*k))
			b.Store(out, b.Add(i, b.Int(128)), b.SharedLoad(sc, i))
		}
		k := b.Kernel()

		xs, ys, got := make([]byte, 512), make([]byte, 256), make([]float32, 256)
		for i := range 256 {
			store(d, xs[2*i:], float64(i%13-6))
		}
		for i := range 128 {
			store(d, ys[2*i:], float64(i%7)/2)
		}
		slots := [][]byte{xs, ys, raw(got)}
		require.NoError(t, ir.Check(ir.Launch{Kernel: k, Grid: [3]int{1, 1, 1}, Args: []ir.Arg{{}, {Slot: 1}, {Slot: 2}}}, []int64{512, 256, 1024}, ir.Limits{}))
		require.NoError(t, one(k, interp.Options{Races: true}, slots...))
		for r := range 16 {
			for c := range 8 {
				want := 1.0
				for k := range 16 {
					want += float64((16*r+k)%13-6) * float64((16*c+k)%7) / 2
				}
				require.Equal(t, float32(want), got[8*r+c], "%v %d %d", d, r, c)
				require.Equal(t, float32(2*want), got[128+8*r+c])
			}
		}
	}
}

// TestAccumulator checks that the elements of all threads cover a matrix exactly once.
func TestAccumulator(t *testing.T) {
	for _, c := range []struct {
		m, n, sub int
		order     ir.Order
	}{{16, 8, 32, ir.Pairs}, {16, 16, 32, ir.Pairs}, {8, 8, 32, ir.Pairs}, {16, 16, 64, ir.Pairs}, {16, 8, 16, ir.Pairs}, {32, 8, 32, ir.Pairs},
		{16, 16, 32, ir.Runs}, {16, 16, 64, ir.Runs}, {16, 16, 32, ir.Strided}, {16, 8, 32, ir.Quarters}} {
		f := ir.Fragments{MMA: ir.MMA{M: c.m, N: c.n, K: 8, Order: c.order}, Role: ir.C}
		seen := map[[2]int]bool{}
		for lane := range c.sub {
			for e := range f.Elements(c.sub) {
				row, col := f.MMA.Accumulator(c.sub, lane, e)
				require.True(t, row < c.m && col < c.n && !seen[[2]int{row, col}], "%v: lane %d, element %d", c, lane, e)
				seen[[2]int{row, col}] = true
			}
		}
		require.Len(t, seen, c.m*c.n)
	}
}
