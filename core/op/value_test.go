package op_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Attributes print as error texts, documents and logs show them.
func TestAttrText(t *testing.T) {
	for want, a := range map[string]op.Attr{
		"-3": op.Int("a", -3), "0.1": op.Float("a", 0.1), "+Inf": op.Float("a", math.Inf(1)), "1e-05": op.Float("a", 1e-5), "true": op.Flag("a", true), "false": op.Flag("a", false),
		`"max"`: op.Str("a", "max"), `"a \"b\""`: op.Str("a", `a "b"`), "bf16": op.Type("a", dtype.BF16), "[1,-2]": op.Ints("a", 1, -2), "[]": op.Ints("a"), "[2,3]": op.Dims("a", shape.Of(2, 3)),
		"[0.5,2]": op.Floats("a", 0.5, 2), "-9223372036854775808": op.ScalarInt("a", math.MinInt64), "2.5": op.ScalarFloat("a", 2.5), "NaN": op.ScalarFloat("a", math.NaN()), "none": {Name: "a"},
	} {
		require.Equal(t, want, a.Value.String())
		require.Equal(t, "{a="+want+"}", op.Attrs{a}.String())
	}
	require.Equal(t, "{a=1 b=\"\"}", op.Attrs{op.Int("a", 1), op.Str("b", "")}.String())
	for k, want := range map[op.Kind]string{op.KindInt: "int", op.KindFloat: "float", op.KindBool: "bool", op.KindString: "string", op.KindDType: "dtype", op.KindInts: "ints", op.KindFloats: "floats",
		op.KindScalar: "scalar", 0: "kind(0)", 9: "kind(9)", 255: "kind(255)"} {
		require.Equal(t, want, k.String())
	}
}

// Values are equal if their kinds and bits are equal: no two of these are, and each equals itself, also NaN.
func TestValueEqual(t *testing.T) {
	all := []op.Attr{
		{}, op.Int("", 0), op.Int("", 1), op.Float("", 0), op.Float("", math.Copysign(0, -1)), op.Float("", math.NaN()), op.Flag("", false), op.Flag("", true), op.Str("", ""), op.Str("", "a"),
		op.Type("", dtype.F32), op.Type("", dtype.F64), op.Ints(""), op.Ints("", 0), op.Ints("", 0, 0), op.Ints("", 1), op.Floats(""), op.Floats("", 0), op.Floats("", math.NaN()),
		op.Floats("", math.Copysign(0, -1)), op.ScalarInt("", 0), op.ScalarFloat("", 0), op.ScalarInt("", 1), op.ScalarFloat("", 1),
	}
	for i, a := range all {
		for j, b := range all {
			require.Equal(t, i == j, a.Value.Equal(b.Value), "%v %v and %v %v", a.Value.Kind(), a.Value, b.Value.Kind(), b.Value)
			require.Equal(t, i == j, op.Attrs{a}.Equal(op.Attrs{b}))
		}
	}
	require.False(t, op.Attrs{op.Int("a", 1)}.Equal(op.Attrs{op.Int("b", 1)}), "names count")
	require.False(t, op.Attrs{op.Int("a", 1)}.Equal(op.Attrs{op.Int("a", 1), op.Int("b", 1)}))
	require.False(t, op.Attrs{op.Int("a", 1), op.Int("b", 1)}.Equal(op.Attrs{op.Int("b", 1), op.Int("a", 1)}), "the order counts")
	require.True(t, op.Attrs(nil).Equal(op.Attrs{}))
}

// Getters convert single numbers of a scalar, and return the zero value for a name that is absent.
func TestAttrGetters(t *testing.T) {
	a := op.Attrs{op.Int("i", -7), op.Float("f", 1.5), op.Flag("b", true), op.Str("s", "x"), op.Type("d", dtype.U8), op.Ints("is", 3, 4), op.Floats("fs", 0.5), op.ScalarInt("si", -2), op.ScalarFloat("sf", -2.75)}
	require.Equal(t, []any{-7, 1.5, true, "x", dtype.U8, []int{3, 4}, []float64{0.5}}, []any{a.Int("i"), a.Float("f"), a.Bool("b"), a.Str("s"), a.DType("d"), a.Ints("is"), a.Floats("fs")})
	require.Equal(t, []any{-2, -2.0, -2, -2.75}, []any{a.Int("si"), a.Float("si"), a.Int("sf"), a.Float("sf")}, "towards zero")
	require.Equal(t, []any{0, 0.0, false, "", dtype.Invalid}, []any{a.Int("x"), a.Float("x"), a.Bool("x"), a.Str("x"), a.DType("x")})
	require.Nil(t, a.Ints("x"))
	require.Nil(t, a.Floats("x"))
	v, ok := a.Get("x")
	require.False(t, ok)
	require.Zero(t, v.Kind())
	bits, whole := a.Value("si").Bits()
	require.Equal(t, uint64(math.MaxUint64-1), bits)
	require.True(t, whole)
	_, whole = a.Value("i").Bits()
	require.False(t, whole, "only a scalar records whether it was given as an integer")
	require.False(t, op.NumberValue(op.KindInt, 1, true).Equal(op.ScalarInt("", 1).Value))
	require.True(t, op.NumberValue(op.KindInt, 1, true).Equal(op.Int("", 1).Value))
}

