package wiretest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cpu"
)

// TestGraphsThroughAProcess computes twenty random graphs, and further ones until three seconds have passed, in this process and in a
// plugin process: every bit must agree.
func TestGraphsThroughAProcess(t *testing.T) {
	t.Parallel()
	config := core.Config{Threads: 1}
	here, err := cpu.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, here.Close()) })
	there, err := started(t, config, "good")()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, there.Close()) })
	n := uint64(0)
	for end := time.Now().Add(3 * time.Second); n < 20 || time.Now().Before(end); n++ {
		g := graphs.Random(rand.New(rand.NewPCG(n, 21)))
		for _, m := range []graphs.Mode{graphs.Nodes, graphs.AsProgram} {
			want, err := g.Run(t.Context(), here, m)
			require.NoError(t, err)
			got, err := g.Run(t.Context(), there, m)
			require.NoError(t, err, "graph %d, %s: %v", n, m, g.Program)
			for i := range want {
				require.Equal(t, want[i].Bytes(), got[i].Bytes(), "graph %d, %s, output %d: %v", n, m, i, g.Program)
			}
		}
	}
	t.Logf("%d graphs", n)
}
