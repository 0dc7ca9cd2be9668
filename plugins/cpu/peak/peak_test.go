package peak

import (
	"testing"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/stretchr/testify/require"
)

// TestLoops checks that no loop reports more operations per second than a core can compute, so that the compiler did not
// remove its work.
func TestLoops(t *testing.T) {
	rate := func(l Loop) float64 {
		best := 0.0
		for range 5 {
			const turns = 200_000
			start := time.Now()
			l.Run(turns)
			best = max(best, float64(l.Flops)*turns/time.Since(start).Seconds()/1e9)
		}
		return best
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.I8} {
		l, ok := Of(d)
		if d == dtype.I8 && !ok {
			continue
		}
		require.True(t, ok, d)
		got := rate(l)
		t.Logf("%v %s: %.0f GFLOP/s", d, l.Name, got)
		require.Less(t, got, 5000.0, "faster than any core: the loop does nothing")
	}
	_, ok := Of(dtype.Bool)
	require.False(t, ok)
}
