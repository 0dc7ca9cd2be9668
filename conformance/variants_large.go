package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Domains of long sums and products.
var (
	aboutOne = op.Domain{Lo: 0.5, Hi: 1.5}
	// nearOne has products of 200,000 values from about e^-15 to e^10, in the range of every type.
	nearOne = op.Domain{Lo: 0.99, Hi: 1.01}
	// plusOrMinus has products that differ if a factor is missing or repeated.
	plusOrMinus = op.Domain{Lo: -1, Hi: 1, NonZero: true}
	// few has few distinct integers, so that many elements are equal.
	few = op.Domain{Lo: 0, Hi: 40}
)

// large returns a variant for some first types, with the domains of the row.
func large(name string, in []shape.Shape, types []dtype.DType, attrs ...op.Attr) variant {
	x := v("large-"+name, in, attrs...).only(types...)
	x.large = true
	return x
}

// summed returns vs with operands in aboutOne, which are positive, so that no sum cancels.
func summed(vs ...variant) []variant { return ranging(aboutOne, vs...) }

// ranging returns vs with all operands in a domain.
func ranging(d op.Domain, vs ...variant) []variant {
	for i := range vs {
		for k := range vs[i].in {
			vs[i] = vs[i].domain(k, d)
		}
	}
	return vs
}

// again returns vs, the first of which must compute the same bits again.
func again(vs ...variant) []variant {
	vs[0].repeated = true
	return vs
}

func centered(vs ...variant) []variant {
	for i := range vs {
		vs[i].centered = true
	}
	return vs
}

func types(d ...dtype.DType) []dtype.DType { return d }

var (
	f32, whole   = types(dtype.F32), types(dtype.I32, dtype.I64)
	floats       = types(dtype.F32, dtype.BF16)
	moved        = types(dtype.F32, dtype.BF16, dtype.I32, dtype.U8)
	single, half = types(dtype.F32, dtype.I32), types(dtype.F16)
)

// reducedLong returns long reductions: of everything, of rows, of columns, and of two dimensions around a third one.
func reducedLong(all, rows, columns, outer []dtype.DType) []variant {
	return []variant{large("all", shapes(dims(200003)), all, op.Ints("axes", 0)), large("rows", shapes(dims(3, 66671)), rows, op.Ints("axes", 1)),
		large("columns", shapes(dims(66671, 3)), columns, op.Ints("axes", 0)), large("outer", shapes(dims(41, 71, 69)), outer, op.Ints("axes", 0, 2))}
}

// alongLong returns variants along one long axis: of a vector, of rows and of columns.
func alongLong(all, rows, columns []dtype.DType, attrs ...op.Attr) []variant {
	at := func(axis int) []op.Attr { return append(attrs[:len(attrs):len(attrs)], op.Int("axis", axis)) }
	return []variant{large("all", shapes(dims(200003)), all, at(0)...), large("rows", shapes(dims(3, 66671)), rows, at(1)...),
		large("columns", shapes(dims(66671, 3)), columns, at(0)...)}
}

// scannedLong returns scans of floats in domain d and of integers in domain ints.
func scannedLong(d, ints op.Domain) []variant {
	vs := ranging(d, append(again(alongLong(f32, floats, f32)...), large("back", shapes(dims(3, 66671)), f32, op.Int("axis", 1), op.Flag("reverse", true), op.Flag("exclusive", true)))...)
	return append(vs, ranging(ints, alongLong(types(dtype.I64), types(dtype.I32), types(dtype.I32))...)...)
}

// broadcastLong returns variants of an op on two operands, one or both of which are broadcast.
func broadcastLong(row, column, outer []dtype.DType) []variant {
	return []variant{large("row", shapes(dims(449, 447), dims(447)), row), large("column", shapes(dims(447, 449), dims(447, 1)), column),
		large("outer", shapes(dims(449, 1), dims(1, 447)), outer)}
}

// wordsLong returns random words of one type.
func wordsLong(d dtype.DType, attrs ...op.Attr) variant {
	return large("words", nil, types(d), append(attrs, op.Type("dtype", d), op.Ints("shape", 200003))...)
}

// scatteredLong returns 40,009 updates of 1,009 rows, so that each row has many updates.
func scatteredLong(mode string, first []dtype.DType) variant {
	return large(mode, shapes(dims(1009, 5), dims(40009), dims(40009, 5)), first, op.Int("axis", 0), op.Str("mode", mode))
}

