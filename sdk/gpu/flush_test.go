package gpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
)

// flushes matches cases with subnormal numbers among their operands.
const flushes = `^(add|sub|mul|div|neg|abs|sqrt|rsqrt|exp|log|log1p|sign|equal|less|is_nan|max|min|where|relu|sin|tanh|softmax|reduce_max|cumsum|sort|cast|rem|pow|clamp|atan2)/(f32|bf16)/[^/]+/(special|nan|program)$|^cast/f8e8m0/to-bool`

// TestFlush checks that hardware that flushes subnormal numbers to zero passes the suite if its capabilities say so, and fails otherwise.
func TestFlush(t *testing.T) {
	check := func(declared dtype.Set) *conformance.Report {
		target := emulated.Targets()["webgpu"]
		target.Flushes = declared
		r, err := conformance.Check(context.Background(), func() (core.Backend, error) {
			return gpu.New(emulated.New(emulated.Options{Target: target, Flush: true}), gpu.Options{NoCache: true}), nil
		}, conformance.Options{Run: flushes, Sample: 3, Shrink: -1})
		require.NoError(t, err)
		return r
	}
	says := check(dtype.SetOf(dtype.F32, dtype.BF16))
	for _, x := range says.Results {
		require.NotEqual(t, conformance.Failed, x.Status, "%s: %s", x.ID, x.Reason)
	}
	require.Greater(t, says.Passed, 50)
	silent := check(0)
	require.Greater(t, silent.Failed, 3)
}
