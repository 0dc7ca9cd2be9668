package interp_test

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

func measure(b *testing.B, l ir.Launch, elements int, slots [][]byte, o interp.Options) {
	b.ReportAllocs()
	for b.Loop() {
		if err := interp.Run(l, slots, o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(elements)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

func BenchmarkSaxpy(b *testing.B) {
	const n = 1 << 18
	slots := [][]byte{make([]byte, 4*n), make([]byte, 4*n)}
	l := ir.Launch{Kernel: saxpy(256), Grid: [3]int{n / 1024, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Bits: n}}}
	b.Run("plain", func(b *testing.B) { measure(b, l, n, slots, interp.Options{}) })
	b.Run("races", func(b *testing.B) { measure(b, l, n, slots, interp.Options{Races: true}) })
}

func BenchmarkSum(b *testing.B) {
	const n = 1 << 16
	slots := [][]byte{make([]byte, 4*n), make([]byte, 4*n/128)}
	l := ir.Launch{Kernel: sum(true), Grid: [3]int{n / 128, 1, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}}}
	b.Run("plain", func(b *testing.B) { measure(b, l, n, slots, interp.Options{}) })
	b.Run("races", func(b *testing.B) { measure(b, l, n, slots, interp.Options{Races: true}) })
}

// tiles returns a kernel that multiplies by tiles of 64×64 in shared memory, with 16×16 threads of 4×4 elements each.
func tiles() *ir.Kernel {
	b := ir.New("product", 256)
	x, y, z := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Read), b.Buffer("z", dtype.F32, ir.Write)
	n := b.Scalar("n", dtype.I32)
	sx, sy := b.Shared("sx", dtype.F32, 64*8), b.Shared("sy", dtype.F32, 64*8)
	acc := b.Local("acc", dtype.F32, 16)
	b.Unroll(16, func(i ir.Value) { b.Set(acc, i, b.Float(dtype.F32, 0)) })
	th := b.Thread()
	row, col := b.Mul(b.Div(th, b.Int(16)), b.Int(4)), b.Mul(b.Rem(th, b.Int(16)), b.Int(4))
	b.For(b.Int(0), n, 8, func(k ir.Value) {
		for h := range 2 {
			at := b.Add(th, b.Int(256*h))
			b.SharedStore(sx, at, b.Load(x, b.Add(b.Mul(b.Add(b.Mul(b.Block(1), b.Int(64)), b.Div(at, b.Int(8))), n), b.Add(k, b.Rem(at, b.Int(8))))))
			b.SharedStore(sy, at, b.Load(y, b.Add(b.Mul(b.Add(k, b.Div(at, b.Int(64))), n), b.Add(b.Mul(b.Block(0), b.Int(64)), b.Rem(at, b.Int(64))))))
		}
		b.Barrier()
		b.For(b.Int(0), b.Int(8), 1, func(i ir.Value) {
			ys := b.SharedLoadWide(sy, b.Add(b.Mul(i, b.Int(64)), col), 4)
			for r := range 4 {
				v := b.SharedLoad(sx, b.Add(b.Mul(b.Add(row, b.Int(r)), b.Int(8)), i))
				for c := range 4 {
					b.Set(acc, b.Int(4*r+c), b.FMA(v, ys[c], b.Get(acc, b.Int(4*r+c))))
				}
			}
		})
		b.Barrier()
	})
	for r := range 4 {
		at := b.Add(b.Mul(b.Add(b.Mul(b.Block(1), b.Int(64)), b.Add(row, b.Int(r))), n), b.Add(b.Mul(b.Block(0), b.Int(64)), col))
		b.Store(z, at, b.Get(acc, b.Int(4*r)), b.Get(acc, b.Int(4*r+1)), b.Get(acc, b.Int(4*r+2)), b.Get(acc, b.Int(4*r+3)))
	}
	return b.Kernel()
}

func BenchmarkProduct(b *testing.B) {
	const n = 128
	slots := [][]byte{make([]byte, 4*n*n), make([]byte, 4*n*n), make([]byte, 4*n*n)}
	l := ir.Launch{Kernel: tiles(), Grid: [3]int{n / 64, n / 64, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Slot: 2}, {Bits: n}}}
	b.Run("plain", func(b *testing.B) { measure(b, l, n*n*n, slots, interp.Options{}) }) // multiplications
	b.Run("races", func(b *testing.B) { measure(b, l, n*n*n, slots, interp.Options{Races: true}) })
}

func BenchmarkCheck(b *testing.B) {
	l := ir.Launch{Kernel: tiles(), Grid: [3]int{2, 2, 1}, Args: []ir.Arg{{Slot: 0}, {Slot: 1}, {Slot: 2}, {Bits: 128}}}
	sizes := []int64{4 * 128 * 128, 4 * 128 * 128, 4 * 128 * 128}
	for b.Loop() {
		if err := ir.Check(l, sizes, ir.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
