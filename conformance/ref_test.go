package conformance_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
)

func openRef(options ...ref.Option) func() (core.Backend, error) {
	return func() (core.Backend, error) { return ref.New(options...), nil }
}

// The reference backend passes everything and skips nothing but what needs a process.
func TestReferencePasses(t *testing.T) {
	r, err := conformance.Check(context.Background(), openRef(), conformance.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Write(os.Stdout))
	require.NoError(t, r.Err())
	for _, x := range r.Results {
		if x.Status == conformance.Skipped {
			require.Regexp(t, "^process/", x.ID)
		}
	}
	require.Greater(t, r.Passed, 6000)
}
