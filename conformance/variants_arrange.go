package conformance

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Special values exclude denormals: half of the least denormal is 0 in its type and nonzero in a wider one, and a gate that multiplies it
// by infinity returns NaN or infinity. The gate of a value far below 0 has the same problem: it is 0 in f32 and not in f64.
var gatedPlan = plan{special: gated, variants: []variant{
	v("columns", shapes(dims(3, 6)), op.Int("axis", 1)), v("rows", shapes(dims(4, 3)), op.Int("axis", 0)), v("middle", shapes(dims(2, 4, 3)), op.Int("axis", 1)), v("empty", shapes(dims(0, 4)), op.Int("axis", 1)),
	v("of-none", shapes(dims(3, 0)), op.Int("axis", 1)),
}}

func extended() []variant {
	var vs []variant
	for _, m := range []string{"edge", "reflect", "symmetric", "wrap"} {
		mode := op.Str("mode", m)
		vs = append(vs, v(m+"-around", shapes(dims(3, 4)), op.Ints("lo", 1, 2), op.Ints("hi", 2, 1), mode), v(m+"-over", shapes(dims(3, 2)), op.Ints("lo", 7, 0), op.Ints("hi", 0, 9), mode),
			v(m+"-crop", shapes(dims(5, 4)), op.Ints("lo", -2, 3), op.Ints("hi", 4, -3), mode), v(m+"-single", shapes(dims(1, 3)), op.Ints("lo", 2, 0), op.Ints("hi", 1, 0), mode))
	}
	return append(vs, v("none", shapes(dims(2, 3)), op.Ints("lo", 0, 0), op.Ints("hi", 0, 0)), v("rank0", shapes(dims()), op.Ints("lo"), op.Ints("hi")), v("empty", shapes(dims(0, 3)), op.Ints("lo", 0, 1), op.Ints("hi", 0, 2)))
}

func between(name string, start, stop float64, count int, to dtype.DType, attrs ...op.Attr) variant {
	return v(name, nil, append(attrs, op.Float("start", start), op.Float("stop", stop), op.Int("count", count), op.Type("dtype", to))...).only(to)
}

func dropped(name string, attrs ...op.Attr) variant {
	return v(name, shapes(dims(4, 7)), append(attrs, op.Int("seed", 77))...)
}

func lambdas(l float64) []op.Attr { return set(op.Float("lambda", l)) }

