package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
)

// A program in a web page cannot start processes: Open opens built-in backends, and returns an error with a remedy for others.
func TestNoProcesses(t *testing.T) {
	p, err := host.Open(context.Background(), "cpu", host.Options{})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	for _, spec := range []string{"cuda:0", "process:cpu"} {
		_, err = host.Open(context.Background(), spec, host.Options{})
		t.Log(err)
		require.ErrorIs(t, err, core.ErrUnsupported, spec)
		require.ErrorContains(t, err, "import the backend into the program")
	}
	_, err = client.Start(context.Background(), "burn-backend-cpu", client.Options{})
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "WebAssembly starts no processes")
}
