package conformance_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
)

func openRef(options ...ref.Option) func() (core.Backend, error) {
	return func() (core.Backend, error) { return ref.New(options...), nil }
}

// sampled returns Options.Sample for tests that run the whole suite: n, for one in n cases, or 1, for all, if BURN_CONFORMANCE_FULL is
// set.
func sampled(n int) int {
	if os.Getenv("BURN_CONFORMANCE_FULL") != "" {
		return 1
	}
	return n
}

// A sample has the same cases each time, about as many as asked for, and every kind of test of every op and part of the contract.
func TestSample(t *testing.T) {
	t.Parallel()
	kind := regexp.MustCompile("^([^/]+)/.*?([^/]+)$")
	kinds := func(o conformance.Options) (ids []string, seen map[string]bool) {
		ids, err := conformance.IDs(o)
		require.NoError(t, err)
		seen = map[string]bool{}
		for _, id := range ids {
			seen[kind.ReplaceAllString(id, "$1 $2")] = true
		}
		return ids, seen
	}
	all, every := kinds(conformance.Options{})
	some, found := kinds(conformance.Options{Sample: 4})
	require.Equal(t, every, found)
	require.Less(t, len(some), len(all)/2)
	require.Greater(t, len(some), len(all)/5)
	again, _ := kinds(conformance.Options{Sample: 4})
	require.Equal(t, some, again)
}

// The reference backend passes every case that it does not skip. It is not a plugin process, its document has no
// restrictions and no limits, and it has neither host views nor pinned memory: it skips only cases of these, and gradient cases of ops
// without a gradient. A thirtieth of the suite is enough here: make conformance runs it in full.
func TestReferencePasses(t *testing.T) {
	t.Parallel()
	r, err := conformance.Check(context.Background(), openRef(), conformance.Options{Sample: sampled(30)})
	require.NoError(t, err)
	require.NoError(t, r.Write(os.Stdout))
	require.NoError(t, r.Err())
	for _, x := range r.Results {
		if x.Status == conformance.Skipped {
			require.Regexp(t, "^(process|protocol|document)/|^limits/(bytes|elements)$|^host/(view|pin)$|/gradient(-strided)?$", x.ID)
		}
	}
	require.Greater(t, r.Passed, 6000)
}
