package ref_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// goldenTensor is a tensor of testdata/golden*.json. Its data are numbers, or strings for values that JSON numbers cannot represent.
type goldenTensor struct {
	DType string
	Shape []int
	Data  []json.RawMessage
}

func (g goldenTensor) tensor(t *testing.T) ref.Tensor {
	d, err := dtype.Parse(g.DType)
	require.NoError(t, err)
	out := ref.Zeros(op.Desc{DType: d, Shape: g.Shape})
	require.Len(t, g.Data, out.Desc.Shape.Size())
	for i, raw := range g.Data {
		s := string(raw)
		if s[0] == '"' {
			require.NoError(t, json.Unmarshal(raw, &s))
		}
		switch {
		case out.F != nil:
			out.F[i], err = strconv.ParseFloat(s, 64)
		case d == dtype.U64:
			var u uint64
			u, err = strconv.ParseUint(s, 10, 64)
			out.I[i] = int64(u)
		default:
			out.I[i], err = strconv.ParseInt(s, 10, 64)
		}
		require.NoError(t, err)
	}
	return out
}

// attributes converts JSON values to the kinds of the row's schema.
func attributes(t *testing.T, row *op.Row, values map[string]any) []op.Attr {
	var attrs []op.Attr
	for name, v := range values {
		i := 0
		for i < len(row.Attrs) && row.Attrs[i].Name != name {
			i++
		}
		require.Less(t, i, len(row.Attrs), "%s has no attribute %s", row.Name, name)
		var list []int
		var floats []float64
		if l, ok := v.([]any); ok {
			for _, e := range l {
				list, floats = append(list, int(e.(float64))), append(floats, e.(float64))
			}
		}
		switch row.Attrs[i].Kind {
		case op.KindInt:
			attrs = append(attrs, op.Int(name, int(v.(float64))))
		case op.KindFloat:
			f, ok := v.(float64)
			if !ok { // a string, for values that JSON numbers cannot represent
				var err error
				f, err = strconv.ParseFloat(v.(string), 64)
				require.NoError(t, err)
			}
			attrs = append(attrs, op.Float(name, f))
		case op.KindBool:
			attrs = append(attrs, op.Flag(name, v.(bool)))
		case op.KindString:
			attrs = append(attrs, op.Str(name, v.(string)))
		case op.KindFloats:
			attrs = append(attrs, op.Floats(name, floats...))
		case op.KindInts:
			attrs = append(attrs, op.Ints(name, list...))
		case op.KindScalar:
			attrs = append(attrs, op.ScalarFloat(name, v.(float64)))
		case op.KindDType:
			d, err := dtype.Parse(v.(string))
			require.NoError(t, err)
			attrs = append(attrs, op.Type(name, d))
		}
	}
	return attrs
}

// The reference agrees with golden results that other programs computed. Results in other types than f64 agree to the precision of f32.
func TestGolden(t *testing.T) {
	type goldenCase struct {
		Op              string
		Attrs           map[string]any
		Inputs, Outputs []goldenTensor
	}
	files, err := filepath.Glob("testdata/golden*.json")
	require.NoError(t, err)
	var cases []goldenCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		var l []goldenCase
		require.NoError(t, json.Unmarshal(data, &l))
		cases = append(cases, l...)
	}
	seen := map[string]bool{}
	for i, c := range cases {
		seen[c.Op] = true
		t.Run(fmt.Sprintf("%03d-%s", i, c.Op), func(t *testing.T) {
			code, ok := op.ByName(c.Op)
			require.True(t, ok)
			var in []ref.Tensor
			var descs []op.Desc
			for _, g := range c.Inputs {
				in = append(in, g.tensor(t))
				descs = append(descs, in[len(in)-1].Desc)
			}
			n, err := op.New(code, descs, attributes(t, op.Lookup(code), c.Attrs)...)
			require.NoError(t, err)
			got, err := ref.Eval(&n, in)
			require.NoError(t, err)
			require.Len(t, got, len(c.Outputs))
			for k, g := range c.Outputs {
				want := g.tensor(t)
				require.True(t, want.Desc.SameType(got[k].Desc), "%v, want %v", got[k].Desc, want.Desc)
				require.Equal(t, want.I, got[k].I)
				tolerance := 1e-14
				if want.Desc.DType != dtype.F64 {
					tolerance = 3e-6
				}
				for e := range want.F {
					requireClose(t, want.F[e], got[k].F[e], tolerance, "output %d, element %d", k, e)
				}
			}
		})
	}
	for _, c := range op.All() {
		row := op.Lookup(c)
		switch {
		case c == op.RandomBits || c == op.RandomBitsAt: // TestPhilox, TestRandomBits and TestRandomBitsAt
		case row.Class == op.Composite && row.Traits.Has(op.Elementwise): // core/op compares it with its decomposition into ops that have golden results
		default:
			require.True(t, seen[c.String()], "no golden for %v", c)
		}
	}
}

// requireClose requires that got differs from want by at most tolerance, relative to want where its magnitude exceeds 1. NaN and
// infinities must be equal, and so must zeros if tolerance is below 1e-10.
func requireClose(t *testing.T, want, got, tolerance float64, msg ...any) {
	if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 && tolerance < 1e-10 {
		if !(math.IsNaN(want) && math.IsNaN(got)) {
			require.Equal(t, want, got, msg...)
		}
		return
	}
	require.LessOrEqual(t, math.Abs(want-got), tolerance*max(1, math.Abs(want)), msg...)
}
