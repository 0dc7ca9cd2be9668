package elementwise_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// random returns floats of any bits: of any magnitude, and also NaN and infinities.
func random(r *rand.Rand, d dtype.DType, dims ...int) kerneltest.Operand {
	x := kerneltest.Floats(d, dims, 0)
	for i := range x.Data {
		x.Data[i] = byte(r.Uint32())
	}
	return x
}

// Every function of one float, on numbers of any bits.
func TestAnyBits(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(25, 26))
	for c, rule := range elementwise.Rules() {
		row := op.Lookup(c)
		if others[c] || len(row.Operands) != 1 {
			continue
		}
		for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.BF16} {
			if rule.Types.Has(d) {
				b.Check(c, list{random(r, d, 301)})
			}
		}
	}
}

// Angles about multiples of a quarter turn, where sine, cosine or tangent are nearly zero and digits of the angle cancel.
func TestAnglesNearZeros(t *testing.T) {
	b := newBench(t)
	var x []float64
	for _, k := range []float64{1, 2, 3, 4, 5, 22, 355, 710, 1e4, 1e6, 12345678, 3e8} {
		for _, quarter := range []float64{0, 1, 2, 3} {
			a := (4*k + quarter) * (math.Pi / 2)
			x = append(x, a, -a, math.Nextafter(a, 0), float64(float32(a)), a*(1+1e-12), a*(1-1e-7))
		}
	}
	worst := 6381956970095103 * 0x1p797 // the float64 nearest to a multiple of a quarter turn
	x = append(x, worst, -worst, 0x1p29, -0x1p29, 0x1.fffffffffffffp28, math.MaxFloat64, -math.MaxFloat64, 1e22)
	for _, c := range []op.Code{op.Sin, op.Cos, op.Tan} {
		for _, d := range []dtype.DType{dtype.F64, dtype.F32} {
			b.Check(c, list{kerneltest.Floats(d, []int{len(x)}, x...)})
		}
	}
}

// Powers with a scalar exponent have a path for squares and one in assembly, which must agree with pow everywhere.
func TestPowerOfScalar(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(27, 28))
	inf := math.Inf(1)
	positive := kerneltest.Random(r, dtype.F32, 0, 30, 1100)
	zeros := kerneltest.Random(r, dtype.F32, 0, 3, 77).Sprinkle(r, 4, 0, 1, math.SmallestNonzeroFloat32, math.MaxFloat32)
	for _, y := range []float64{2, 0, 1, -1, 0.5, -0.5, 3, 0.1, 0.2, 0.21, 2.2, 7.25, 80, -80, 1e-20, 1e30, inf, -inf, math.NaN()} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.BF16} {
			x := kerneltest.Floats(d, []int{len(special)}, special...)
			b.Check(op.Pow, list{x, kerneltest.Floats(d, nil, y)})
			b.Check(op.Pow, list{kerneltest.Floats(d, nil, y), x})
		}
		b.Check(op.Pow, list{positive, kerneltest.Floats(dtype.F32, nil, y)})
		b.Check(op.Pow, list{zeros, kerneltest.Floats(dtype.F32, []int{1}, y)})
	}
}

// The tanh form of gelu, also far from zero, where the cube overflows.
func TestGeluTanh(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(29, 30))
	for _, d := range dtype.Floats.List() {
		b.Check(op.Gelu, list{kerneltest.Random(r, d, -8, 8, 5, 33)}, op.Str("approximate", "tanh"))
		b.Check(op.Gelu, list{kerneltest.Floats(d, []int{len(special)}, special...)}, op.Str("approximate", "tanh"))
	}
}

// Coefficients at which an activation changes its shape, and coefficients that assembly leaves to the loop in Go.
func TestCoefficients(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		op    op.Code
		attrs []op.Attr
	}{
		{op.LeakyRelu, []op.Attr{op.Float("alpha", 0)}}, {op.LeakyRelu, []op.Attr{op.Float("alpha", 1)}}, {op.LeakyRelu, []op.Attr{op.Float("alpha", -0.3)}},
		{op.LeakyRelu, []op.Attr{op.Float("alpha", 3)}}, {op.LeakyRelu, []op.Attr{op.Float("alpha", 0.1)}}, {op.LeakyRelu, []op.Attr{op.Float("alpha", 1e-40)}},
		{op.Elu, []op.Attr{op.Float("alpha", 0)}}, {op.Elu, []op.Attr{op.Float("alpha", -2)}}, {op.Elu, []op.Attr{op.Float("alpha", 1.7)}},
		{op.Selu, []op.Attr{op.Float("alpha", 0.5), op.Float("gamma", 2)}}, {op.Selu, []op.Attr{op.Float("alpha", 2), op.Float("gamma", -1)}},
		{op.Celu, []op.Attr{op.Float("alpha", 0.25)}}, {op.Celu, []op.Attr{op.Float("alpha", 5)}},
		{op.HardSigmoid, []op.Attr{op.Float("alpha", 0), op.Float("beta", 0.5)}}, {op.HardSigmoid, []op.Attr{op.Float("alpha", 1e-9), op.Float("beta", 0.5)}},
		{op.HardSigmoid, []op.Attr{op.Float("alpha", 0.3), op.Float("beta", 1e9)}}, {op.HardSigmoid, []op.Attr{op.Float("alpha", -0.4), op.Float("beta", 0.1)}},
		{op.ThresholdedRelu, []op.Attr{op.Float("alpha", 0)}}, {op.ThresholdedRelu, []op.Attr{op.Float("alpha", 0.1)}}, {op.ThresholdedRelu, []op.Attr{op.Float("alpha", -1)}},
		{op.Silu, []op.Attr{op.Float("alpha", 1.702)}}, {op.Silu, []op.Attr{op.Float("alpha", -1)}}, {op.Silu, []op.Attr{op.Float("alpha", 0)}},
	} {
		for _, d := range dtype.Floats.List() {
			b.Check(c.op, list{kerneltest.Random(r, d, -6, 6, 3, 37).Sprinkle(r, 5, 0, 0.1, math.NaN(), -1, 1)}, c.attrs...)
		}
	}
}
