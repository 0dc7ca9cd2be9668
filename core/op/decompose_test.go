package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// sample is a composite on some operands. The tests replace f32 by other types.
type sample struct {
	op    op.Code
	in    []op.Desc
	attrs []op.Attr
}

// samples has at least one node of each composite that is not elementwise. Other test files append to it.
var samples = []sample{
	{op.IsInf, ins(f(5)), with(op.Flag("negative", false))}, {op.IsInf, ins(f(5)), with(op.Flag("negative", false), op.Flag("positive", false))},
	{op.Clamp, ins(f(5)), with(op.ScalarFloat("min", -0.5), op.ScalarFloat("max", 0.5))},
	{op.Softmax, ins(f(2, 4)), axis(1)}, {op.Softmax, ins(f(0, 4)), axis(1)}, {op.LogSoftmax, ins(f(4, 2)), axis(0)},
	{op.Mean, ins(f(2, 3, 4)), with(op.Ints("axes", 0, 2))}, {op.Mean, ins(f(2, 0)), with(op.Ints("axes", 1))}, {op.Mean, ins(f()), with(op.Ints("axes"))},
	{op.Variance, ins(f(3, 4)), with(op.Ints("axes", 1), op.Float("correction", 1), op.Flag("keep_dims", true))},
	{op.LogSumExp, ins(f(3, 4)), with(op.Ints("axes", 1))}, {op.LogSumExp, ins(f(3, 0)), with(op.Ints("axes", 1))},
	{op.LayerNorm, ins(f(3, 4), f(4), f(4)), axis(1)}, {op.LayerNorm, ins(f(3, 4)), axis(0)}, {op.RMSNorm, ins(f(2, 3, 4), f(3, 1)), axis(1)},
	{op.GroupNorm, ins(f(2, 4, 3), f(4), f(4)), with(op.Int("groups", 2))}, {op.GroupNorm, ins(f(0, 4, 3), f(4), f(4)), with(op.Int("groups", 2))},
	{op.Linear, ins(f(3, 4), f(4, 2)), nil}, {op.Linear, ins(f(4), f(2, 4), f(2)), with(op.Flag("transpose_w", true))}, {op.Linear, ins(f(2, 0), f(0, 2), f(2)), nil},
	{op.AvgPool, ins(f(2, 6)), window(1, []int{3}, op.Ints("overhang", 1))}, {op.AvgPool, ins(f(2, 6)), window(1, []int{3}, op.Ints("overhang", 1), op.Flag("count_pad", true))},
	{op.LSTM, ins(f(3, 2, 3), f(2, 8, 3), f(2, 8, 2), f(2, 8), f(2, 2, 2), f(2, 2, 2)), with(op.Str("direction", "bidirectional"))},
	{op.LSTM, ins(f(0, 2, 3), f(1, 8, 3), f(1, 8, 2), f(1, 8), f(1, 2, 2), f(1, 2, 2)), nil},
	{op.GRU, ins(f(3, 2, 3), f(1, 6, 3), f(1, 6, 2), f(1, 6), f(1, 6), f(1, 2, 2)), with(op.Flag("reset_after", true), op.Str("direction", "reverse"))},
	{op.GatherElements, ins(f(3, 4), i(2, 5)), axis(1)}, {op.ScatterElements, ins(f(3, 4), i(2, 5), f(2, 5)), with(op.Int("axis", 1), op.Str("mode", "add"))},
	{op.ScatterElements, ins(f(3, 4), i(3, 2), f(3, 2)), axis(1)},
	{op.GatherND, ins(f(3, 3, 2), i(4, 2)), nil}, {op.GatherND, ins(f(2, 3, 2), i(2, 4, 1)), with(op.Int("batch", 1))}, {op.GatherND, ins(f(2, 3), i(4, 0)), nil},
	{op.ScatterND, ins(f(3, 3), i(4, 2), f(4)), with(op.Str("mode", "max"))}, {op.ScatterND, ins(f(3, 2), i(2, 1), f(2, 2)), nil},
	{op.OneHot, ins(i(2, 3)), with(op.Int("depth", 3), op.Int("axis", 1), op.Type("dtype", dtype.F32))}, {op.OneHot, ins(i()), with(op.Int("depth", 0), op.Int("axis", 0), op.Type("dtype", dtype.Bool))},
	{op.TopK, ins(f(3, 4)), with(op.Int("k", 2), op.Int("axis", 0))}, {op.TopK, ins(f(3, 4)), with(op.Int("k", 0), op.Int("axis", 1), op.Flag("largest", false))},
	{op.Quantize, ins(f(2, 3), f(3), op.DescOf(dtype.U8, 3)), axis(1)}, {op.Quantize, ins(f(), f(), op.DescOf(dtype.I8)), nil},
	{op.Dequantize, ins(op.DescOf(dtype.I8, 2, 3), f(3), op.DescOf(dtype.I8, 3)), axis(1)},
	{op.BatchNorm, ins(f(2, 3, 2), f(3), f(3), f(3), f(3)), nil}, {op.BatchNorm, ins(f(0, 3), f(3), f(3), f(3), f(3)), nil},
}

