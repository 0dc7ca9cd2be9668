package graphs_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu"
)

func draw(seed uint64) (*graphs.Graph, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 20))
	return graphs.Random(r), r
}

// compare runs the graph of a seed on b in every mode and compares the results with the expected values.
func compare(t *testing.T, b core.Backend, seed uint64) {
	t.Helper()
	g, r := draw(seed)
	require.NoError(t, g.Program.Check(), "seed %d", seed)
	want, err := g.Expect(r)
	require.NoError(t, err, "seed %d", seed)
	for _, m := range graphs.Modes() {
		got, err := g.Run(t.Context(), b, m)
		require.NoError(t, err, "seed %d, %s: %v", seed, m, g.Program)
		require.NoError(t, want.Check(got), "seed %d, %s: %v", seed, m, g.Program)
	}
}

func open(t testing.TB) core.Backend {
	b, err := cpu.New(core.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestRandomGraphs compares a hundred graphs, and further ones until four seconds have passed. FuzzGraphs has no limit.
func TestRandomGraphs(t *testing.T) {
	b := open(t)
	n := uint64(0)
	for end := time.Now().Add(4 * time.Second); n < 100 || time.Now().Before(end); n++ {
		compare(t, b, n)
	}
	t.Logf("%d graphs", n)
}

// FuzzGraphs compares the graph of a seed on the cpu backend with the reference. A seed that fails is kept in testdata/fuzz as a
// named case.
func FuzzGraphs(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	b, err := cpu.New(core.Config{Threads: 1})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, b, seed) })
}

func TestEqualSeedsGiveEqualGraphs(t *testing.T) {
	a, _ := draw(5)
	b, _ := draw(5)
	require.Equal(t, a.Program.String(), b.Program.String())
	require.Equal(t, a.Inputs, b.Inputs)
}

// The comparison can fail: a backend whose additions are wrong in the last element is caught.
func TestAFaultIsCaught(t *testing.T) {
	wrong := ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == op.Add && len(out[0].F) > 0 {
			out[0].F[len(out[0].F)-1] += 0.5
		}
		return out, err
	}))
	caught := 0
	for seed := range uint64(60) {
		g, r := draw(seed)
		want, err := g.Expect(r)
		require.NoError(t, err)
		got, err := g.Run(t.Context(), wrong, graphs.Nodes)
		require.NoError(t, err)
		if want.Check(got) != nil {
			caught++
		}
	}
	require.Greater(t, caught, 5, fmt.Sprint(caught))
}
