package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// TestHalvesFusion runs a product of 16-bit floats with constant weights, an addition and a clamp, fused and unfused.
func TestHalvesFusion(t *testing.T) {
	for _, d := range []dtype.DType{dtype.BF16, dtype.F16} {
		for _, dims := range [][3]int{{5, 33, 40}, {1, 40, 7}, {30, 64, 70}} {
			m, k, n := dims[0], dims[1], dims[2]
			b := newBed(t)
			x, sum, w, bias := halves(b, d, m, k), halves(b, d, m, n), halves(b, d, n, k), halves(b, d, n)
			last := b.last
			builder := op.NewBuilder(func() op.TensorID { last++; return last })
			y := builder.With(op.Linear, list(x, w, bias), op.Flag("transpose_w", true))
			y = builder.Un(op.Clamp, builder.Do(op.Add, sum, y), op.ScalarFloat("min", -1.5), op.ScalarFloat("max", 0.7))
			require.NoError(t, builder.Err())
			p := program.Program{Name: t.Name(), Inputs: list(x, sum), Consts: list(w, bias), Nodes: builder.Nodes, Outputs: []op.TensorID{y.ID}}
			id, err := b.Define(ctx, &p, []op.TensorID{w.ID, bias.ID})
			require.NoError(t, err)
			require.Len(t, b.w.last.steps, 1)

			xv, sv, wv, bv := values(b, x), values(b, sum), values(b, w), values(b, bias)
			want := make([]float64, m*n)
			for i := range want {
				v := sv[i] + bv[i%n]
				for q := range k {
					v += xv[i/n*k+q] * wv[i%n*k+q]
				}
				want[i] = min(max(v, -1.5), 0.7)
			}
			eps := map[dtype.DType]float64{dtype.BF16: 0x1p-8, dtype.F16: 0x1p-11}[d]
			b.last = last
			for range 2 {
				y.ID = b.id()
				require.NoError(t, b.Run(id, []op.TensorID{x.ID, sum.ID}, []op.TensorID{y.ID}))
				require.InDeltaSlice(t, want, values(b, y), 2*eps, "%v %v", d, dims)
			}
			plain := b.do(op.Linear, list(x, w, bias), op.Flag("transpose_w", true))[0]
			plain = b.do(op.Clamp, b.do(op.Add, list(sum, plain)), op.ScalarFloat("min", -1.5), op.ScalarFloat("max", 0.7))[0]
			require.InDeltaSlice(t, want, values(b, plain), 16*eps, "%v %v", d, dims) // the product is rounded before the addition
		}
	}
}

// values returns the elements of a tensor of 16-bit floats.
func values(b *bed, d op.Desc) []float64 {
	bits := make([]uint16, d.Shape.Size())
	require.NoError(b.t, b.Read(ctx, d.ID, bytesOf(bits)))
	v := make([]float64, len(bits))
	for i, h := range bits {
		if d.DType == dtype.BF16 {
			v[i] = float64(dtype.BFloat16(h).Float32())
		} else {
			v[i] = float64(dtype.Float16(h).Float32())
		}
	}
	return v
}

// BenchmarkHalves multiplies matrices of 16-bit floats and, for comparison, of f32, on one thread.
func BenchmarkHalves(b *testing.B) {
	for _, size := range [][3]int{{512, 512, 512}, {1024, 1024, 1024}, {1, 4096, 4096}, {8, 4096, 4096}, {512, 3072, 768}} {
		for _, transposed := range []bool{false, true} {
			for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F16} {
				m, k, n := size[0], size[1], size[2]
				b.Run(fmt.Sprintf("%dx%dx%d/%v/transposed=%v", m, k, n, d, transposed), func(b *testing.B) {
					_, bed := open(b, core.Config{Threads: 1})
					x, w := halves(bed, d, m, k), halves(bed, d, k, n)
					if transposed {
						w = halves(bed, d, n, k)
					}
					for b.Loop() {
						y := bed.do(op.MatMul, list(x, w), op.Flag("transpose_b", transposed))[0]
						bed.Free([]op.TensorID{y.ID})
						require.NoError(b, bed.Sync(ctx))
					}
					b.ReportMetric(float64(b.N)*2*float64(m*n*k)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}

// halves writes a tensor of type d with random numbers in [-1, 1).
func halves(b *bed, d dtype.DType, dims ...int) op.Desc {
	rng := rand.New(rand.NewPCG(1, uint64(b.last)))
	desc := op.Desc{ID: b.id(), DType: d, Shape: dims}
	data := make([]byte, 0, desc.Bytes())
	for range desc.Shape.Size() {
		v := rng.Float32()*2 - 1
		switch d {
		case dtype.BF16:
			data = append(data, bytesOf([]dtype.BFloat16{dtype.ToBFloat16(v)})...)
		case dtype.F16:
			data = append(data, bytesOf([]dtype.Float16{dtype.ToFloat16(v)})...)
		default:
			data = append(data, bytesOf([]float32{v})...)
		}
	}
	require.NoError(b.t, b.Write(ctx, desc, data))
	return desc
}