// allSamples returns samples and, in several shapes, each composite of the table that samples lacks.
func allSamples() []sample {
	all := samples
	have := map[op.Code]bool{}
	for _, s := range samples {
		have[s.op] = true
	}
	for _, c := range builtin() {
		row := op.Lookup(c)
		if row.Class != op.Composite || have[c] {
			continue
		}
		for _, s := range [][]int{nil, {3, 4}, {2, 0, 3}} {
			x := sample{op: c}
			for range row.Operands {
				x.in = append(x.in, f(s...))
			}
			all = append(all, x)
		}
	}
	return all
}

// retyped returns s with d in place of the type of the first operand and of all operands that share it. It reports false if the op does
// not accept them.
func (s sample) retyped(d dtype.DType) (sample, bool) {
	row := op.Lookup(s.op)
	if len(row.Operands) == 0 { // creates a tensor of the type in its attributes
		s.attrs = append([]op.Attr{op.Type("dtype", d)}, s.attrs...)
		_, err := op.New(s.op, nil, s.attrs...)
		return s, err == nil
	}
	if !row.Operands[0].Types.Has(d) || s.op == op.OneHot && d != dtype.I64 {
		return s, false
	}
	if mode, ok := op.Attrs(s.attrs).Get("mode"); ok && mode.Str() != "assign" && d == dtype.Bool {
		return s, false
	}
	in := append([]op.Desc(nil), s.in...)
	for k := range in {
		if o := row.Operands[min(k, len(row.Operands)-1)]; k == 0 || o.SameAs == 1 || o.Variadic {
			in[k].DType = d
		} else if o.SameAs > 0 {
			in[k].DType = in[o.SameAs-1].DType
		}
	}
	for k := range in {
		o := row.Operands[min(k, len(row.Operands)-1)]
		if !o.Types.Has(in[k].DType) || o.SameAs > 0 && in[k].DType != in[o.SameAs-1].DType {
			return s, false
		}
	}
	s.in = in
	return s, true
}

func TestDecompositions(t *testing.T) {
	tested := map[op.Code]bool{}
	for at, s := range allSamples() {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.BF16, dtype.I32, dtype.U8, dtype.I8, dtype.I64, dtype.Bool} {
			s, ok := s.retyped(d)
			if !ok {
				continue
			}
			tested[s.op] = true
			t.Run(fmt.Sprintf("%02d-%v/%v", at, s.op, d), func(t *testing.T) { decomposes(t, s) })
		}
	}
	for _, c := range builtin() {
		require.Equal(t, op.Lookup(c).Class == op.Composite, tested[c], "%v", c)
	}
}

// decomposes checks that a composite expands into legal primitives, that each tensor is defined once and before its use, and that they
// compute the result of the composite within its tolerance.
func decomposes(t *testing.T, s sample) {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	in := append([]op.Desc(nil), s.in...)
	known := map[op.TensorID]op.Desc{}
	for k := range in {
		in[k].ID = next()
		known[in[k].ID] = in[k]
	}
	n, err := op.New(s.op, in, s.attrs...)
	require.NoError(t, err)
	for k := range n.Outputs {
		n.Outputs[k].ID = next()
	}
	var flat []op.Node
	var expand func(m op.Node, depth int)
	expand = func(m op.Node, depth int) {
		require.Less(t, depth, 8, "a cycle of decompositions")
		var descs []op.Desc
		for _, id := range m.Inputs {
			d, ok := known[id]
			require.True(t, ok, "%v uses %v before it is defined", &m, id)
			descs = append(descs, d)
		}
		require.NoError(t, op.Check(&m, descs), "%v", &m)
		if op.Lookup(m.Op).Class == op.Primitive {
			for _, d := range m.Outputs {
				require.NotContains(t, known, d.ID, "%v is defined twice", d.ID)
				known[d.ID] = d
			}
			flat = append(flat, m)
			return
		}
		nodes, ok, err := op.Decompose(&m, descs, next)
		require.NoError(t, err)
		require.True(t, ok)
		for _, inner := range nodes {
			expand(inner, depth+1)
		}
	}
	expand(n, 0)

	values := map[op.TensorID]ref.Tensor{}
	r := rand.New(rand.NewPCG(1, uint64(s.op)))
	var inputs []ref.Tensor
	for k, d := range in {
		x := random(r, s.op, k, d)
		inputs = append(inputs, x)
		values[d.ID] = x
	}
	want, err := ref.Eval(&n, inputs)
	require.NoError(t, err)
	for _, m := range flat {
		var args []ref.Tensor
		for _, id := range m.Inputs {
			args = append(args, values[id])
		}
		outs, err := ref.Eval(&m, args)
		require.NoError(t, err, "%v", &m)
		for k, d := range m.Outputs {
			values[d.ID] = outs[k]
		}
	}
	rel, abs := op.Lookup(s.op).Tolerance.Bounds(n.Outputs[0].DType, 8)
	for k, d := range n.Outputs {
		got := values[d.ID]
		require.True(t, d.SameType(got.Desc), "output %d is %v, want %v", k, got.Desc, d)
		require.Equal(t, want[k].I, got.I)
		for e, w := range want[k].F {
			if math.IsNaN(w) {
				require.True(t, math.IsNaN(got.F[e]))
			} else if got.F[e] != w {
				require.LessOrEqual(t, math.Abs(got.F[e]-w), rel*math.Abs(w)+abs, "output %d: got %v, want %v", k, got.F[e], w)
			}
		}
	}
}

