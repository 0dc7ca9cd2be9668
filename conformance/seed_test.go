package conformance_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// The suite does not hang on one choice of values.
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
