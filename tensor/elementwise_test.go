package tensor_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/tensor"
)

// elementwiseMethod returns the elementwise op of one float operand, without attributes, that has the name of a method without
// arguments.
func elementwiseMethod(m reflect.Method) (op.Code, bool) {
	if t := m.Type; t.NumIn() != 1 || t.NumOut() != 1 || t.Out(0) != reflect.TypeFor[tt]() {
		return op.NoOp, false
	}
	for _, c := range op.All() {
		row := op.Lookup(c)
		if strings.EqualFold(strings.ReplaceAll(row.Name, "_", ""), m.Name) {
			return c, row.Class != op.Custom && row.Traits.Has(op.Elementwise) && len(row.Attrs) == 0 && len(row.Operands) == 1 && row.Operands[0].Types.Has(dtype.F64)
		}
	}
	return op.NoOp, false
}

// A method with the name of an elementwise op without attributes computes that op.
func TestElementwiseMethods(t *testing.T) {
	d := open(t)
	typ, tested := reflect.TypeFor[tt](), 0
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		c, ok := elementwiseMethod(m)
		if !ok {
			continue
		}
		tested++
		t.Run(m.Name, func(t *testing.T) {
			lo, hi := -3.0, 3.0
			if dom := op.Lookup(c).Domain; len(dom) > 0 && dom[0].Lo != dom[0].Hi {
				lo, hi = dom[0].Lo, dom[0].Hi
			}
			r, x := rand.New(rand.NewPCG(1, uint64(i))), make([]float64, 40)
			for k := range x {
				x[k] = lo + (hi-lo)*r.Float64()
			}
			n, err := op.New(c, []op.Desc{op.DescOf(dtype.F64, 5, 8)})
			require.NoError(t, err)
			want, err := ref.Eval(&n, []ref.Tensor{{Desc: op.DescOf(dtype.F64, 5, 8), F: x}})
			require.NoError(t, err)
			got := m.Func.Call([]reflect.Value{reflect.ValueOf(tensor.From(d, x, 5, 8))})[0].Interface().(tt)
			require.Equal(t, want[0].Desc.DType, got.DType())
			b, err := got.Bytes(ctx)
			require.NoError(t, err)
			for k, g := range tensor.Float64s(got.DType(), b) {
				if want[0].F == nil {
					require.EqualValues(t, want[0].I[k], g)
					continue
				}
				require.InDelta(t, want[0].F[k], g, 1e-12*max(1, math.Abs(want[0].F[k])))
			}
		})
	}
	require.Greater(t, tested, 40)
}