// largeVariants are nodes of about 200,000 elements, in odd lengths: backends divide such work among threads and blocks, sum in parts
// and choose other kernels for it.
var largeVariants = map[op.Code][]variant{
	op.Sum: append(summed(again(reducedLong(floats, f32, floats, half)...)...), reducedLong(whole, types(dtype.I32), whole, types(dtype.I32))...),
	op.Prod: append(ranging(nearOne, again(reducedLong(floats, f32, floats, half)...)...),
		ranging(plusOrMinus, reducedLong(types(dtype.I32), types(dtype.I32), whole, types(dtype.I32))...)...),
	op.ReduceMax: reducedLong(append(whole, floats...), single, single, half), op.ReduceMin: reducedLong(append(whole, floats...), single, single, half),
	op.Mean:     summed(again(reducedLong(append(half, floats...), f32, append(half, floats...), f32)...)...),
	op.Variance: summed(again(reducedLong(floats, f32, floats, f32)...)...), op.LogSumExp: summed(reducedLong(floats, f32, f32, f32)...),
	op.VectorNorm: summed(reducedLong(f32, floats, f32, nil)[:3]...),
	op.MSELoss:    {large("mean", shapes(dims(447, 449), dims(447, 449)), floats).domain(0, aboutOne).domain(1, op.Domain{Lo: 2, Hi: 3})},

	op.ArgMax: alongLong(append(floats, dtype.I64), single, single), op.ArgMin: alongLong(append(floats, dtype.I64), single, single),
	op.CumSum: scannedLong(aboutOne, op.Domain{}), op.CumProd: scannedLong(nearOne, plusOrMinus),
	op.CumMax: alongLong(f32, single, f32), op.CumMin: alongLong(f32, single, f32),
	op.Softmax: summed(again(alongLong(f32, floats, floats)...)...), op.LogSoftmax: summed(alongLong(f32, floats, floats)...),
	op.Sort:    append(alongLong(append(single, dtype.BF16), single, f32), large("descending", shapes(dims(200003)), whole, op.Int("axis", 0), op.Flag("descending", true)).domain(0, few)),
	op.ArgSort: alongLong(single, f32, nil)[:2],
	op.TopK:    alongLong(single, floats, nil, op.Int("k", 1009))[:2],

	op.LayerNorm: centered(summed(again(large("rows", shapes(dims(3, 66671), dims(66671), dims(66671)), floats, op.Int("axis", 1)))...)...),
	op.RMSNorm:   summed(large("rows", shapes(dims(3, 66671), dims(66671)), floats, op.Int("axis", 1))),
	op.GroupNorm: centered(summed(large("group", shapes(dims(1, 2, 100003), dims(2), dims(2)), floats, op.Int("groups", 1)))...),
	op.BatchNorm: centered(summed(large("channels", shapes(dims(2, 3, 33343), dims(3), dims(3), dims(3), dims(3)), floats))...),

	op.MatMul: append(summed(again(large("dot", shapes(dims(1, 200003), dims(200003, 1)), floats), large("deep", shapes(dims(3, 20011), dims(20011, 5)), append(half, floats...)),
		large("deep-transposed", shapes(dims(20011, 3), dims(5, 20011)), floats, ta, tb), large("outer", shapes(dims(449, 1), dims(1, 447)), f32),
		large("tall", shapes(dims(20011, 7), dims(7, 3)), floats))...),
		large("dot", shapes(dims(1, 200003), dims(200003, 1)), whole), large("deep", shapes(dims(3, 20011), dims(20011, 5)), whole)),
	op.Linear:        summed(large("deep", shapes(dims(2, 20011), dims(20011, 3), dims(3)), floats)),
	op.MatMulInteger: {large("deep", shapes(dims(2, 20011), dims(20011, 3), dims(), dims()), types(dtype.U8, dtype.I8))},
	op.Conv: summed(large("channels", shapes(dims(1, 2003, 11), dims(3, 2003, 5)), floats, geometry(l(1), l(0), l(0), l(1), l(1), 1)...),
		large("line", shapes(dims(1, 1, 66671), dims(1, 1, 3)), floats, geometry(l(1), l(1), l(1), l(1), l(1), 1)...)),
	op.WindowReduce: append(summed(large("sum", shapes(dims(200003)), floats, sliding(l(7), l(5), l(0), l(0), l(1), op.Str("reduce", "sum"))...)),
		large("max", shapes(dims(447, 449)), f32, sliding(l(2, 3), l(3, 2), l(0, 1), l(0, 1), l(1, 1), op.Str("reduce", "max"), op.Flag("indices", true))...)),
	op.AvgPool:   summed(large("global", shapes(dims(1, 2, 317, 315)), floats, pool(l(317, 315), l(1, 1), l(0, 0), l(0, 0), l(0, 0), l(1, 1))...)),
	op.Attention: {withValues(heads("large-keys", nil, nil, 1, 2, 2, 3, 20011, 4, 3))},

	op.Gather: {large("rows", shapes(dims(50021, 4), dims(50021)), moved, op.Int("axis", 0)), large("columns", shapes(dims(3, 66671), dims(50021)), f32, op.Int("axis", 1))},
	op.Scatter: append(summedTo(scatteredLong("add", f32)), scatteredLong("add", types(dtype.I32)), scatteredLong("assign", moved), scatteredLong("max", single),
		scatteredLong("min", f32)),
	op.NonZero:  {large("all", shapes(dims(200003)), types(dtype.F32, dtype.Bool)).domain(0, scarce)},
	op.Compress: {large("rows", shapes(dims(50021, 4), dims(50021)), f32, op.Int("axis", 0))},
	op.Unique:   {large("all", shapes(dims(200003)), types(dtype.I32)).domain(0, few)},

	op.RandomBits: {wordsLong(dtype.I32, op.Int("seed", 7), op.Int("counter", 1<<32-1000)), wordsLong(dtype.U32, op.Int("seed", -3), op.Int("counter", -1000))},
	op.Iota:       {large("rows", nil, f32, op.Int("axis", 0), op.Type("dtype", dtype.F32), op.Ints("shape", 449, 447))},
	op.Full:       {large("all", nil, f32, op.ScalarFloat("value", 2.75), op.Type("dtype", dtype.F32), op.Ints("shape", 200003))},

	op.Add: broadcastLong(append(whole, floats...), floats, single), op.Mul: broadcastLong(append(half, f32...), f32, single), op.Div: broadcastLong(floats, f32, f32),
	op.Max: broadcastLong(single, f32, f32), op.Less: broadcastLong(single, f32, f32), op.Equal: broadcastLong(types(dtype.I64), nil, nil)[:1],
	op.Where: {large("outer", shapes(dims(449, 1), dims(447), dims()), types(dtype.Bool)), large("same", shapes(dims(200003), dims(200003), dims(200003)), types(dtype.Bool))},
	op.Neg:   {lined(dtype.I32, dtype.F16)}, op.Exp: {lined(floats...)}, op.Tanh: {lined(floats...)}, op.Erf: {lined(f32...)}, op.Sqrt: {lined(f32...)}, op.Gelu: {lined(floats...)},
	op.Cast: {large("to-f32", shapes(dims(200003)), types(dtype.BF16, dtype.F16, dtype.I64), op.Type("dtype", dtype.F32)),
		large("to-bf16", shapes(dims(200003)), f32, op.Type("dtype", dtype.BF16)), large("to-i32", shapes(dims(200003)), types(dtype.F32, dtype.U8), op.Type("dtype", dtype.I32))},

	op.Permute: {large("transpose", shapes(dims(449, 447)), moved, op.Ints("axes", 1, 0)), large("rank4", shapes(dims(11, 13, 37, 39)), single, op.Ints("axes", 2, 0, 3, 1))},
	op.Expand:  {large("column", shapes(dims(447, 1)), single, op.Ints("shape", 447, 449))},
	op.Flip:    {large("both", shapes(dims(447, 449)), single, op.Ints("axes", 0, 1))},
	op.Slice:   {large("steps", shapes(dims(673, 899)), f32, op.Ints("start", 672, 1), op.Ints("size", 449, 299), op.Ints("step", -1, 3))},
	op.Pad:     {large("around", shapes(dims(447, 443)), single, op.Ints("lo", 1, 3), op.Ints("hi", 1, 3), op.ScalarInt("value", 7))},
	op.Concat:  {large("rows", shapes(dims(301, 449), dims(1, 449), dims(147, 449)), single, op.Int("axis", 0)), large("columns", shapes(dims(449, 301), dims(449, 147)), f32, op.Int("axis", 1))},
}

// lined returns a variant with one operand, a vector.
func lined(d ...dtype.DType) variant {
	x := large("line", shapes(dims(200003)), d)
	x.centered = true
	return x
}

// withValues returns x, a variant of attention, with positive values and for the types in floats.
func withValues(x variant) variant {
	x.large = true
	return x.only(floats...).domain(2, aboutOne)
}

// summedTo returns x, a variant of scatter, with positive elements and updates. The indices keep their domain.
func summedTo(x variant) []variant {
	return []variant{x.domain(0, aboutOne).domain(2, aboutOne)}
}
