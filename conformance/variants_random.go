package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// drawnVariants returns a distribution in several shapes, for each float type.
func drawnVariants(params ...op.Attr) []variant {
	var vs []variant
	for _, d := range dtype.Set(dtype.Floats).List() {
		at := func(name string, s []int, more ...op.Attr) {
			vs = append(vs, v(name+"-"+d.String(), nil, append(more, op.Ints("shape", s...), op.Type("dtype", d))...).only(d))
		}
		at("matrix", []int{3, 5}, op.Int("seed", 1))
		at("rank0", nil, op.Int("seed", -1))
		at("empty", []int{0, 2}, op.Int("seed", 1))
		at("params", []int{7}, append(params, op.Int("seed", 1<<40+3), op.Int("counter", 1<<33-1))...)
		at("large", []int{257}, op.Int("seed", 5))
	}
	return vs
}

// drawnBits returns variants that draw words of each type from a state in a tensor.
func drawnBits() (vs []variant) {
	for _, d := range []dtype.DType{dtype.I32, dtype.U32} {
		at := func(name string, s []int, more ...op.Attr) {
			vs = append(vs, v(name+"-"+d.String(), shapes(dims(2)), append(more, op.Ints("shape", s...), op.Type("dtype", d))...))
		}
		at("matrix", []int{3, 5}, op.Int("seed", -7))
		at("rank0", nil, op.Int("seed", 0))
		at("empty", []int{0, 2}, op.Int("seed", 1))
		at("blocks", []int{64}, op.Int("seed", 1<<40+3), op.Int("counter", 1<<32-2))
		at("large", []int{1027}, op.Int("seed", 5), op.Int("counter", -1))
	}
	return vs
}

var randomPlans = map[op.Code]plan{
	op.RandomBitsAt:  {special: extreme, variants: drawnBits()},
	op.RandomUniform: {variants: drawnVariants(op.Float("low", -1.5), op.Float("high", 2.5))},
	op.RandomNormal:  {variants: drawnVariants(op.Float("mean", -1), op.Float("std", 0.5))},
	op.Bernoulli: {special: extreme, typed: func(_ dtype.DType, types dtype.Set) []variant {
		vs := []variant{v("default", shapes(dims(4, 9)), op.Int("seed", 3)), v("rank0", shapes(dims()), op.Int("seed", 3), op.Int("counter", 5)), v("empty", shapes(dims(0, 2)), op.Int("seed", 3))}
		for _, d := range types.List() {
			vs = append(vs, v("to-"+d.String(), shapes(dims(3, 7)), op.Int("seed", 4), op.Type("dtype", d)))
		}
		return vs
	}},
	op.Multinomial: {variants: []variant{v("matrix", shapes(dims(3, 5)), op.Int("count", 11), op.Int("seed", 9)), v("line", shapes(dims(6)), op.Int("count", 40), op.Int("seed", 8), op.Int("counter", 3)),
		v("one", shapes(dims(2, 1)), op.Int("count", 3), op.Int("seed", 9)), v("none", shapes(dims(4)), op.Int("count", 0), op.Int("seed", 9)), v("empty", shapes(dims(0, 4)), op.Int("count", 2), op.Int("seed", 9)),
		v("zero-weights", shapes(dims(2, 8)), op.Int("count", 30), op.Int("seed", 2)).domain(0, op.Domain{Lo: 0, Hi: 2, Whole: true})}},
}

func init() { register(randomPlans) }
