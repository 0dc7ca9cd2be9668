package conformance_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"

	_ "github.com/goburn/burn/plugins/cpu"
)

// The built-in backend passes every case of the ops that it claims, and writes only into its tensors.
func TestCPU(t *testing.T) {
	t.Parallel()
	open := func() (core.Backend, error) {
		return core.Open("cpu", core.Config{Threads: 2, Options: map[string]string{"guard_bands": "128"}})
	}
	r, err := conformance.Check(context.Background(), open, conformance.Options{Sample: sampled(20)})
	require.NoError(t, err)
	if err := r.Err(); err != nil {
		require.NoError(t, r.Write(os.Stdout))
		t.Fatal(err)
	}
	require.Greater(t, r.Passed, 4000)
}
