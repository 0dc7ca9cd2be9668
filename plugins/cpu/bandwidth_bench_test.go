package cpu

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// BenchmarkBandwidth measures ops on tensors of 64 MiB, which are larger than the caches. Most do little but read and write. The bytes
// are the least that an op must read and write. "limit" copies a buffer with the memory move of the Go runtime on as many threads.
func BenchmarkBandwidth(b *testing.B) {
	const n, rows, cols = 16 << 20, 1 << 13, 1 << 11
	b.Run("limit", func(b *testing.B) {
		p := par.New(2)
		defer p.Close()
		x, y := make([]float32, n), make([]float32, n)
		b.SetBytes(8 * n)
		for b.Loop() {
			p.For(n, 1<<16, func(lo, hi int) { copy(y[lo:hi], x[lo:hi]) })
		}
	})
	one := func(c op.Code, attrs ...op.Attr) func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
		return func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) { return []op.Code{c}, list(x), attrs }
	}
	for _, c := range []struct {
		name  string
		bytes int
		with  func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr)
	}{
		{"relu", 8, one(op.Relu)},
		{"neg", 8, one(op.Neg)},
		{"abs", 8, one(op.Abs)},
		{"square", 8, one(op.Square)},
		{"add", 12, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Add}, list(x, put(bed, random(2, n), rows, cols)), nil
		}},
		{"mul scalar", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Mul}, list(x, put(bed, random(2, 1))), nil
		}},
		{"mul row", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Mul}, list(x, put(bed, random(2, cols), cols)), nil
		}},
		{"sub column", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Sub}, list(x, put(bed, random(2, rows), rows, 1)), nil
		}},
		{"less", 9, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Less}, list(x, put(bed, random(2, n), rows, cols)), nil
		}},
		{"where", 13, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			y := put(bed, random(2, n), rows, cols)
			return []op.Code{op.Where}, list(bed.do(op.Less, list(x, y))[0], x, y), nil
		}},
		{"where scalar", 9, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			zero := put(bed, []float32{0})
			return []op.Code{op.Where}, list(bed.do(op.Less, list(x, zero))[0], x, zero), nil
		}},
		{"cast f16", 6, one(op.Cast, op.Type("dtype", dtype.F16))},
		{"cast bf16", 6, one(op.Cast, op.Type("dtype", dtype.BF16))},
		{"cast i32", 8, one(op.Cast, op.Type("dtype", dtype.I32))},
		{"cast from f16", 6, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Cast}, bed.do(op.Cast, list(x), op.Type("dtype", dtype.F16)), []op.Attr{op.Type("dtype", dtype.F32)}
		}},
		{"cast from bf16", 6, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Cast}, bed.do(op.Cast, list(x), op.Type("dtype", dtype.BF16)), []op.Attr{op.Type("dtype", dtype.F32)}
		}},
		{"add f16", 6, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			h := bed.do(op.Cast, list(x), op.Type("dtype", dtype.F16))[0]
			return []op.Code{op.Add}, list(h, h), nil
		}},
		{"transpose", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Copy}, bed.do(op.Permute, list(x), op.Ints("axes", 1, 0)), nil
		}},
		{"permute heads", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			h := bed.do(op.Reshape, list(x), dims(32, 256, 32, 64))[0]
			return []op.Code{op.Copy}, bed.do(op.Permute, list(h), op.Ints("axes", 0, 2, 1, 3)), nil
		}},
		{"permute nhwc", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			h := bed.do(op.Reshape, list(x), dims(64, 64, 64, 64))[0]
			return []op.Code{op.Copy}, bed.do(op.Permute, list(h), op.Ints("axes", 0, 2, 3, 1)), nil
		}},
		{"concat", 16, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Concat}, list(x, x), []op.Attr{op.Int("axis", 1)}
		}},
		{"slice", 4, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Copy}, bed.do(op.Slice, list(x), op.Ints("start", 0, 512), op.Ints("size", rows, 1024), op.Ints("step", 1, 1)), nil
		}},
		{"sum inner", 4, one(op.Sum, op.Ints("axes", 1))},
		{"sum outer", 4, one(op.Sum, op.Ints("axes", 0))},
		{"sum all", 4, one(op.Sum, op.Ints("axes", 0, 1))},
		{"sum middle", 4, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Sum}, bed.do(op.Reshape, list(x), dims(64, 128, 2048)), []op.Attr{op.Ints("axes", 1)}
		}},
		{"sum bchw to c", 4, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Sum}, bed.do(op.Reshape, list(x), dims(64, 64, 64, 64)), []op.Attr{op.Ints("axes", 0, 2, 3)}
		}},
		{"max inner", 4, one(op.ReduceMax, op.Ints("axes", 1))},
		{"max outer", 4, one(op.ReduceMax, op.Ints("axes", 0))},
		{"mean inner", 4, one(op.Mean, op.Ints("axes", 1))},
		{"argmax inner", 4, one(op.ArgMax, op.Int("axis", 1))},
		{"argmax outer", 4, one(op.ArgMax, op.Int("axis", 0))},
		{"cumsum inner", 8, one(op.CumSum, op.Int("axis", 1))},
		{"softmax", 8, one(op.Softmax, op.Int("axis", 1))},
		{"softmax outer", 8, one(op.Softmax, op.Int("axis", 0))},
		{"log softmax", 8, one(op.LogSoftmax, op.Int("axis", 1))},
		{"layer norm", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.LayerNorm}, list(x, put(bed, random(3, cols), cols), put(bed, random(4, cols), cols)),
				[]op.Attr{op.Int("axis", 1), op.Float("epsilon", 1e-5)}
		}},
		{"rms norm", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.RMSNorm}, list(x, put(bed, random(3, cols), cols)), []op.Attr{op.Int("axis", 1), op.Float("epsilon", 1e-5)}
		}},
		{"batch norm", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			h := bed.do(op.Reshape, list(x), dims(64, 64, 64, 64))[0]
			p := put(bed, random(3, 64), 64)
			v := bed.do(op.Square, list(p))[0]
			return []op.Code{op.BatchNorm}, list(h, p, p, p, v), []op.Attr{op.Float("epsilon", 1e-5)}
		}},
		{"gather rows", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			idx := make([]int64, rows)
			for i := range idx {
				idx[i] = int64(i * 2654435761 % rows)
			}
			return []op.Code{op.Gather}, list(x, put(bed, idx, rows)), []op.Attr{op.Int("axis", 0)}
		}},
		{"exp", 8, one(op.Exp)},
		{"log", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Log}, bed.do(op.Square, list(x)), nil
		}},
		{"tanh", 8, one(op.Tanh)},
		{"sigmoid", 8, one(op.Sigmoid)},
		{"silu", 8, one(op.Silu)},
		{"erf", 8, one(op.Erf)},
		{"gelu", 8, one(op.Gelu)},
		{"gelu tanh", 8, one(op.Gelu, op.Str("approximate", "tanh"))},
		{"hard swish", 8, one(op.HardSwish)},
		{"hard sigmoid", 8, one(op.HardSigmoid)},
		{"leaky relu", 8, one(op.LeakyRelu)},
		{"softplus", 8, one(op.Softplus)},
		{"mish", 8, one(op.Mish)},
		{"elu", 8, one(op.Elu)},
		{"sin", 8, one(op.Sin)},
		{"expm1", 8, one(op.Expm1)},
		{"sqrt", 8, one(op.Sqrt)},
		{"floor", 8, one(op.Floor)},
		{"pow", 8, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Pow}, list(bed.do(op.Square, list(x))[0], put(bed, []float32{1.7})), nil
		}},
		{"quantize", 5, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			return []op.Code{op.Quantize}, list(x, put(bed, []float32{0.02}), put(bed, []uint8{128})), nil
		}},
		{"dequantize", 5, func(bed *bed, x op.Desc) ([]op.Code, []op.Desc, []op.Attr) {
			s, z := put(bed, []float32{0.02}), put(bed, []uint8{128})
			return []op.Code{op.Dequantize}, list(bed.do(op.Quantize, list(x, s, z))[0], s, z), nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			bed := newBed(b)
			codes, in, attrs := c.with(bed, put(bed, random(1, n), rows, cols))
			b.SetBytes(int64(c.bytes) * n)
			for b.Loop() {
				y := bed.do(codes[0], in, attrs...)[0]
				bed.Free([]op.TensorID{y.ID})
				if err := bed.Sync(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
