package nn_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

type tt = *tensor.Tensor

// fixture is a case of testdata/fixtures.json; its numbers are indices of values, -1 for none.
type fixture struct {
	Name                 string
	Params, Grads, After map[string]int
	In, Out, Seed, Grad  []int
}

type value struct {
	DType string
	Shape shape.Shape
	Data  []any
}

func (v value) floats(t *testing.T) []float64 {
	out := make([]float64, len(v.Data))
	for i, x := range v.Data {
		switch x := x.(type) {
		case float64:
			out[i] = x
		case bool:
			if x {
				out[i] = 1
			}
		case string:
			f, err := strconv.ParseFloat(x, 64)
			require.NoError(t, err)
			out[i] = f
		}
	}
	return out
}

func (v value) tensor(t *testing.T, d *tensor.Device) tt {
	dt, err := dtype.Parse(v.DType)
	require.NoError(t, err)
	return tensor.From(d, v.floats(t), append([]int{}, v.Shape...)...).Cast(dt)
}

// layer returns the module of a case, which may be nil, and the function to compare.
type layer func(d *tensor.Device) (m any, f func(x []tt) []tt)

// of returns a case of a layer with one input and one result.
func of[M nn.Module](f func(d *tensor.Device) M) layer {
	return func(d *tensor.Device) (any, func(x []tt) []tt) {
		m := f(d)
		return m, func(x []tt) []tt { return []tt{m.Forward(x[0])} }
	}
}

// plain returns a case of a layer without parameters.
func plain(m nn.Module) layer { return of(func(*tensor.Device) nn.Module { return m }) }

// loss returns a case of a function without parameters.
func loss(f func(x []tt) tt) layer {
	return func(*tensor.Device) (any, func(x []tt) []tt) { return nil, func(x []tt) []tt { return []tt{f(x)} } }
}

func with[M any](f func(d *tensor.Device) M, call func(m M, x []tt) []tt) layer {
	return func(d *tensor.Device) (any, func(x []tt) []tt) {
		m := f(d)
		return m, func(x []tt) []tt { return call(m, x) }
	}
}

// TestFixtures compares results, gradients of inputs and parameters, and running statistics, in f64.
func TestFixtures(t *testing.T) {
	b, err := os.ReadFile("testdata/fixtures.json")
	require.NoError(t, err)
	var file struct {
		Cases  []fixture
		Values []value
	}
	require.NoError(t, json.Unmarshal(b, &file))
	all := map[string]layer{}
	for _, m := range []map[string]layer{basicLayers, poolLayers, sequenceLayers, activationLayers, lossLayers} {
		for name, l := range m {
			require.NotContains(t, all, name)
			all[name] = l
		}
	}
	dev := open(t)
	var seen []string
	for _, c := range file.Cases {
		seen = append(seen, c.Name)
		t.Run(c.Name, func(t *testing.T) {
			l, ok := all[c.Name]
			require.True(t, ok, "no layer of this name")
			_, sequence := sequenceLayers[c.Name]
			for _, inference := range []bool{false, true} {
				if inference && !sequence { // other layers that compute differently have separate cases
					break
				}
				tensor.Scope(dev, func(d *tensor.Device) []tt {
					c.check(t, d, l, inference, func(i int) value { return file.Values[i] })
					return nil
				})
			}
		})
	}
	slices.Sort(seen)
	require.Equal(t, slices.Sorted(maps.Keys(all)), seen, "every layer has a fixture")
}

func (c fixture) check(t *testing.T, d *tensor.Device, l layer, inference bool, at func(int) value) {
	m, f := l(d)
	if m != nil {
		nn.Cast(m, dtype.F64)
		source := nn.Tensors{}
		for name, i := range c.Params {
			source[name] = at(i).tensor(t, d)
		}
		_, err := nn.LoadStateDict(t.Context(), m, source, nn.LoadOptions{})
		require.NoError(t, err)
		if inference {
			nn.Eval(m)
		}
	}
	var x []tt
	for k, i := range c.In {
		v := at(i).tensor(t, d)
		if c.Grad[k] >= 0 {
			v = v.RequireGrad()
		}
		x = append(x, v)
	}
	out := f(x)
	require.Len(t, out, len(c.Out))
	var seeds []tt
	for k, i := range c.Out {
		near(t, at(i), out[k], "result")
		seeds = append(seeds, at(c.Seed[k]).tensor(t, d))
	}
	grads, err := tensor.Backward(out, seeds)
	require.NoError(t, err)
	for k, i := range c.Grad {
		if i >= 0 {
			near(t, at(i), grads.Of(x[k]), "gradient of input "+strconv.Itoa(k))
		}
	}
	if m == nil {
		return
	}
	for _, p := range nn.Params(m) {
		if i, ok := c.Grads[p.Name]; ok {
			near(t, at(i), grads.Of(p.Value()), "gradient of "+p.Name)
		} else {
			require.Nil(t, grads.Of(p.Value()), "%s takes no part", p.Name)
		}
		if i, ok := c.After[p.Name]; ok {
			near(t, at(i), p.Value(), p.Name)
		}
	}
}

// near compares with a tolerance of 1e-7, relative and absolute: fixtures have 11 digits.
func near(t *testing.T, want value, got tt, what string) {
	t.Helper()
	require.NotNil(t, got, what)
	require.True(t, want.Shape.Equal(got.Shape()), "%s is %v, want %v", what, got.Shape(), want.Shape)
	v, err := tensor.Data[float64](t.Context(), got)
	require.NoError(t, err)
	for i, w := range want.floats(t) {
		if math.Abs(v[i]-w) > 1e-7*(1+math.Abs(w)) || math.IsNaN(v[i]) {
			require.Failf(t, "differs", "%s: element %d is %v, want %v", what, i, v[i], w)
		}
	}
}
