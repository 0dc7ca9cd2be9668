package op_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func bodyOf(text string, results ...int) []op.Attr {
	return with(op.Str("body", text), op.Ints("results", results...))
}

func init() {
	fused := func(constraint, text string, is error, results ...int) violation {
		return violation{op.Fused, constraint, ins(f(2, 3), f(3)), bodyOf(text, results...), is}
	}
	violations = append(violations, []violation{
		fused("C1", "", op.ErrUnsupported, 2), fused("C1", "add(0, 1)", op.ErrAttr, 2), fused("C1", "add(0,1);", op.ErrUnsupported, 2), fused("C1", "add@1(0,1)", op.ErrUnsupported, 2), fused("C1", "add@2(0,1)", op.ErrUnsupported, 2),
		fused("C1", "nosuch(0)", op.ErrUnsupported, 2), fused("C1", "sum(0){axes=[1],keep_dims=false}", op.ErrAttr, 2), fused("C1", "sum(0){keep_dims=true,axes=[1]}", op.ErrAttr, 2), fused("C1", "sum(0)", op.ErrAttr, 2),
		fused("C1", "gelu(0){approximate=tanh}", op.ErrAttr, 2), fused("C1", "gelu(0){mode=1}", op.ErrAttr, 2), fused("C1", "add(00,1)", op.ErrAttr, 2), fused("C1", "add(0,1", op.ErrAttr, 2), fused("C1", "elu(0){alpha=2}", op.ErrAttr, 2),
		fused("C2", "softmax(0){axis=1}", op.ErrAttr, 2), fused("C2", "sum(0){axes=[1]};neg(2)", op.ErrAttr, 3), fused("C2", "full(){value=1,dtype=f32,shape=[3]};add(0,2)", op.ErrAttr, 3), fused("C2", "fused(0){body=\"neg(0)\",results=[1]}", op.ErrAttr, 2),
		fused("C3", "add(0,2)", op.ErrAttr, 2), fused("C3", "add(0,-1)", op.ErrAttr, 2), fused("C4", "sum(0){axes=[2]}", op.ErrShape, 2), fused("C4", "and(0,1)", op.ErrDType, 2), fused("C4", "add(0)", op.ErrShape, 2),
		fused("C5", "neg(0)", op.ErrAttr), fused("C5", "neg(0)", op.ErrAttr, 0), fused("C5", "neg(0)", op.ErrAttr, 3), fused("C5", "neg(0)", op.ErrAttr, 2, 2),
	}...)
	samples = append(samples, []sample{
		{op.Fused, ins(f(3, 4), f(4)), bodyOf("mul(0,1);max(2,0);sum(3){axes=[0]}", 4, 3)}, {op.Fused, ins(f(3)), bodyOf("greater(0,0);where(1,0,0)", 1, 2)},
	}...)
	inferences = append(inferences, []inference{
		{op.Fused, ins(b(2, 1), f(3), f(3)), bodyOf("where(0,1,2);is_nan(3);sum(3){axes=[1]}", 5, 4), ins(f(2), b(2, 3))},
		{op.Fused, ins(i(2)), bodyOf("cast(0){dtype=f16};mean(1){axes=[0],keep_dims=true}", 2), ins(op.DescOf(dtype.F16, 1))},
	}...)
}

// Every value survives the way through text.
func TestBodyRoundTrip(t *testing.T) {
	for _, text := range []string{
		"clamp(0){min=-1,max=1}", "clamp(0){min=-1.0,max=1e+300}", "clamp(0){max=NaN}", "elu(0){alpha=0.1}", "elu(0){alpha=2.0}", "elu(0){alpha=-0.0}", "is_inf(0){positive=false}",
		"full(){value=-9223372036854775808,dtype=i64,shape=[]}", "quantile(0){q=[0.5,1.0],axes=[],interpolation=\"nearest\"}", "add(0,1);mul(2,0)",
	} {
		l, err := op.ParseBody(text)
		require.NoError(t, err, text)
		require.Equal(t, text, op.FormatBody(l))
	}
	l, err := op.ParseBody("clamp(0){min=1.0}")
	require.NoError(t, err)
	require.True(t, l[0].Attrs.Equal(op.Attrs{op.ScalarFloat("min", 1), op.ScalarFloat("max", math.Inf(1))}), "a float stays one")
}

func TestFuse(t *testing.T) {
	x, y := f(2, 3), f(3)
	x.ID, y.ID = 1, 2
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	sum := b.Do(op.Add, x, y)
	act := b.Un(op.Elu, sum, op.Float("alpha", 2))
	all := b.Reduce(op.Sum, act, false, 0)
	require.NoError(t, b.Err())
	n, err := op.Fuse(b.Nodes, ins(x, y), []op.TensorID{all.ID, act.ID})
	require.NoError(t, err)
	require.Equal(t, "add(0,1);elu(2){alpha=2.0};sum(3){axes=[0]}", n.Attrs.Str("body"))
	require.Equal(t, []int{4, 3}, n.Attrs.Ints("results"))
	require.Equal(t, []op.TensorID{1, 2}, n.Inputs)
	require.NoError(t, op.Check(&n, ins(x, y)))
	_, err = op.Fuse(b.Nodes[1:], ins(x, y), []op.TensorID{all.ID})
	require.ErrorIs(t, err, op.ErrAttr, "an operand from outside")
	_, err = op.Fuse(b.Nodes, ins(x, y), []op.TensorID{99})
	require.ErrorIs(t, err, op.ErrAttr)
}

// Bodies come from files and peers: whatever they hold, parsing gives statements that print as they were, or an error.
func FuzzBody(f *testing.F) {
	f.Add("mul(0,0);sum(1){axes=[1]}")
	f.Add("clamp(0){min=-1,max=NaN}")
	f.Add("gelu(0){approximate=\"tanh\"}")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := op.ParseBody(text)
		if err == nil && op.FormatBody(l) != text {
			t.Fatalf("%q prints as %q", text, op.FormatBody(l))
		}
		x := op.DescOf(dtype.F32, 2, 3)
		if _, err := op.New(op.Fused, []op.Desc{x, x}, op.Str("body", text), op.Ints("results", 2)); err != nil {
			if _, ok := err.(*op.Error); !ok {
				t.Fatalf("error is no *op.Error: %v", err)
			}
		}
	})
}
