package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/client/contain"
)

// TestEnvironmentAsked checks that a plugin sees the usual variables of the host's environment and those that it asks for.
func TestEnvironmentAsked(t *testing.T) {
	host := []string{"PATH=/bin", "BURN_LOG=off", "ACME_LEVEL=3", "AWS_SECRET_ACCESS_KEY=x", "CUDA_HOME=/c"}
	require.Equal(t, []string{"PATH=/bin", "BURN_LOG=off", "CUDA_HOME=/c"}, Environment(host, Limits{}, nil))
	needs := &contain.Needs{Env: []string{"ACME_*"}}
	require.Equal(t, []string{"PATH=/bin", "BURN_LOG=off", "ACME_LEVEL=3", "CUDA_HOME=/c"}, Environment(host, Limits{}, needs.Sees))
}
