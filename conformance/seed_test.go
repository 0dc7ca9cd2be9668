package conformance_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
)

// The reference passes the suite with values from another seed.
func TestReferencePassesWithOtherSeeds(t *testing.T) {
	t.Parallel()
	for seed := uint64(2); seed < 3; seed++ {
		o := conformance.Options{Seed: seed, Sample: sampled(4), Run: "/(plain|special|nan|decomposed)$"}
		if testing.Short() {
			o.Profile = conformance.Core
		}
		r, err := conformance.Check(context.Background(), openRef(), o)
		require.NoError(t, err)
		if err := r.Err(); err != nil {
			require.NoError(t, r.Write(os.Stdout))
			t.Fatal(seed, err)
		}
	}
}

// A correct backend passes with seeds for which cases were once too strict. They draw equal elements for unique, rows of equal elements for
// normalisation, gradients in bf16 beside results of 1, slopes in f16 that overflow before a small weight reduces them, and a weak kink in
// bf16.
func TestSeedsThatFailed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		seed uint64
		run  string
	}{{15341981358917426743, "^unique/f64/.*gradient"}, {8105423687381753511, "^(layer|group)_norm/f(32|64)/"}, {1001, "^softmax/bf16/.*gradient"},
		{14820093436037199924, "^expm1/f16/matrix/gradient-strided$"}, {13792091622075029724, "^cosh/f16/matrix/gradient$"},
		{4798250728965269137, "^deform_conv/bf16/plain/gradient-strided$"}} {
		open := func() (core.Backend, error) { return core.Open("cpu", core.Config{Threads: 1}) }
		r, err := conformance.Check(context.Background(), open, conformance.Options{Seed: x.seed, Run: x.run, Shrink: -1})
		require.NoError(t, err)
		for _, c := range r.Results {
			require.NotEqual(t, conformance.Failed, c.Status, "seed %d: %s: %s", x.seed, c.ID, c.Reason)
		}
		require.NotZero(t, r.Passed)
	}
}
