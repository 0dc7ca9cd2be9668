package tensor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// value is a tensor of testdata/fixtures.json; its elements are numbers, bools, or "nan", "inf" and "-inf".
type value struct {
	DType string
	Shape shape.Shape
	Data  []any
}

func (v value) floats() []float64 {
	out := make([]float64, len(v.Data))
	for i, x := range v.Data {
		switch x := x.(type) {
		case float64:
			out[i] = x
		case bool:
			if x {
				out[i] = 1
			}
		default:
			out[i] = map[any]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[x]
		}
	}
	return out
}

func (v value) tensor(t *testing.T, d *tensor.Device) *tensor.Tensor {
	dt, err := dtype.Parse(v.DType)
	require.NoError(t, err)
	return tensor.From(d, v.floats(), append([]int{}, v.Shape...)...).Cast(dt)
}

// fixtures holds cases; In and Out are indices of Values.
type fixtures struct {
	Cases []struct {
		Name    string
		In, Out []int
	}
	Values []value
}

func load(t *testing.T) (f fixtures) {
	b, err := os.ReadFile("testdata/fixtures.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &f))
	require.NotEmpty(t, f.Cases)
	return f
}

// call computes a method's results from a case's inputs.
type call func(t *testing.T, d *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor

type (
	ts = []*tensor.Tensor
	tt = *tensor.Tensor
)

func calls(t *testing.T) map[string]call {
	all := map[string]call{}
	for _, m := range []map[string]call{elementCalls, shapeCalls, reduceCalls, layerCalls, transformCalls} {
		for name, c := range m {
			require.NotContains(t, all, name)
			all[name] = c
		}
	}
	return all
}

// tolerance returns the tolerance of a float type, relative to one plus the expected magnitude. Except for approximations, results in f64
// differ from PyTorch's only by rounding.
func tolerance(dt dtype.DType) float64 {
	if dt == dtype.F32 {
		return 1e-6
	}
	return 2e-10
}

// TestFixtures compares every method with values from PyTorch or NumPy, and checks that every case has a call and every call a
// case.
func TestFixtures(t *testing.T) {
	d := open(t)
	all := calls(t)
	seen := map[string]bool{}
	file := load(t)
	for _, f := range file.Cases {
		seen[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			c, ok := all[f.Name]
			require.True(t, ok, "a case without a call")
			in := make(ts, len(f.In))
			for i, v := range f.In {
				in[i] = file.Values[v].tensor(t, d)
			}
			var outs ts
			require.NoError(t, tensor.Try(func() { outs = c(t, d, in) }))
			require.Len(t, outs, len(f.Out))
			for i, o := range outs {
				compare(t, file.Values[f.Out[i]], o)
			}
		})
	}
	for name := range all {
		require.True(t, seen[name], "%s: a call without a case", name)
	}
}

func compare(t *testing.T, want value, got tt) {
	t.Helper()
	require.Equal(t, want.DType, got.DType().String())
	require.Equal(t, fmt.Sprint(want.Shape), fmt.Sprint(got.Shape()))
	b, err := got.Bytes(ctx)
	require.NoError(t, err)
	g, w := tensor.Float64s(got.DType(), b), want.floats()
	eps := 0.0
	if got.DType().IsFloat() {
		eps = tolerance(got.DType())
	}
	for i := range w {
		if math.IsNaN(w[i]) && math.IsNaN(g[i]) || w[i] == g[i] || math.Abs(g[i]-w[i]) <= eps*(1+math.Abs(w[i])) {
			continue
		}
		t.Fatalf("element %d of %v: got %v, want %v", i, want.Shape, g[i], w[i])
	}
}

// elsewhere lists exported methods of Tensor that have separate tests.
var elsewhere = map[string]string{
	"Shape": "handle", "DType": "handle", "Rank": "handle", "Size": "handle", "Desc": "handle", "Device": "handle", "Release": "tensor_test",
	"Bytes": "read_test", "ReadInto": "read_test", "To": "read_test", "Float64": "read_test", "String": "format", "Format": "format",
	"AllClose": "read_test", "AllEqual": "read_test", "NMS": "read_test", "QuantizeDynamic": "read_test", "WriteCache": "cache_test",
	"Keep": "scope_test", "Known": "the tracer", "Tracked": "decorators/autodiff", "Hook": "decorators/autodiff", "In": "decorators/autodiff", "On": "queue_test", "Detach": "decorators/autodiff",
	"RequireGrad": "decorators/autodiff", "Backward": "decorators/autodiff",
	"Bernoulli": "random_test", "Multinomial": "random_test", "Dropout": "random_test", "UniformLike": "random_test", "NormalLike": "random_test",
}

// TestEveryMethodHasACase finds methods without tests.
func TestEveryMethodHasACase(t *testing.T) {
	all := calls(t)
	tested := map[string]bool{}
	for name := range all {
		method, _, _ := strings.Cut(name, "/")
		tested[method] = true
	}
	typ := reflect.TypeFor[tt]()
	var missing []string
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if _, ok := elementwiseMethod(typ.Method(i)); !ok && !tested[name] && elsewhere[name] == "" {
			missing = append(missing, name)
		}
		require.False(t, tested[name] && elsewhere[name] != "", "%s: a case and an exemption", name)
	}
	require.Empty(t, missing, "methods without a case")
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		_, ok := typ.MethodByName(name)
		require.True(t, ok, "%s: an exemption for no method", name)
	}
}

func one(f func(x ts) tt) call {
	return func(_ *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor { return ts{f(x)} }
}

func two(f func(x ts) (tt, tt)) call {
	return func(_ *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		a, b := f(x)
		return ts{a, b}
	}
}

func three(f func(x ts) (tt, tt, tt)) call {
	return func(_ *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor {
		a, b, c := f(x)
		return ts{a, b, c}
	}
}

func many(f func(x ts) ts) call {
	return func(_ *testing.T, _ *tensor.Device, x []*tensor.Tensor) []*tensor.Tensor { return f(x) }
}

func make1(f func(d *tensor.Device) tt) call {
	return func(_ *testing.T, d *tensor.Device, _ []*tensor.Tensor) []*tensor.Tensor { return ts{f(d)} }
}

func unary(f func(tt) tt) call    { return one(func(x ts) tt { return f(x[0]) }) }
func pair(f func(tt, tt) tt) call { return one(func(x ts) tt { return f(x[0], x[1]) }) }
