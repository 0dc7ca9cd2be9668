package wiretest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// Profiles are recorded behind every door, and no case is skipped.
func TestProfilesThroughDoors(t *testing.T) {
	for _, d := range doors(t) {
		r, err := conformance.Check(t.Context(), d.open, conformance.Options{Run: "^profiling/"})
		require.NoError(t, err)
		require.NoError(t, r.Err(), d.name)
		require.Equal(t, 2, r.Passed, d.name)
	}
}
