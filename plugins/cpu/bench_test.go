package cpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// BenchmarkSubmit measures the cost of an op on four elements: to submit it, and to submit and execute it.
func BenchmarkSubmit(b *testing.B) {
	for _, batch := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			bed := newBed(b)
			x := put(bed, []float32{1, 2, 3, 4}, 4)
			nodes := make([]op.Node, batch)
			b.ReportAllocs()
			at := 0
			submitted := 0
			for b.Loop() {
				nodes[at] = op.Node{Op: op.Neg, Version: 1, Inputs: []op.TensorID{x.ID}, Outputs: []op.Desc{{ID: bed.id(), DType: x.DType, Shape: x.Shape}}, Drop: 1}
				x.ID = bed.last
				if at++; at == batch {
					if err := bed.Submit(nodes); err != nil {
						b.Fatal(err)
					}
					at = 0
				}
				if submitted++; submitted == 1<<14 { // limits the memory that the queue occupies
					b.StopTimer()
					require.NoError(b, bed.Submit(nodes[:at]))
					at, submitted = 0, 0
					require.NoError(b, bed.Sync(ctx))
					b.StartTimer()
				}
			}
		})
	}
	b.Run("done", func(b *testing.B) {
		bed := newBed(b)
		x := put(bed, []float32{1, 2, 3, 4}, 4)
		nodes := make([]op.Node, 1)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			nodes[0] = op.Node{Op: op.Neg, Version: 1, Inputs: []op.TensorID{x.ID}, Outputs: []op.Desc{{ID: bed.id(), DType: x.DType, Shape: x.Shape}}, Drop: 1}
			x.ID = bed.last
			if err := bed.Submit(nodes); err != nil {
				b.Fatal(err)
			}
			if i&1023 == 1023 {
				require.NoError(b, bed.Sync(ctx))
			}
		}
		require.NoError(b, bed.Sync(ctx))
	})
	b.Run("scalar", func(b *testing.B) {
		bed := newBed(b)
		x, one := put(bed, []float32{1, 2, 3, 4}, 4), put(bed, []float32{1})
		nodes := make([]op.Node, 1)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			nodes[0] = op.Node{Op: op.Mul, Version: 1, Inputs: []op.TensorID{x.ID, one.ID}, Outputs: []op.Desc{{ID: bed.id(), DType: x.DType, Shape: x.Shape}}, Drop: 1}
			x.ID = bed.last
			if err := bed.Submit(nodes); err != nil {
				b.Fatal(err)
			}
			if i&1023 == 1023 {
				require.NoError(b, bed.Sync(ctx))
			}
		}
		require.NoError(b, bed.Sync(ctx))
	})
	b.Run("round trip", func(b *testing.B) {
		bed := newBed(b)
		x := put(bed, []float32{1, 2, 3, 4}, 4)
		dst := make([]byte, 16)
		for b.Loop() {
			n := op.Node{Op: op.Neg, Version: 1, Inputs: []op.TensorID{x.ID}, Outputs: []op.Desc{{ID: bed.id(), DType: x.DType, Shape: x.Shape}}, Drop: 1}
			x.ID = bed.last
			if bed.Submit([]op.Node{n}) != nil || bed.Read(ctx, x.ID, dst) != nil {
				b.Fatal("failed")
			}
		}
	})
}

// BenchmarkElementwise measures elementwise ops, a transpose and ops along rows. The bytes are those that are read and written.
func BenchmarkElementwise(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 16, 1 << 22} {
		for _, c := range []struct {
			name string
			code op.Code
			two  bool
		}{{"add", op.Add, true}, {"relu", op.Relu, false}, {"sigmoid", op.Sigmoid, false}, {"gelu", op.Gelu, false}} {
			b.Run(fmt.Sprintf("%s/n=%d", c.name, n), func(b *testing.B) {
				bed := newBed(b)
				x := put(bed, random(1, n), n)
				in := list(x)
				if c.two {
					in = list(x, put(bed, random(2, n), n))
				}
				b.SetBytes(int64(4 * n * (len(in) + 1)))
				for b.Loop() {
					y := bed.do(c.code, in)[0]
					bed.Free([]op.TensorID{y.ID})
					bed.Sync(ctx)
				}
			})
		}
	}
	b.Run("add bias by channel", func(b *testing.B) {
		bed := newBed(b)
		x, y := put(bed, random(1, 64*56*56), 1, 64, 56, 56), put(bed, random(2, 64), 64, 1, 1)
		b.SetBytes(64 * 56 * 56 * 8)
		for b.Loop() {
			z := bed.do(op.Add, list(x, y))[0]
			bed.Free([]op.TensorID{z.ID})
			bed.Sync(ctx)
		}
	})
	b.Run("transpose", func(b *testing.B) {
		bed := newBed(b)
		x := put(bed, random(1, 1<<20), 1<<10, 1<<10)
		xt := bed.do(op.Permute, list(x), op.Ints("axes", 1, 0))[0]
		b.SetBytes(8 << 20)
		for b.Loop() {
			z := bed.do(op.Copy, list(xt))[0]
			bed.Free([]op.TensorID{z.ID})
			bed.Sync(ctx)
		}
	})
	b.Run("sum", func(b *testing.B) {
		bed := newBed(b)
		x := put(bed, random(1, 1<<20), 1<<10, 1<<10)
		b.SetBytes(4 << 20)
		for b.Loop() {
			z := bed.do(op.Sum, list(x), op.Ints("axes", 1))[0]
			bed.Free([]op.TensorID{z.ID})
			bed.Sync(ctx)
		}
	})
	b.Run("softmax", func(b *testing.B) {
		bed := newBed(b)
		x := put(bed, random(1, 1<<20), 1<<10, 1<<10)
		b.SetBytes(8 << 20)
		for b.Loop() {
			z := bed.do(op.Softmax, list(x), op.Int("axis", 1))[0]
			bed.Free([]op.TensorID{z.ID})
			bed.Sync(ctx)
		}
	})
}

// BenchmarkProgram measures the cost per op of a program of 64 ops on four elements.
func BenchmarkProgram(b *testing.B) {
	bed := newBed(b)
	k, x := newSketch(4)
	y := x
	for range 64 {
		y = k.Do(op.Neg, y)
	}
	id, _ := k.bind(b, bed, y)
	in := put(bed, random(1, 4), 4)
	programs := extension[core.Programs](bed)
	b.ReportAllocs()
	for b.Loop() {
		out := bed.id()
		r := core.Run{Program: id, Inputs: []op.TensorID{in.ID}, Outputs: []op.TensorID{out}}
		if programs.Run(bed.Stream, r) != nil || bed.Free([]op.TensorID{out}) != nil {
			b.Fatal("failed")
		}
		bed.Sync(ctx)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/node")
}
