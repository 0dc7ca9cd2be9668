package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/template"
)

// reductions lists shapes with the axes to reduce: rows, columns, outer and inner axes together, middle axes, all axes, no axis, axes of
// one element and axes of none.
var reductions = []struct {
	shape shape.Shape
	axes  []int
}{
	{shape.Of(), nil}, {shape.Of(1), []int{0}}, {shape.Of(31), []int{0}}, {shape.Of(33), []int{0}}, {shape.Of(1023), []int{0}},
	{shape.Of(8195), []int{0}}, {shape.Of(16384), []int{0}}, {shape.Of(3, 9001), []int{1}}, {shape.Of(5, 1025), []int{1}},
	{shape.Of(64, 40), []int{1}}, {shape.Of(7, 4), []int{1}}, {shape.Of(300, 3), []int{1}}, {shape.Of(40, 64), []int{0}},
	{shape.Of(1000, 12), []int{0}}, {shape.Of(997, 1), []int{0}}, {shape.Of(700, 5), []int{0}}, {shape.Of(3, 4, 5, 6), []int{0, 2, 3}},
	{shape.Of(3, 4, 5, 6), []int{1}}, {shape.Of(3, 4, 5, 6), []int{0, 2}}, {shape.Of(2, 3, 4), nil}, {shape.Of(2, 0, 3), []int{1}},
	{shape.Of(2, 0, 3), []int{0}}, {shape.Of(4, 1, 6), []int{1}}, {shape.Of(2, 513, 4), []int{1}}, {shape.Of(40000, 2), []int{0}}, {shape.Of(5, 3, 1999), []int{1}}, {shape.Of(3, 8, 4096), []int{1}}, {shape.Of(2, 2, 2, 2, 2, 2, 2, 2), []int{1, 3, 5}},
}

func TestReductions(t *testing.T) {
	for _, code := range []op.Code{op.Sum, op.Prod, op.Mean, op.ReduceMax, op.ReduceMin} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			for i, c := range reductions {
				for j, d := range op.Lookup(code).Operands[0].Types.List() {
					if testing.Short() && (i+j)%4 != 0 || c.shape.Size() > 2000 && (i+j)%3 != 0 {
						continue
					}
					reduceOne(t, code, d, c.shape, c.axes, uint64(i*20+j))
				}
			}
		})
	}
}

func reduceOne(t *testing.T, code op.Code, d dtype.DType, s shape.Shape, axes []int, seed uint64) {
	b := newSketch()
	x := b.input(d, s...)
	y := b.Reduce(code, x, seed%2 == 0, axes...)
	c := newRunner(t, []template.Target{tiny, narrowGrid}[seed/2%2], seed)
	c.strewn = seed%3 == 0
	domain := op.Domain{Lo: -2, Hi: 2}
	if code == op.Prod {
		domain = op.Domain{Lo: 0.9, Hi: 1.1}
	}
	if !d.IsFloat() {
		domain = op.Domain{}
	}
	exact := op.Lookup(code).Tolerance.Exact
	c.run(b.graph(t, y), []ref.Tensor{draw(c.r, x, domain, exact)})
}

func TestArguments(t *testing.T) {
	for _, code := range []op.Code{op.ArgMax, op.ArgMin} {
		for i, c := range reductions {
			if len(c.axes) != 1 || c.shape[c.axes[0]] == 0 {
				continue
			}
			for j, d := range dtype.Numbers.List() {
				if testing.Short() && (i+j)%4 != 0 {
					continue
				}
				seed := uint64(i*20 + j)
				b := newSketch()
				x := b.input(d, c.shape...)
				y := b.Un(code, x, op.Int("axis", c.axes[0]), op.Flag("keep_dims", seed%2 == 0))
				r := newRunner(t, []template.Target{tiny, narrowGrid}[seed/2%2], seed)
				r.strewn = seed%3 == 0
				domain := op.Domain{Lo: -3, Hi: 3, Whole: true} // ties
				if d.Class() == dtype.Unsigned {
					domain = op.Domain{Lo: 0, Hi: 3}
				}
				r.run(b.graph(t, y), []ref.Tensor{draw(r.r, x, domain, j%3 == 0)})
			}
		}
	}
}

