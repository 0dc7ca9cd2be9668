package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// TestComplete requires that each primitive has a lowering for each type of its row, and that the lowering returns launches.
func TestComplete(t *testing.T) {
	for _, code := range op.All() {
		row := op.Lookup(code)
		if row.Class != op.Primitive {
			continue
		}
		require.True(t, Native(code), "%v", code)
		types := able(tiny, row.Traits)
		if len(row.Operands) > 0 {
			types = row.Operands[0].Types
		}
		for _, d := range types.List() {
			b, outs := example(code, d)
			if outs == nil {
				continue
			}
			require.NoError(t, b.Err(), "%v of %v", code, d)
			g := b.graph(t, outs...)
			for _, x := range g.Decide(Policy(tiny)) {
				w, err := groupOf(tiny, g, x)
				require.NoError(t, err, "%v of %v", code, d)
				require.NotEmpty(t, w.Launches, "%v of %v", code, d)
			}
		}
	}
}

// groupOf lowers a group whose tensors are in row-major order.
func groupOf(target template.Target, g *group.Graph, x *group.Group) (ir.Work, error) {
	var in, out []template.Operand
	for _, id := range x.Inputs {
		in = append(in, template.Operand{Type: g.Desc(id).DType, View: shape.Contiguous(g.Desc(id).Shape)})
	}
	for _, d := range x.Outputs {
		out = append(out, template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)})
	}
	return Group(target, g, x, in, out)
}

// example returns a sketch with one node of a primitive whose first operand has type d, and the outputs of the node. The outputs are nil
// if the row has no such node.
func example(code op.Code, d dtype.DType) (*sketch, []op.Desc) {
	b, row := newSketch(), op.Lookup(code)
	s := shape.Shape{3, 5}
	attrs := map[op.Code][]op.Attr{
		op.Full:       {op.ScalarInt("value", 1), op.Type("dtype", d), op.Dims("shape", s)},
		op.Iota:       {op.Type("dtype", d), op.Dims("shape", s)},
		op.RandomBits: {op.Int("seed", 1), op.Dims("shape", s), op.Type("dtype", d)},
		op.Reshape:    {op.Ints("shape", 15)}, op.Permute: {op.Ints("axes", 1, 0)}, op.Expand: {op.Ints("shape", 2, 3, 5)},
		op.Slice: {op.Ints("start", 2, 0), op.Ints("size", 3, 2), op.Ints("step", -1, 2)},
		op.Pad:   {op.Ints("lo", 1, 0), op.Ints("hi", 0, -1)}, op.Flip: {op.Ints("axes", 1)}, op.Concat: {op.Int("axis", 1)},
		op.Gather: {op.Int("axis", 0)}, op.Scatter: {op.Int("axis", 0)}, op.Cast: {op.Type("dtype", dtype.F32)},
		op.ArgMax: {op.Int("axis", 1)}, op.ArgMin: {op.Int("axis", 0)}, op.Sort: {op.Int("axis", 1)},
		op.CumSum: {op.Int("axis", 1)}, op.CumProd: {op.Int("axis", 0)}, op.CumMax: {op.Int("axis", 1)}, op.CumMin: {op.Int("axis", 0)},
		op.Sum: {op.Ints("axes", 1)}, op.Prod: {op.Ints("axes", 0)}, op.ReduceMax: {op.Ints("axes", 0, 1)}, op.ReduceMin: {op.Ints("axes", 1)},
		op.MatMul:       {op.Flag("transpose_b", true)},
		op.Conv:         {op.Ints("strides", 1), op.Ints("pad_lo", 1), op.Ints("pad_hi", 0), op.Ints("kernel_dilation", 1), op.Ints("input_dilation", 1)},
		op.WindowReduce: {op.Str("reduce", "sum"), op.Ints("window", 2), op.Ints("strides", 1), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("dilation", 1)},
	}[code]
	var in []op.Desc
	for i, o := range row.Operands {
		od, os := d, s
		switch {
		case code == op.Where && i > 0:
			od = dtype.F32
		case (code == op.Gather || code == op.Scatter) && i == 1:
			od, os = dtype.I32, shape.Shape{2}
		case code == op.Scatter && i == 2:
			os = shape.Shape{2, 5}
		case code == op.WindowReduce, code == op.Conv && i == 0:
			os = shape.Shape{1, 3, 5}
		case code == op.Conv:
			os = shape.Shape{4, 3, 2}
		}
		in = append(in, b.input(od, os...))
		if o.Variadic {
			in = append(in, b.input(od, os...))
		}
	}
	if _, err := op.New(code, in, attrs...); err != nil && len(row.Operands) == 0 {
		return b, nil // Iota and RandomBits do not have every type
	}
	return b, b.All(code, in, attrs...)
}

// TestClaims checks that every claimed op is native or decomposes into native ops.
func TestClaims(t *testing.T) {
	c := Capabilities(tiny)
	for _, code := range op.All() {
		row := op.Lookup(code)
		if row.Class == op.Custom {
			continue
		}
		claim, ok := c.Ops[row.Name]
		switch {
		case Native(code):
			require.True(t, ok, row.Name)
		case row.Class == op.Composite && leftToHost[code] == "":
			require.True(t, ok && op.HasDecomposition(code), row.Name)
		default:
			require.False(t, ok, row.Name)
			continue
		}
		require.Equal(t, row.Version, claim.Version)
		require.Len(t, claim.Operands, len(row.Operands))
	}
	for code, reason := range leftToHost {
		require.NotEmpty(t, reason)
		require.Equal(t, op.Composite, op.Lookup(code).Class, "%v: a device has to have every primitive", code)
	}
}

// TestFewTypes checks that the claims of a device omit types that it cannot compute with, and keep them for ops that only move elements.
func TestFewTypes(t *testing.T) {
	few := tiny
	few.Math = dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.I64, dtype.U64)
	c := Capabilities(few)
	require.False(t, c.Ops["add"].Operands[0].Has(dtype.F64))
	require.True(t, c.Ops["add"].Operands[0].Has(dtype.BF16), "computed in f32")
	require.True(t, c.Ops["permute"].Operands[0].Has(dtype.F64), "moved")
	b := newSketch()
	x := b.input(dtype.F64, 3)
	b.Do(op.Add, x, x)
	require.NoError(t, b.Err())
	require.ErrorIs(t, Supports(few, &b.Nodes[0], []op.Desc{x, x}), core.ErrUnsupported)
	require.NoError(t, Supports(tiny, &b.Nodes[0], []op.Desc{x, x}))
}
