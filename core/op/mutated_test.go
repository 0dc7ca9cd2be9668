package op_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// legalNodes returns legal nodes of every op and their operands: samples, inferences and some primitives.
func legalNodes(t *testing.T) (nodes []op.Node, operands [][]op.Desc) {
	add := func(c op.Code, in []op.Desc, attrs []op.Attr) {
		n, err := op.New(c, in, attrs...)
		require.NoError(t, err, "%v of %v", c, in)
		nodes, operands = append(nodes, n), append(operands, in)
	}
	for _, s := range allSamples() {
		d := dtype.F32
		if row := op.Lookup(s.op); len(row.Operands) > 0 {
			d = plainType(row.Operands[0])
		}
		if s, ok := s.retyped(d); ok {
			add(s.op, s.in, s.attrs)
		}
	}
	for _, i := range inferences {
		add(i.op, i.in, i.attrs)
	}
	dims := op.Ints("shape", 2, 3)
	for _, s := range []sample{
		{op.Full, nil, with(op.ScalarInt("value", 1), op.Type("dtype", dtype.U8), dims)}, {op.Iota, nil, with(op.Type("dtype", dtype.I32), dims, op.Int("axis", 1))},
		{op.RandomBits, nil, with(op.Int("seed", 1), dims)}, {op.Reshape, ins(f(6)), with(dims)}, {op.Permute, ins(f(2, 3)), with(op.Ints("axes", 1, 0))}, {op.Expand, ins(f(3)), with(dims)},
		{op.Slice, ins(f(5)), with(op.Ints("start", 1), op.Ints("size", 2), op.Ints("step", 2))}, {op.Pad, ins(f(5)), with(op.Ints("lo", 1), op.Ints("hi", -2))}, {op.Flip, ins(f(5)), with(op.Ints("axes", 0))},
		{op.Concat, ins(f(5), f(2), f(0)), axis(0)}, {op.Gather, ins(f(5, 2), i(3)), axis(0)}, {op.Scatter, ins(f(5, 2), i(3), f(3, 2)), axis(0)}, {op.Cast, ins(f(5)), with(op.Type("dtype", dtype.I8))},
		{op.Sort, ins(f(5)), axis(0)}, {op.MatMul, ins(f(2, 3), f(3, 4)), nil}, {op.Conv, ins(f(1, 2, 5), f(3, 2, 2)), conv(1, 1, 0)}, {op.WindowReduce, ins(f(5)), window(1, []int{2}, maxed)},
		{op.ArgMax, ins(f(2, 3)), axis(1)}, {op.ArgMin, ins(f(2, 3)), axis(1)},
	} {
		add(s.op, s.in, s.attrs)
	}
	for _, c := range []op.Code{op.Sum, op.Prod, op.ReduceMax, op.ReduceMin} {
		add(c, ins(f(2, 3)), with(axes(0)))
	}
	for _, c := range []op.Code{op.CumSum, op.CumProd, op.CumMax, op.CumMin} {
		add(c, ins(f(2, 3)), axis(1))
	}
	for _, c := range builtin() { // the rest: primitives of plain operands
		if row := op.Lookup(c); row.Class == op.Primitive && len(row.Attrs) == 0 {
			var in []op.Desc
			for _, o := range row.Operands {
				d := op.DescOf(plainType(o), 2, 2)
				if o.SameAs > 0 {
					d.DType = in[o.SameAs-1].DType
				}
				in = append(in, d)
			}
			add(c, in, nil)
		}
	}
	return nodes, operands
}

// wellWorded checks the properties that every error of a node has: the op, its operands, a sentinel error, and a text of one line in lower
// case that begins with the op.
func wellWorded(t *testing.T, err error, c op.Code, in []op.Desc, is error) *op.Error {
	t.Helper()
	var e *op.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, is, "%v", err)
	require.Equal(t, c.String(), e.Op)
	require.Equal(t, in, e.Inputs)
	require.True(t, strings.HasPrefix(err.Error(), c.String()+": "), "%v", err)
	require.NotContains(t, err.Error(), "\n")
	first := []rune(strings.TrimPrefix(err.Error(), c.String()+": "))[0]
	require.False(t, unicode.IsUpper(first) && !strings.Contains(err.Error(), ": C is"), "%v", err)
	return e
}

