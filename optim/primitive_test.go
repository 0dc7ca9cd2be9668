package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/tensor"
)

// TestReference runs a few steps on the reference kernels: rules use only ops that every backend has.
func TestReference(t *testing.T) {
	f := load(t)
	b := ref.New()
	dev, err := tensor.On(ctx, autodiff.Device(&core.Place{Backend: b, Spec: "ref"}))
	require.NoError(t, err)
	for name, want := range f.Trajectories {
		o := optimisers[name]
		params, opt := f.params(dev, dtype.F64, want[0]), o.new()
		for step := range 3 {
			require.NoError(t, opt.Step(o.lr, params, f.gradients(t, params, step)), name)
		}
		for _, p := range params {
			require.InDeltaSlice(t, want[2][p.Name], values(t, p.Value()), 1e-9, name)
		}
	}
	require.NoError(t, dev.Close())
	require.NoError(t, b.Close())
}