var arrangePlans = map[op.Code]plan{
	op.GLU: gatedPlan, op.SwiGLU: gatedPlan, op.GeGLU: gatedPlan, op.HardTanh: one(extreme, set(op.Float("min", -0.3), op.Float("max", 2.7))), op.Relu6: one(extreme),
	op.HardShrink: one(extreme, lambdas(0.3), lambdas(0)), op.SoftShrink: one(extreme, lambdas(0.3)), op.QuickGelu: one(ordinary, alpha(1.3)),
	op.Softmin: axial(ordinary), op.Hardmax: axial(extreme).ties(),

	op.Lerp: {special: ordinary, variants: []variant{v("same", shapes(dims(3, 5), dims(3, 5), dims(3, 5))), v("scalar-weight", shapes(dims(3, 5), dims(3, 5), dims())), v("broadcast", shapes(dims(3, 1), dims(4), dims(2, 1, 1))),
		v("rank0", shapes(dims(), dims(), dims())), v("empty", shapes(dims(0), dims(1), dims()))}},
	op.Frac: one(extreme), op.RoundAway: one(extreme), op.IsFinite: one(extreme),
	op.BitCount: one(extreme),

	op.Roll: {special: extreme, variants: []variant{
		v("columns", shapes(dims(3, 5)), op.Ints("axes", 1), op.Ints("shifts", 2)), v("both", shapes(dims(3, 5)), op.Ints("axes", 1, 0), op.Ints("shifts", -7, 1)), v("none", shapes(dims(3)), op.Ints("axes"), op.Ints("shifts")),
		v("round", shapes(dims(4)), op.Ints("axes", 0), op.Ints("shifts", 8)), v("empty", shapes(dims(0, 2)), op.Ints("axes", 0), op.Ints("shifts", 1)), v("far", shapes(dims(5)), op.Ints("axes", 0), op.Ints("shifts", math.MinInt64)),
	}},
	op.Tile: {special: extreme, variants: []variant{
		v("both", shapes(dims(2, 3)), op.Ints("repeats", 3, 2)), v("once", shapes(dims(2, 3)), op.Ints("repeats", 1, 1)), v("none", shapes(dims(2, 3)), op.Ints("repeats", 2, 0)), v("rank0", shapes(dims()), op.Ints("repeats")),
		v("rank8", shapes(dims(1, 2, 1, 2, 1, 1, 2, 1)), op.Ints("repeats", 2, 1, 1, 2, 1, 3, 1, 2)), v("empty", shapes(dims(0, 2)), op.Ints("repeats", 3, 2)),
	}},
	op.RepeatInterleave: {special: extreme, variants: []variant{
		v("rows", shapes(dims(2, 3)), op.Int("repeats", 3), op.Int("axis", 0)), v("columns", shapes(dims(2, 3)), op.Int("repeats", 2), op.Int("axis", 1)), v("none", shapes(dims(2, 3)), op.Int("repeats", 0), op.Int("axis", 1)),
		v("middle", shapes(dims(2, 1, 3)), op.Int("repeats", 4), op.Int("axis", 1)), v("empty", shapes(dims(0)), op.Int("repeats", 2), op.Int("axis", 0)),
	}},
	op.Stack: {special: extreme, variants: []variant{
		v("front", shapes(dims(2, 3), dims(2, 3)), op.Int("axis", 0)), v("last", shapes(dims(2, 3), dims(2, 3), dims(2, 3)), op.Int("axis", 2)), v("single", shapes(dims(3)), op.Int("axis", 1)), v("rank0", shapes(dims(), dims()), op.Int("axis", 0)),
		v("empty", shapes(dims(0, 2), dims(0, 2)), op.Int("axis", 1)),
	}},
	op.Extend:   {special: extreme, variants: extended()},
	op.MeshGrid: {special: extreme, variants: []variant{v("two", shapes(dims(3), dims(4))), v("three", shapes(dims(2), dims(1), dims(5))), v("one", shapes(dims(4))), v("empty", shapes(dims(3), dims(0)))}},
	op.Eye: {typed: func(first dtype.DType, _ dtype.Set) []variant {
		make := func(name string, rows, columns, diagonal int) variant {
			return v(name, nil, op.Int("rows", rows), op.Int("columns", columns), op.Int("diagonal", diagonal), op.Type("dtype", first))
		}
		return []variant{make("square", 4, 4, 0), make("wide", 3, 5, 1), make("tall", 5, 2, -2), make("outside", 2, 2, 5), make("empty", 0, 3, 0)}
	}},
	op.LinSpace: {typed: func(first dtype.DType, _ dtype.Set) []variant {
		if !first.IsFloat() { // typed is called with every type for a row without operands
			first = dtype.F32
		}
		return []variant{between("up", 0, 1, 11, first), between("down", 1, -0.3, 7, first), between("open", -1, 1, 8, first, op.Flag("endpoint", false)), between("single", 0.7, 3, 1, first), between("none", 0, 1, 0, first), between("long", -1, 1, 301, first)}
	}},
	op.LpNormalize: {variants: axial(noSpecial, set(op.Float("p", 1)), set(op.Float("p", 3)), set(op.Float("p", math.Inf(1))), set(op.Float("epsilon", 5))).variants},
	op.LocalResponseNorm: {special: ordinary, variants: []variant{
		v("odd", shapes(dims(2, 7, 3)), op.Int("size", 3), op.Float("alpha", 0.7)), v("even", shapes(dims(2, 5, 2, 2)), op.Int("size", 4), op.Float("alpha", 1), op.Float("beta", 0.5)), v("all", shapes(dims(3, 4)), op.Int("size", 9), op.Float("bias", 2), op.Float("alpha", 1)),
		v("one", shapes(dims(2, 3)), op.Int("size", 1)), v("empty", shapes(dims(0, 3, 2)), op.Int("size", 3)),
	}},
	op.Dropout: {variants: []variant{dropped("half"), dropped("tenth", op.Float("p", 0.1)), dropped("counter", op.Int("counter", 1<<40)), dropped("nothing", op.Float("p", 0)), dropped("all", op.Float("p", 1)),
		v("rank0", shapes(dims()), op.Int("seed", -3)), v("empty", shapes(dims(0, 3)), op.Int("seed", 3)), v("large", shapes(dims(50, 60)), op.Int("seed", 3)).only(dtype.F32)}},
}

func init() { register(arrangePlans) }
