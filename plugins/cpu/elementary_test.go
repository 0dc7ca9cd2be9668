package cpu

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestElementary compares the elementary functions in f64 with values computed with 300 bits, which also test the reference. The error is
// at most 4 units in the last place, and 16 for large angles.
func TestElementary(t *testing.T) {
	f, err := os.Open("../../conformance/ref/testdata/elementary.txt")
	require.NoError(t, err)
	defer f.Close()
	points, values := map[string][]float64{}, map[string][]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		for k, list := range []map[string][]float64{points, values} {
			bits, err := strconv.ParseUint(w[1+k], 16, 64)
			require.NoError(t, err)
			list[w[0]] = append(list[w[0]], math.Float64frombits(bits))
		}
	}
	require.Len(t, points, 17)
	b := newBed(t)
	for name, x := range points {
		c, ok := op.ByName(name)
		require.True(t, ok)
		n := b.node(c, []op.Desc{put(b, x, len(x))})
		require.NoError(t, b.Submit([]op.Node{n}))
		got := make([]float64, len(x))
		require.NoError(t, b.Read(ctx, n.Outputs[0].ID, bytesOf(got)))
		for i, want := range values[name] {
			u, v := math.Float64bits(got[i]), math.Float64bits(want)
			units := uint64(4)
			if math.Abs(x[i]) > 1<<29 && (name == "sin" || name == "cos" || name == "tan") {
				units = 16
			}
			if math.IsNaN(got[i]) || max(u, v)-min(u, v) > units {
				t.Errorf("%s(%v): got %v, want %v", name, x[i], got[i], want)
			}
		}
	}
}
