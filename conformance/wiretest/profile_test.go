package wiretest

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/internal/pair"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
)

// The backend records profiles through every door, and no case is skipped.
func TestProfilesThroughDoors(t *testing.T) {
	t.Parallel()
	for _, d := range doors(t) {
		r, err := conformance.Check(t.Context(), d.open, conformance.Options{Run: "^profiling/"})
		require.NoError(t, err)
		require.NoError(t, r.Err(), d.name)
		require.Equal(t, 2, r.Passed, d.name)
	}
}

// The protocol transfers the capability document of each device separately.
func TestCapabilitiesPerDevice(t *testing.T) {
	t.Parallel()
	two := func(core.Config) (core.Backend, error) {
		return pair.New(ref.New(), ref.New(ref.Declaring(func(c *core.Capabilities) { c.Limits.Rank = 5 }))), nil
	}
	at, _, err := serve.Attachable(t.Context(), serve.Options{Name: "two", Open: two, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	b, err := client.Attach(t.Context(), at, client.Options{Name: "two"})
	require.NoError(t, err)
	defer b.Close()
	require.Len(t, b.Info().Devices, 2)
	for index, rank := range []int{8, 5} {
		d, err := b.Open(t.Context(), index)
		require.NoError(t, err)
		require.Equal(t, rank, d.Capabilities().Limits.Rank)
		require.NoError(t, d.Close())
	}
}