func TestNodeText(t *testing.T) {
	n := op.Node{Op: op.Sort, Inputs: []op.TensorID{3, op.NewTensorID(2, 9), 3}, Outputs: []op.Desc{{ID: 4, DType: dtype.F32, Shape: shape.Of(2, 0)}, {ID: 5, DType: dtype.I64}}}
	require.Equal(t, "t4 f32[2,0], t5 i64[] = sort(t3, t9/2, t3)", n.String())
	n.Drop = 1<<1 | 1<<2 | 1<<63 // bit 63 is beyond the inputs and is not shown
	n.Attrs = op.Attrs{op.Int("axis", 1)}
	require.Equal(t, "t4 f32[2,0], t5 i64[] = sort(t3, t9/2!, t3!) {axis=1}", n.String())
	require.Equal(t, uint64(1<<48-1), op.NewTensorID(1, math.MaxUint64).Sequence(), "a sequence never runs into the generation")
	require.Equal(t, uint16(1), op.NewTensorID(1, math.MaxUint64).Generation())
	require.Equal(t, 0, op.DescOf(dtype.F64, 3, 0).Bytes())
	require.Equal(t, 48, op.DescOf(dtype.F64, 3, 2).Bytes())
	require.Equal(t, dtype.I64, (&op.Node{Outputs: ins(f(2))}).FirstType(ins(i(2), f(2))))
	require.Equal(t, dtype.F32, (&op.Node{Outputs: ins(f(2))}).FirstType(nil), "a creation has the type of its result")
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*op.Error{
		"add: bad (f32[2], i64[]) [C2]": {Op: "add", Inputs: ins(f(2), i()), Constraint: "C2", Msg: "bad", Err: op.ErrShape},
		"add: shape error":              {Op: "add", Err: op.ErrShape},
		"add: bad":                      {Op: "add", Msg: "bad"},
		"add: ":                         {Op: "add"},
	} {
		require.Equal(t, want, e.Error())
		require.Equal(t, e.Err, errors.Unwrap(e))
	}
	require.NotErrorIs(t, &op.Error{Op: "add", Err: op.ErrShape}, op.ErrAttr)
}

// An inference function of a custom op may return any error: it is wrapped with the op and its operands, and keeps its identity.
func TestForeignErrors(t *testing.T) {
	c := op.Register(op.Row{Name: "test.refuses", Version: 3, Doc: "nothing", Operands: []op.Operand{{Name: "x", Types: dtype.Any}, {Name: "more", Types: dtype.Any, SameAs: 1, Variadic: true}}, Results: []string{"y"},
		Infer: func(in []op.Desc, _ op.Attrs) ([]op.Desc, error) {
			if len(in) > 2 {
				return []op.Desc{op.DescOf(dtype.F32, -1)}, nil
			}
			return nil, shape.Of(-1).Check()
		}}, nil)
	_, err := op.New(c, ins(f(2), f()))
	require.ErrorIs(t, err, op.ErrShape)
	require.EqualError(t, err, "test.refuses: shape error: dimension 0 of [-1] is negative (f32[2], f32[])")
	_, err = op.New(c, ins(f(2), f(2), f(2)))
	require.ErrorIs(t, err, op.ErrShape)
	require.ErrorContains(t, err, "output 0: ")
	_, err = op.New(c, ins(f(2)))
	require.ErrorContains(t, err, "1 inputs, want 2 or more")
	_, err = op.New(c, ins(f(2), f(2), i(2)))
	require.ErrorContains(t, err, "more is i64, want f32 like more")
	_, err = op.New(c, ins(f(2), i(2)))
	require.ErrorContains(t, err, "more is i64, want f32 like x")
}