// random draws an operand of c in the domain of its row. Other floats are in (-1, 1), indices and booleans are 0 or 1, and other integers
// are at most 100 in magnitude, wrapped to their type.
func random(r *rand.Rand, c op.Code, operand int, d op.Desc) ref.Tensor {
	x := ref.Zeros(d)
	row := op.Lookup(c)
	var dom op.Domain
	if operand < len(row.Domain) {
		dom = row.Domain[operand]
	}
	if dom.Matrix != op.AnyMatrix {
		return ref.Matrix(r, dom.Matrix, d)
	}
	for k := range d.Shape.Size() {
		switch {
		case dom.Whole:
			x.F[k] = dom.Lo + float64(r.IntN(int(dom.Hi-dom.Lo)))
		case d.DType.IsFloat() && c == op.Bernoulli:
			x.F[k] = ref.Round(d.DType, r.Float64())
		case d.DType.IsFloat() && (c == op.BatchNorm && operand == 4 || c == op.Rsqrt):
			x.F[k] = ref.Round(d.DType, 0.1+r.Float64())
		case d.DType.IsFloat() && c == op.Acosh:
			x.F[k] = ref.Round(d.DType, 1+r.Float64())
		case d.DType.IsFloat() && operand < len(row.Domain) && row.Domain[operand].Lo >= 0 && row.Domain[operand].Hi > 0:
			lo, hi := row.Domain[operand].Lo, min(1, row.Domain[operand].Hi)
			x.F[k] = ref.Round(d.DType, lo+(hi-lo)*r.Float64())
		case d.DType.IsFloat():
			x.F[k] = ref.Round(d.DType, 1.98*r.Float64()-0.99)
		case operand > 0 && row.Operands[min(operand, len(row.Operands)-1)].Types == dtype.Indices || d.DType == dtype.Bool:
			x.I[k] = r.Int64N(2)
		default:
			x.I[k] = ref.Wrap(d.DType, r.Int64N(200)-100)
		}
	}
	return x
}

// A composite whose rule returns its operand still defines its outputs, by copies.
func TestDecompositionOfIdentity(t *testing.T) {
	c := op.Register(op.Row{Name: "test.same", Version: 1, Doc: "x, twice", Operands: []op.Operand{{Name: "x", Types: dtype.Floats}}, Results: []string{"a", "b"},
		Infer: func(in []op.Desc, _ op.Attrs) ([]op.Desc, error) { return []op.Desc{in[0], in[0]}, nil }},
		func(_ *op.Builder, in []op.Desc, _ op.Attrs) []op.Desc { return []op.Desc{in[0], in[0]} })
	x := f(2)
	x.ID = 1
	n, err := op.New(c, ins(x))
	require.NoError(t, err)
	n.Outputs[0].ID, n.Outputs[1].ID = 2, 3
	last := op.TensorID(3)
	nodes, ok, err := op.Decompose(&n, ins(x), func() op.TensorID { last++; return last })
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, nodes, 2)
	require.Equal(t, "t2 f32[2] = copy(t1)", nodes[0].String())
	require.Equal(t, "t3 f32[2] = copy(t1)", nodes[1].String())
	_, ok, err = op.Decompose(&op.Node{Op: op.Add}, nil, nil)
	require.NoError(t, err)
	require.False(t, ok, "primitives have no decomposition")
}

func TestRegisterRefuses(t *testing.T) {
	infer := func(in []op.Desc, _ op.Attrs) ([]op.Desc, error) { return in, nil }
	for _, r := range []op.Row{
		{Name: "plain", Version: 1, Doc: "d", Infer: infer}, {Name: ".x", Version: 1, Doc: "d", Infer: infer}, {Name: "x.", Version: 1, Doc: "d", Infer: infer},
		{Name: "test.noinfer", Version: 1, Doc: "d"}, {Name: "test.noversion", Doc: "d", Infer: infer}, {Name: "test.nodoc", Version: 1, Infer: infer},
	} {
		require.Panics(t, func() { op.Register(r, nil) }, r.Name)
		_, ok := op.ByName(r.Name)
		require.False(t, ok)
	}
}
