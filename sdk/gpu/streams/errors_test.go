package streams

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// TestErrors checks that errors of vendor libraries become errors of burn, that errors of burn stay as they are, and that the error of a
// fault names the work before it.
func TestErrors(t *testing.T) {
	for kind, want := range map[error]error{vendor.ErrFault: core.ErrBackendLost, vendor.ErrOutOfMemory: core.ErrOutOfMemory,
		vendor.ErrUnsupported: core.ErrUnsupported, vendor.ErrMissing: core.ErrUnsupported, vendor.ErrNoDevice: core.ErrNotFound, nil: core.ErrKernel} {
		got := Named("gpu", "launch", &vendor.Error{Library: "driver", Call: "start", Code: 7, Kind: kind})
		require.ErrorIs(t, got, want)
		require.ErrorContains(t, got, "gpu: launch: ")
	}
	require.ErrorIs(t, Named("gpu", "launch", core.ErrAttr), core.ErrAttr)
	fault := &vendor.Error{Kind: vendor.ErrFault}
	require.ErrorContains(t, Named("gpu", "event", suspect("softmax", fault)), "a fault in softmax or what was started before it")
	require.Equal(t, errors.ErrUnsupported, suspect("softmax", errors.ErrUnsupported))
	require.NoError(t, Named("gpu", "event", nil))
}
