package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// created returns variants of an op without operands, for each result type.
func created(attrs func(d dtype.DType, s shape.Shape) [][]op.Attr) plan {
	return plan{typed: func(d dtype.DType, _ dtype.Set) []variant {
		var vs []variant
		for _, s := range []struct {
			name string
			s    shape.Shape
		}{{"matrix", dims(3, 5)}, {"rank0", dims()}, {"empty", dims(0, 2)}, {"odd", dims(7)}, {"rank4", dims(2, 3, 1, 2)}} {
			for i, a := range attrs(d, s.s) {
				vs = append(vs, v(s.name+"-"+string(rune('1'+i)), nil, append(a, op.Type("dtype", d), op.Dims("shape", s.s))...))
			}
		}
		return vs
	}}
}

var movementPlans = map[op.Code]plan{
	op.Full: created(func(d dtype.DType, _ shape.Shape) [][]op.Attr {
		return [][]op.Attr{set(op.ScalarInt("value", 3)), set(op.ScalarInt("value", -1)), set(op.ScalarFloat("value", 2.75)), set(op.ScalarInt("value", 1<<40+5)),
			set(op.ScalarFloat("value", 1e30)), set(op.ScalarFloat("value", nan())), set(op.Lowest(d)), set(op.Highest(d))}
	}),
	op.Iota: created(func(d dtype.DType, s shape.Shape) [][]op.Attr {
		var l [][]op.Attr
		for axis := range s {
			if d != dtype.Bool {
				l = append(l, set(op.Int("axis", axis)))
			}
		}
		return l
	}),
	op.RandomBits: created(func(d dtype.DType, _ shape.Shape) [][]op.Attr {
		if d != dtype.I32 && d != dtype.U32 {
			return nil
		}
		return [][]op.Attr{set(op.Int("seed", 0)), set(op.Int("seed", -7), op.Int("counter", 1<<32-1)), set(op.Int("seed", 1<<40+9), op.Int("counter", -1))}
	}),

	op.Reshape: {special: extreme, variants: []variant{
		v("flat", shapes(dims(3, 4)), op.Ints("shape", 12)), v("split", shapes(dims(12)), op.Ints("shape", 2, 1, 6)), v("same", shapes(dims(2, 3)), op.Ints("shape", 2, 3)),
		v("rank0", shapes(dims(1, 1)), op.Ints("shape")), v("from-rank0", shapes(dims()), op.Ints("shape", 1, 1, 1)), v("empty", shapes(dims(0, 3)), op.Ints("shape", 5, 0))}},
	op.Permute: {special: extreme, variants: []variant{
		v("transpose", shapes(dims(3, 4)), op.Ints("axes", 1, 0)), v("rotate", shapes(dims(2, 3, 4)), op.Ints("axes", 2, 0, 1)),
		v("identity", shapes(dims(2, 3)), op.Ints("axes", 0, 1)), v("rank0", shapes(dims()), op.Ints("axes")), v("empty", shapes(dims(2, 0, 3)), op.Ints("axes", 2, 1, 0)),
		v("rank5", shapes(dims(2, 1, 3, 2, 2)), op.Ints("axes", 4, 2, 0, 1, 3))}},
	op.Expand: {special: extreme, variants: []variant{
		v("column", shapes(dims(3, 1)), op.Ints("shape", 3, 4)), v("row", shapes(dims(4)), op.Ints("shape", 3, 4)), v("rank0", shapes(dims()), op.Ints("shape", 2, 3)),
		v("same", shapes(dims(2, 3)), op.Ints("shape", 2, 3)), v("empty", shapes(dims(1, 3)), op.Ints("shape", 0, 3)), v("to-rank0", shapes(dims()), op.Ints("shape")),
		v("inner", shapes(dims(2, 1, 3)), op.Ints("shape", 2, 2, 4, 3))}},
	op.Slice: {special: extreme, variants: []variant{
		v("plain", shapes(dims(5, 6)), op.Ints("start", 1, 2), op.Ints("size", 3, 4), op.Ints("step", 1, 1)),
		v("step", shapes(dims(7, 9)), op.Ints("start", 0, 1), op.Ints("size", 3, 3), op.Ints("step", 3, 2)),
		v("negative", shapes(dims(5, 6)), op.Ints("start", 4, 5), op.Ints("size", 5, 3), op.Ints("step", -1, -2)),
		v("none", shapes(dims(5)), op.Ints("start", 9), op.Ints("size", 0), op.Ints("step", 1)), v("rank0", shapes(dims()), op.Ints("start"), op.Ints("size"), op.Ints("step")),
		v("empty", shapes(dims(0, 3)), op.Ints("start", 0, 1), op.Ints("size", 0, 2), op.Ints("step", 1, 1)),
		v("single", shapes(dims(4)), op.Ints("start", 3), op.Ints("size", 1), op.Ints("step", 100))}},
	op.Pad: {special: extreme, variants: []variant{
		v("around", shapes(dims(2, 3)), op.Ints("lo", 1, 0), op.Ints("hi", 2, 1)), v("value", shapes(dims(3)), op.Ints("lo", 2), op.Ints("hi", 1), op.ScalarInt("value", 7)),
		v("negative", shapes(dims(5, 4)), op.Ints("lo", -2, 1), op.Ints("hi", 0, -1), op.ScalarFloat("value", -1.5)),
		v("crop", shapes(dims(5)), op.Ints("lo", -1), op.Ints("hi", -3)), v("to-empty", shapes(dims(3)), op.Ints("lo", -3), op.Ints("hi", 0)),
		v("past-end", shapes(dims(3)), op.Ints("lo", -4), op.Ints("hi", 3), op.ScalarInt("value", 1)),
		v("from-empty", shapes(dims(0)), op.Ints("lo", 1), op.Ints("hi", 2), op.ScalarFloat("value", nan())), v("rank0", shapes(dims()), op.Ints("lo"), op.Ints("hi"))}},
	op.Flip: {special: extreme, variants: []variant{
		v("last", shapes(dims(3, 4)), op.Ints("axes", 1)), v("both", shapes(dims(3, 4)), op.Ints("axes", 1, 0)), v("none", shapes(dims(2, 2)), op.Ints("axes")),
		v("empty", shapes(dims(0, 4)), op.Ints("axes", 0)), v("rank0", shapes(dims()), op.Ints("axes"))}},
	op.Concat: {special: extreme, variants: []variant{
		v("rows", shapes(dims(2, 3), dims(4, 3)), op.Int("axis", 0)), v("columns", shapes(dims(2, 3), dims(2, 1), dims(2, 2)), op.Int("axis", 1)),
		v("single", shapes(dims(3)), op.Int("axis", 0)), v("empty", shapes(dims(0, 3), dims(2, 3), dims(0, 3)), op.Int("axis", 0)),
		v("middle", shapes(dims(2, 1, 3), dims(2, 4, 3)), op.Int("axis", 1))}},
	op.Gather: {special: extreme, variants: []variant{
		v("rows", shapes(dims(5, 3), dims(4)), op.Int("axis", 0)), v("columns", shapes(dims(3, 5), dims(2, 2)), op.Int("axis", 1)), v("rank0", shapes(dims(5, 2), dims()), op.Int("axis", 0)),
		v("batch", shapes(dims(2, 5, 3), dims(2, 4)), op.Int("axis", 1), op.Int("batch", 1)), v("batch-later", shapes(dims(2, 3, 5), dims(2, 4)), op.Int("axis", 2), op.Int("batch", 1)),
		v("none", shapes(dims(5, 3), dims(0)), op.Int("axis", 0)), v("empty", shapes(dims(0, 3), dims(0)), op.Int("axis", 0)),
		v("batch-all", shapes(dims(2, 3), dims(2)), op.Int("axis", 1), op.Int("batch", 1))}},
	op.Scatter: {variants: scatterVariants()},
	op.Cast: {typed: func(_ dtype.DType, types dtype.Set) []variant {
		var vs []variant
		for _, to := range append(types.List(), (dtype.Smalls &^ types).List()...) {
			if dtype.Smalls.Has(to) {
				vs = append(vs, variant{name: "to-" + to.String() + "-unsaturated", in: shapes(nil), grid: true,
					attrs: set(op.Type("dtype", to), op.Flag("saturate", false))})
			}
			vs = append(vs, v("to-"+to.String(), shapes(dims(5, 13)), op.Type("dtype", to)),
				variant{name: "to-" + to.String() + "-special", in: shapes(nil), attrs: set(op.Type("dtype", to)), grid: true})
		}
		return append(vs, v("rank0", shapes(dims()), op.Type("dtype", dtype.I32)), v("empty", shapes(dims(0, 2)), op.Type("dtype", dtype.F32)))
	}, special: extreme},
	op.Copy: one(extreme),
}

// scatterVariants returns variants in every mode; modes other than assign are for numbers.
func scatterVariants() []variant {
	var vs []variant
	for _, m := range modes {
		mode := op.Str("mode", m)
		l := []variant{
			v(m+"-rows", shapes(dims(5, 3), dims(4), dims(4, 3)), op.Int("axis", 0), mode),
			v(m+"-columns", shapes(dims(3, 5), dims(2, 2), dims(3, 2, 2)), op.Int("axis", 1), mode),
			v(m+"-batch", shapes(dims(2, 5, 3), dims(2, 4), dims(2, 4, 3)), op.Int("axis", 1), op.Int("batch", 1), mode),
			v(m+"-rank0", shapes(dims(5, 2), dims(), dims(2)), op.Int("axis", 0), mode),
			v(m+"-none", shapes(dims(5, 2), dims(0), dims(0, 2)), op.Int("axis", 0), mode),
		}
		for _, x := range l {
			if m != "assign" {
				x = x.within(dtype.Numbers)
			}
			vs = append(vs, x)
		}
	}
	return vs
}