// TestNorms runs softmaxes and normalisations that are composed of single nodes.
func TestNorms(t *testing.T) {
	build := map[string]func(b *sketch, x op.Desc, axes []int) []op.Desc{
		"softmax": func(b *sketch, x op.Desc, axes []int) []op.Desc {
			e := b.Do(op.Exp, b.Do(op.Sub, x, b.Reduce(op.ReduceMax, x, true, axes...)))
			return []op.Desc{b.Do(op.Div, e, b.Reduce(op.Sum, e, true, axes...))}
		},
		"layer norm": func(b *sketch, x op.Desc, axes []int) []op.Desc {
			w := x
			if x.DType != dtype.F64 {
				w = b.Cast(x, dtype.F32)
			}
			m := b.Reduce(op.Mean, w, true, axes...)
			d := b.Do(op.Sub, w, m)
			v := b.Reduce(op.Mean, b.Do(op.Mul, d, d), true, axes...)
			y := b.Do(op.Div, d, b.Do(op.Sqrt, b.Do(op.Add, v, b.Like(v, 1e-5))))
			scale := b.Cast(b.input(x.DType, x.Shape[len(x.Shape)-1]), w.DType) // in the norm's kernel
			return []op.Desc{b.Cast(b.Do(op.Add, b.Do(op.Mul, y, scale), b.input(w.DType, 1)), x.DType), m}
		},
		"two sums and their share": func(b *sketch, x op.Desc, axes []int) []op.Desc {
			s := b.Reduce(op.Sum, x, true, axes...)
			q := b.Reduce(op.Sum, b.Do(op.Mul, x, x), true, axes...)
			r := b.Do(op.Sub, q, b.Do(op.Mul, s, b.Like(s, 0.25)))
			return []op.Desc{b.Do(op.Mul, x, r), r}
		},
		"without the axis": func(b *sketch, x op.Desc, axes []int) []op.Desc {
			s := b.Reduce(op.Sum, x, false, axes...)
			kept := x.Shape.Clone()
			for _, a := range axes {
				kept[a] = 1
			}
			r := b.Expand(b.Reshape(b.Do(op.Neg, s), kept), x.Shape)
			return []op.Desc{b.Do(op.Sub, x, r), s}
		},
	}
	shapes := []struct {
		shape shape.Shape
		axes  []int
	}{{shape.Of(40, 4), []int{1}}, {shape.Of(9, 64), []int{1}}, {shape.Of(19, 33), []int{1}}, {shape.Of(3, 1023), []int{1}}, {shape.Of(3, 1024), []int{1}},
		{shape.Of(9, 1500), []int{1}}, {shape.Of(2, 2, 3, 40), []int{2, 3}}, {shape.Of(8, 16388), []int{1}}, {shape.Of(3, 5, 7), []int{1}}, {shape.Of(5, 7), []int{0}}, {shape.Of(0, 4), []int{1}},
		{shape.Of(3, 0), []int{1}}, {shape.Of(700, 2), []int{1}}}
	for name, f := range build {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, c := range shapes {
				for j, d := range dtype.Floats.List() {
					if c.shape.Size() > 1<<14 && j != 1+i%2 {
						continue
					}
					b := newSketch()
					x := b.input(d, c.shape...)
					outs := f(b, x, c.axes)
					seed := uint64(i*10 + j)
					r := newRunner(t, []template.Target{tiny, narrowGrid}[seed/2%2], seed)
					r.strewn = seed%3 == 0
					if j == 3 { // whatever the policy says: all layouts have to be right
						r.policy.Accept = nil
					}
					r.run(b.graph(t, outs...), inputs(r.r, b, op.Domain{Lo: -1, Hi: 1}))
					if i < 6 && j != 3 {
						require.Equal(t, group.Norm, r.groups[len(r.groups)-1].Kind, "%v", r.groups)
					}
				}
			}
		})
	}
}

// inputs draws all inputs of a program.
func inputs(r *rand.Rand, b *sketch, domain op.Domain) []ref.Tensor {
	var all []ref.Tensor
	for _, d := range b.p.Inputs {
		all = append(all, draw(r, d, domain, false))
	}
	return all
}