// New finds a faulty attribute of an otherwise legal node and names it: an attribute that is missing, given twice, of another kind or
// unknown, or a word that is not in its list.
func TestMutatedAttributes(t *testing.T) {
	covered := map[op.Code]bool{}
	nodes, operands := legalNodes(t)
	for k, n := range nodes {
		covered[n.Op] = true
		row, in := op.Lookup(n.Op), operands[k]
		refused := func(what, name string, attrs ...op.Attr) {
			t.Helper()
			_, err := op.New(n.Op, in, attrs...)
			require.Error(t, err, "%v: %s", n.Op, what)
			e := wellWorded(t, err, n.Op, in, op.ErrAttr)
			require.Contains(t, e.Msg, name, "%v: %s", n.Op, what)
		}
		refused("unknown", `"no_such"`, append(slices.Clone(n.Attrs), op.Int("no_such", 1))...)
		for i, a := range row.Attrs {
			others := slices.Delete(slices.Clone(n.Attrs), i, i+1)
			if a.Default.Kind() == 0 {
				refused("missing", `"`+a.Name+`"`, others...)
			} else {
				left, err := op.New(n.Op, in, others...)
				if err == nil { // the default may not fit these operands
					require.True(t, left.Attrs[i].Value.Equal(a.Default), "%v: the default of %s", n.Op, a.Name)
				}
			}
			refused("twice", "given twice", append(slices.Clone(n.Attrs), n.Attrs[i])...)
			for _, wrong := range with(op.Int(a.Name, 1), op.Float(a.Name, 1), op.Flag(a.Name, true), op.Str(a.Name, "x"), op.Type(a.Name, dtype.F32), op.Ints(a.Name, 1), op.Floats(a.Name, 1), op.ScalarInt(a.Name, 1)) {
				if wrong.Value.Kind() != a.Kind {
					refused("kind", `"`+a.Name+`" is `+wrong.Value.Kind().String()+", want "+a.Kind.String(), append(slices.Clone(others), wrong)...)
				}
			}
			if len(a.OneOf) > 0 {
				refused("word", `"`+a.Name+`" is "no such word", want one of `, append(slices.Clone(others), op.Str(a.Name, "no such word"))...)
			}
			if a.Kind == op.KindDType {
				refused("type", `"`+a.Name+`" is `, append(slices.Clone(others), op.Type(a.Name, dtype.DType(200)))...)
			}
		}
		if len(n.Attrs) > 1 { // Check requires the order of the row
			swapped := n
			swapped.Attrs = append(op.Attrs{n.Attrs[1], n.Attrs[0]}, n.Attrs[2:]...)
			wellWorded(t, op.Check(&swapped, in), n.Op, in, op.ErrAttr)
		}
	}
	for _, c := range builtin() {
		if len(op.Lookup(c).Attrs) > 0 {
			require.True(t, covered[c], "no node of %v", c)
		}
	}
}

// New refuses operands of a wrong number or type, and Check refuses nodes with wrong outputs or versions.
func TestMutatedOperands(t *testing.T) {
	nodes, operands := legalNodes(t)
	for k, n := range nodes {
		row, in := op.Lookup(n.Op), operands[k]
		least, greatest := row.Arity()
		if least > 0 {
			few := in[:least-1]
			_, err := op.New(n.Op, few, n.Attrs...)
			require.Contains(t, wellWorded(t, err, n.Op, few, op.ErrShape).Msg, " inputs, want ")
		}
		if greatest >= 0 {
			many := slices.Clone(in)
			for len(many) <= greatest {
				many = append(many, f(1))
			}
			_, err := op.New(n.Op, many, n.Attrs...)
			require.Contains(t, wellWorded(t, err, n.Op, many, op.ErrShape).Msg, " inputs, want ")
		}
		for i := range in {
			o := row.Operands[min(i, len(row.Operands)-1)]
			for _, d := range append(dtype.All(), dtype.Invalid, dtype.DType(99)) {
				if d.Valid() && o.Types.Has(d) {
					continue
				}
				other := slices.Clone(in)
				other[i].DType = d
				_, err := op.New(n.Op, other, n.Attrs...)
				require.Contains(t, wellWorded(t, err, n.Op, other, op.ErrDType).Msg, o.Name+" is ", "%v", err)
			}
		}
		require.NoError(t, op.Check(&n, in))
		for i, d := range n.Outputs {
			for _, wrong := range []op.Desc{{DType: d.DType, Shape: append(d.Shape.Clone(), 1)}, {DType: d.DType, Shape: append(shape.Of(7), d.Shape...)}, {DType: d.DType%3 + 1, Shape: d.Shape}} {
				if wrong.SameType(d) {
					continue
				}
				claimed := n
				claimed.Outputs = slices.Clone(n.Outputs)
				claimed.Outputs[i] = wrong
				require.Contains(t, wellWorded(t, op.Check(&claimed, in), n.Op, in, op.ErrShape).Msg, "output ", "%v", n.Op)
			}
		}
		more := n
		more.Outputs = append(slices.Clone(n.Outputs), f())
		require.Contains(t, wellWorded(t, op.Check(&more, in), n.Op, in, op.ErrShape).Msg, " outputs, want ")
		old := n
		old.Version++
		require.Contains(t, wellWorded(t, op.Check(&old, in), n.Op, in, op.ErrUnsupported).Msg, "version ")
	}
}

// Inference is pure: it changes neither operands nor attributes, and returns the same again.
func TestInferenceIsPure(t *testing.T) {
	nodes, operands := legalNodes(t)
	for k, n := range nodes {
		in := make([]op.Desc, len(operands[k]))
		for i, d := range operands[k] {
			in[i] = op.Desc{ID: d.ID, DType: d.DType, Shape: d.Shape.Clone()}
		}
		attrs := slices.Clone(n.Attrs)
		for range 2 {
			again, err := op.New(n.Op, in, attrs...)
			require.NoError(t, err)
			require.Len(t, again.Outputs, len(n.Outputs))
			for i := range n.Outputs {
				require.True(t, again.Outputs[i].SameType(n.Outputs[i]), "%v", n.Op)
				require.NoError(t, again.Outputs[i].Shape.Check())
				require.True(t, again.Outputs[i].DType.Valid())
			}
		}
		for i, d := range operands[k] {
			require.True(t, d.SameType(in[i]), "%v changed operand %d to %v", n.Op, i, in[i])
		}
		require.True(t, n.Attrs.Equal(attrs))
	}
}
