package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/internal/long"
)

// The core profile passes on two members, with transfers through the host and with copies between peers.
func TestConformance(t *testing.T) {
	both(t, func(t *testing.T, places func(testing.TB) []*core.Place) {
		o := conformance.Options{Profile: conformance.Core, Sample: 40}
		switch {
		case long.Tests():
			o.Sample = 1
		case testing.Short():
			o.Sample = 200
		}
		r, err := conformance.Check(t.Context(), func() (core.Backend, error) { return router.New(places(t)) }, o)
		require.NoError(t, err)
		for _, x := range r.Results {
			if x.Status == conformance.Failed {
				t.Errorf("%s: %s", x.ID, x.Reason)
			}
		}
		require.NoError(t, r.Err())
		require.Positive(t, r.Passed)
	})
}