// TestRandomGroups runs random programs of elementwise nodes and reductions.
func TestRandomGroups(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 60
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, []template.Target{tiny, narrowGrid}[seed%2], seed)
			r.strewn = seed%3 == 0
			b, outs := drawProgram(r.r)
			r.run(b.graph(t, outs...), inputs(r.r, b, op.Domain{Lo: -1, Hi: 1}))
		})
	}
}

func drawProgram(r *rand.Rand) (*sketch, []op.Desc) {
	b := newSketch()
	h, w := 1+r.IntN(40), 1+r.IntN(80)
	d := dtype.Floats.List()[r.IntN(4)]
	pool := []op.Desc{b.input(d, h, w), b.input(d, w), b.input(d, h, 1), b.Scalar(d, 0.5), b.input(d)}
	pick := func() op.Desc { return pool[len(pool)-1-min(r.IntN(len(pool)), r.IntN(len(pool)))] }
	for range 3 + r.IntN(16) {
		x := pick()
		var y op.Desc
		switch k := r.IntN(10); {
		case k < 3:
			y = b.Do([]op.Code{op.Neg, op.Sin, op.Tanh, op.Relu, op.Sigmoid}[r.IntN(5)], x)
		case k < 7:
			z := pick()
			if _, err := shape.Broadcast(x.Shape, z.Shape); err != nil {
				continue
			}
			y = b.Do([]op.Code{op.Add, op.Sub, op.Max, op.Min}[r.IntN(4)], x, z)
		case k < 9 && len(x.Shape) > 0:
			y = b.Reduce([]op.Code{op.ReduceMax, op.Mean}[r.IntN(2)], x, r.IntN(2) == 0, r.IntN(len(x.Shape)))
		default:
			if _, err := shape.Broadcast(x.Shape, pool[0].Shape); err != nil {
				continue
			}
			y = b.Do(op.Where, b.Do(op.Less, x, pool[0]), pool[0], b.Do(op.Sin, x))
		}
		pool = append(pool, y)
		if b.Err() != nil {
			panic(b.Err())
		}
	}
	outs := []op.Desc{pool[len(pool)-1]}
	for range r.IntN(3) {
		if o := pick(); o.ID != outs[0].ID {
			outs = append(outs, o)
		}
	}
	return b, outs
}

// TestDivisionByRow divides elements by the maximum or the sum of their row. The scales of rows are 0, numbers from the least of f32 to
// nearly the greatest, infinity and NaN.
func TestDivisionByRow(t *testing.T) {
	scales := []float64{0, 0x1p-149, 0x1p-140, 0x1p-126, 0x1p-100, 0x1p-64, 1, 0x1p64, 0x1p100, 0x1p126, math.Inf(1), math.NaN()}
	for _, code := range []op.Code{op.ReduceMax, op.Sum} {
		b := newSketch()
		x := b.input(dtype.F32, len(scales), 40)
		y := b.Do(op.Div, x, b.Reduce(code, b.Do(op.Abs, x), true, 1))
		c := newRunner(t, tiny, 1)
		in := ref.Zeros(x)
		for i := range in.F {
			in.F[i] = float64(float32(scales[i/40] / 20 * (1 - 2*c.r.Float64())))
			if i%7 == 3 {
				in.F[i] = 0
			}
		}
		c.run(b.graph(t, y), []ref.Tensor{in})
		require.Len(t, c.groups, 1)
	}
}

// TestShortGelu computes gelu for all 65536 values of each 16-bit float type.
func TestShortGelu(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		b := newSketch()
		x := b.input(d, 1<<16)
		c := newRunner(t, tiny, 1)
		in := ref.Zeros(x)
		raw := in.Bytes()
		for i := range 1 << 16 {
			raw[2*i], raw[2*i+1] = byte(i), byte(i>>8)
		}
		in, err := ref.FromBytes(x, raw)
		require.NoError(t, err)
		c.run(b.graph(t, b.Do(op.Gelu, x)), []ref.Tensor{in})
	}
}
