package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// TestChains compares chains of elementwise nodes with the same nodes one by one, to the bit.
func TestChains(t *testing.T) {
	half := func(d dtype.DType) op.Attr { return op.Type("dtype", d) }
	for name, c := range map[string]struct {
		input shape.Shape
		build func(k *sketch, x op.Desc) op.Desc
		steps int
	}{
		"unary": {shape.Of(3000), func(k *sketch, x op.Desc) op.Desc { return k.Do(op.Exp, k.Do(op.Sin, k.Do(op.Neg, x))) }, 1},
		"a result used twice": {shape.Of(50, 70), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Tanh, x)
			return k.Do(op.Mul, y, k.Do(op.Sigmoid, y))
		}, 1},
		"rows, columns and scalars": {shape.Of(33, 100), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Sub, x, k.constant(33, 1))
			y = k.Do(op.Div, k.constant(), k.Do(op.Mul, y, k.constant(100)))
			return k.Do(op.Max, y, k.constant(1, 1))
		}, 1},
		"short rows": {shape.Of(40, 3, 5), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.Mul, k.constant(3, 1), x), k.constant(40, 1, 5))
		}, 1},
		"an operand that widens ends the chain": {shape.Of(6), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Neg, k.Do(op.Add, k.Do(op.Abs, k.Do(op.Neg, x)), k.constant(4, 6)))
		}, 2},
		"a view": {shape.Of(30, 50), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Sqrt, k.Do(op.Abs, k.Permute(x, 1, 0)))
		}, 2},
		"comparison and choice": {shape.Of(2000), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Square, x)
			return k.Do(op.Where, k.Do(op.Less, y, k.constant()), k.Do(op.Neg, y), k.constant(2000))
		}, 1},
		"a choice of scalars": {shape.Of(2000), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Where, k.Do(op.GreaterEqual, k.constant(), x), k.constant(), k.constant(1))
		}, 1},
		"a comparison at the end": {shape.Of(2000), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Less, k.Do(op.Neg, x), k.constant(2000))
			return k.With(op.Cast, list(k.With(op.Cast, list(y), half(dtype.I32))), half(dtype.F32))
		}, 3},
		"f16": {shape.Of(40, 60), func(k *sketch, x op.Desc) op.Desc {
			h := k.With(op.Cast, list(x), half(dtype.F16))
			h = k.Do(op.Mul, k.Do(op.Exp, h), h)
			return k.With(op.Cast, list(k.Do(op.Add, h, k.With(op.Cast, list(k.constant(60)), half(dtype.F16)))), half(dtype.F32))
		}, 1},
		"a result in bf16": {shape.Of(40, 60), func(k *sketch, x op.Desc) op.Desc {
			h := k.With(op.Cast, list(k.Do(op.Log, k.Do(op.Square, x))), half(dtype.BF16))
			return k.With(op.Cast, list(k.Permute(h, 1, 0)), half(dtype.F32))
		}, 3},
		"many": {shape.Of(1500), func(k *sketch, x op.Desc) op.Desc {
			for range 2*16 + 3 {
				x = k.Do(op.Sin, x)
			}
			return x
		}, 3},
		"many operands": {shape.Of(1500), func(k *sketch, x op.Desc) op.Desc {
			for range 8 {
				x = k.Do(op.Add, x, k.constant(1500))
			}
			return x
		}, 2},
		"a result needed elsewhere": {shape.Of(30, 30), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Neg, k.Do(op.Exp, x))
			return k.Do(op.Add, k.Do(op.Abs, y), k.Reduce(op.Sum, y, true, 0))
		}, 3},
		"empty": {shape.Of(0, 5), func(k *sketch, x op.Desc) op.Desc { return k.Do(op.Neg, k.Do(op.Add, x, k.constant(5))) }, 1},
		"one":   {shape.Of(), func(k *sketch, x op.Desc) op.Desc { return k.Do(op.Neg, k.Do(op.Add, x, k.constant())) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			k, x := newSketch(c.input...)
			y := c.build(k, x)
			id, consts := k.bind(t, b, y)
			require.Len(t, b.w.last.steps, c.steps)
			data := random(7, x.Shape.Size())
			for i, v := range []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Copysign(0, -1))} {
				if i < len(data)-1 {
					data[i*len(data)/3] = v
				}
			}
			in := put(b, data, x.Shape...)
			want := k.plainly(b, in, consts, y)
			for range 2 {
				out := y
				out.ID = b.id()
				require.NoError(t, b.Run(id, []op.TensorID{in.ID}, []op.TensorID{out.ID}))
				got := get[float32](b, out)
				require.Len(t, got, len(want))
				for i, v := range want {
					require.Equal(t, math.Float32bits(v), math.Float32bits(got[i]), "element %d: got %v, want %v", i, got[i], v)
				}
			}
			require.Equal(t, data[len(data)/2:], get[float32](b, in)[len(data)/2:], "the input stays")
			concurrently(b, id, in, y)
		})
	}
}

// BenchmarkChain measures a Gelu of elementwise nodes, after a bias that each row adds, as a program and node by node.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{64, 4096, 1 << 20, 8 << 20} {
		cols := min(n, 1024)
		k, x := newSketch(n/cols, cols)
		y := k.Do(op.Add, x, k.constant(cols))
		z := k.Do(op.Add, k.Do(op.Erf, k.Do(op.Mul, y, k.constant())), k.constant())
		z = k.Do(op.Mul, k.Do(op.Mul, y, z), k.constant())
		bed := newBed(b)
		var id core.ProgramID
		var consts []op.Desc
		b.Run(fmt.Sprintf("program/n=%d", n), func(b *testing.B) {
			if id == 0 {
				id, consts = k.bind(b, bed, z)
			}
			in := put(bed, random(1, n), n/cols, cols)
			b.SetBytes(int64(8 * n))
			for b.Loop() {
				out := bed.id()
				if bed.Run(id, []op.TensorID{in.ID}, []op.TensorID{out}) != nil || bed.Free([]op.TensorID{out}) != nil {
					b.Fatal("failed")
				}
				bed.Sync(ctx)
			}
		})
		b.Run(fmt.Sprintf("nodes/n=%d", n), func(b *testing.B) {
			x := put(bed, random(1, n), n/cols, cols)
			b.SetBytes(int64(8 * n))
			for b.Loop() {
				y := bed.do(op.Add, list(x, consts[0]))[0]
				t1 := bed.do(op.Mul, list(y, consts[1]))[0]
				t2 := bed.do(op.Erf, list(t1))[0]
				t3 := bed.do(op.Add, list(t2, consts[2]))[0]
				t4 := bed.do(op.Mul, list(y, t3))[0]
				t5 := bed.do(op.Mul, list(t4, consts[3]))[0]
				bed.Free([]op.TensorID{y.ID, t1.ID, t2.ID, t3.ID, t4.ID, t5.ID})
				bed.Sync(ctx)
			}
		})
	}
}
