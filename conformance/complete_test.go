package conformance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func TestEveryOpHasAPlan(t *testing.T) {
	t.Parallel()
	for _, c := range op.All() {
		row := op.Lookup(c)
		p, ok := planOf(c)
		require.True(t, ok, "no plan for %v", c)
		names := map[string]bool{}
		used := map[string]bool{}
		vs := p.variants
		if p.typed != nil {
			vs = append(vs[:len(vs):len(vs)], p.typed(dtype.I32, dtype.Any)...)
		}
		require.NotEmpty(t, vs, "%v", c)
		for _, x := range vs {
			require.False(t, names[x.name], "%v has two variants %s", c, x.name)
			names[x.name] = true
			for _, a := range x.attrs {
				used[a.Name] = true
			}
		}
		for _, a := range row.Attrs {
			require.True(t, used[a.Name], "no variant of %v sets %s", c, a.Name)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got float64
		exact, ok bool
	}{
		{1, 1.05, false, true}, {1, 1.2, false, false}, {nan(), 1, false, false}, {1, nan(), false, false}, {nan(), nan(), true, true},
		{inf, 1e300, false, false}, {1e300, inf, false, false}, {inf, inf, false, true}, {inf, -inf, false, false}, {0, negZero, false, true},
		{0, negZero, true, false}, {1, 1 + 1e-16, true, true}, {1, 1 + 1e-15, true, false}, {0, 0.009, false, true}, {0, 0.011, false, false},
	} {
		require.Equal(t, c.ok, near(c.want, c.got, 0.1, 0.01, c.exact), "%+v", c)
	}
}

var (
	inf     = math.Inf(1)
	negZero = math.Copysign(0, -1)
)
