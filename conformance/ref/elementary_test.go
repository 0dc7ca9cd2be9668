package ref_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// The elementary functions in f64 differ by at most two units in the last place from values computed with 300 bits.
func TestElementary(t *testing.T) {
	f, err := os.Open("testdata/elementary.txt")
	require.NoError(t, err)
	defer f.Close()
	points := map[string][][2]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		points[w[0]] = append(points[w[0]], [2]float64{double(t, w[1]), double(t, w[2])})
	}
	require.Len(t, points, 17)
	for name, list := range points {
		t.Run(name, func(t *testing.T) {
			require.GreaterOrEqual(t, len(list), 80)
			c, ok := op.ByName(name)
			require.True(t, ok)
			x := ref.Zeros(op.Desc{DType: dtype.F64, Shape: shape.Of(len(list))})
			for i, p := range list {
				x.F[i] = p[0]
			}
			n, err := op.New(c, []op.Desc{x.Desc})
			require.NoError(t, err)
			out, err := ref.Eval(&n, []ref.Tensor{x})
			require.NoError(t, err)
			for i, p := range list {
				if d := distance(out[0].F[i], p[1]); d > 2 {
					t.Errorf("%s(%v): got %v, want %v, %v units off", name, p[0], out[0].F[i], p[1], d)
				}
			}
		})
	}
}

func double(t *testing.T, hex string) float64 {
	b, err := strconv.ParseUint(hex, 16, 64)
	require.NoError(t, err)
	return math.Float64frombits(b)
}

// distance returns the distance between a and b in units in the last place. It is the greatest number if a is NaN or the signs differ.
func distance(a, b float64) uint64 {
	if math.IsNaN(a) || math.Signbit(a) != math.Signbit(b) {
		return math.MaxUint64
	}
	x, y := math.Float64bits(a), math.Float64bits(b)
	return max(x, y) - min(x, y)
}
