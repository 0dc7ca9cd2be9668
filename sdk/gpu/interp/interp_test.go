package interp_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/stretchr/testify/require"
)

// saxpy returns a kernel that computes y = 2x + y for n elements, four per thread.
func saxpy(threads int) *ir.Kernel {
	b := ir.New("saxpy", threads)
	x := b.Buffer("x", dtype.F32, ir.Read)
	y := b.Buffer("y", dtype.F32, ir.Read|ir.Write)
	n := b.Scalar("n", dtype.I32)
	at := b.Mul(b.Add(b.Mul(b.Block(0), b.Int(threads)), b.Thread()), b.Int(4))
	b.If(b.Lt(at, n), func() {
		xs, ys := b.LoadWide(x, at, 4), b.LoadWide(y, at, 4)
		out := make([]ir.Value, 4)
		for i := range out {
			out[i] = b.FMA(b.Float(dtype.F32, 2), xs[i], ys[i])
		}
		b.Store(y, at, out...)
	})
	return b.Kernel()
}

func orders() []interp.Options {
	return []interp.Options{{}, {Order: interp.Backward, Races: true}, {Order: interp.Shuffled, Seed: 7, Workers: 3}}
}

func TestSaxpy(t *testing.T) {
	for _, o := range orders() {
		x, y := make([]float32, 1000), make([]float32, 1000)
		for i := range x {
			x[i], y[i] = float32(i), 1
		}
		l := ir.Launch{Kernel: saxpy(64), Grid: [3]int{4, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Bits: 1000}}}
		require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(x), dtype.Bytes(y)}, o))
		for i := range y {
			require.Equal(t, 2*float32(i)+1, y[i])
		}
	}
}

// sum returns a kernel that sums each row of 128 elements in shared memory. Without barriers it has races.
func sum(barriers bool) *ir.Kernel {
	b := ir.New("sum", 128)
	x, y := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write)
	m := b.Shared("m", dtype.F32, 128)
	th := b.Thread()
	b.SharedStore(m, th, b.Load(x, b.Add(b.Mul(b.Block(0), b.Int(128)), th)))
	for d := 64; d > 0; d /= 2 {
		if barriers {
			b.Barrier()
		}
		b.If(b.Lt(th, b.Int(d)), func() {
			b.SharedStore(m, th, b.Add(b.SharedLoad(m, th), b.SharedLoad(m, b.Add(th, b.Int(d)))))
		})
	}
	b.If(b.Eq(th, b.Int(0)), func() { b.Store(y, b.Block(0), b.SharedLoad(m, th)) })
	return b.Kernel()
}

func TestSum(t *testing.T) {
	x := make([]float32, 5*128)
	for i := range x {
		x[i] = float32(i)
	}
	l := ir.Launch{Kernel: sum(true), Grid: [3]int{5, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
	for _, o := range orders() {
		y := make([]float32, 5)
		require.NoError(t, interp.Run(l, [][]byte{dtype.Bytes(x), dtype.Bytes(y)}, o))
		for i := range y {
			require.Equal(t, float32(128*128*i+127*64), y[i])
		}
	}
	l.Kernel = sum(false)
	err := interp.Run(l, [][]byte{dtype.Bytes(x), make([]byte, 20)}, interp.Options{Races: true})
	require.ErrorContains(t, err, "race: element 64 of m was written by thread 64 of block number 0")
}
