package dtype

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected values come from the Python package ml_dtypes; testdata/small.py generates them.
func TestSmallFloats(t *testing.T) {
	b, err := os.ReadFile("testdata/small.json")
	require.NoError(t, err)
	var golden map[string]struct {
		Decode, Numbers []string
		Encode          []int
	}
	require.NoError(t, json.Unmarshal(b, &golden))
	require.Len(t, golden, len(SmallFloats.List()))
	for name, g := range golden {
		d, err := Parse(name)
		require.NoError(t, err)
		got := make([]float32, 1)
		for i, text := range g.Decode {
			want, err := strconv.ParseFloat(text, 32)
			require.NoError(t, err)
			FromSmall(d, []byte{byte(i)}, got)
			if want != want {
				require.True(t, got[0] != got[0], "%s: %#x is %v, want NaN", name, i, got[0])
				continue
			}
			require.Equal(t, float32(want), got[0], "%s: %#x", name, i)
			require.Equal(t, math.Signbit(want), math.Signbit(float64(got[0])), "%s: %#x", name, i)
		}
		for i, text := range g.Numbers {
			f, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			if d == F8E8M0 && f == 0 {
				continue // NaN in ml_dtypes, the least power of two in ONNX and ToSmall
			}
			code := ToSmall(d, f, false)
			FromSmall(d, []byte{code}, got)
			if f != f && d != F4E2M1 {
				require.True(t, got[0] != got[0])
				continue
			}
			require.Equal(t, byte(g.Encode[i]), code, "%s: %v", name, f)
		}
	}
}

func TestSmallSaturates(t *testing.T) {
	for d, most := range map[DType]float32{F8E4M3FN: 448, F8E5M2: 57344, F8E4M3FNUZ: 240, F8E5M2FNUZ: 57344, F4E2M1: 6} {
		v := make([]float32, 3)
		FromSmall(d, []byte{ToSmall(d, 1e9, true), ToSmall(d, math.Inf(-1), true), ToSmall(d, -1e9, true)}, v)
		require.Equal(t, []float32{most, -most, -most}, v, d.String())
	}
}

func TestSmallInts(t *testing.T) {
	v := make([]float32, 1)
	for _, c := range []struct {
		d    DType
		f    float64
		want float32
	}{{I4, 7.9, 7}, {I4, 8, -8}, {I4, -9, 7}, {U4, 15, 15}, {U4, -1, 15}, {I2, 1, 1}, {I2, 2, -2}, {U2, 5, 1}, {I4, math.NaN(), 0}} {
		FromSmall(c.d, []byte{ToSmall(c.d, c.f, true)}, v)
		require.Equal(t, c.want, v[0], "%v %v", c.d, c.f)
	}
}

func TestStorageTypesHaveNamesAndNoArithmetic(t *testing.T) {
	require.Len(t, Smalls.List(), 10)
	for _, d := range Smalls.List() {
		p, err := Parse(d.String())
		require.NoError(t, err)
		require.Equal(t, d, p)
		require.Equal(t, 1, d.Size())
		require.False(t, d.IsFloat() || d.IsInt() || Any.Has(d))
	}
}
