package gpu_test

import (
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/interp"
)

// TestInPlace runs the ops that have kernels of several results, of which some take the memory of operands, in the worst order in which
// a compiler may read these.
func TestInPlace(t *testing.T) {
	open := func() (core.Backend, error) {
		return gpu.New(emulated.New(emulated.Options{Late: true}), gpu.Options{NoCache: true}), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^(grid_sample|deform_conv)/f(32|64)/[^/]*/plain", Sample: 1, Shrink: -1})
}

// TestConformance compares every claim of a backend over emulated hardware with the reference backend: on a sample of the cases, and
// with BURN_LONG=1 on all of them and on other hardware too.
func TestConformance(t *testing.T) {
	run := func(t *testing.T, sample int, o emulated.Options) {
		open := func() (core.Backend, error) {
			return gpu.New(emulated.New(o), gpu.Options{NoCache: true, Poison: 255}), nil
		}
		conformance.Run(t, open, conformance.Options{Sample: sample})
	}
	if !long.Tests() {
		run(t, 100, emulated.Options{Background: true, Lazy: true, Late: true})
		return
	}
	targets := emulated.Targets()
	t.Run("cuda", func(t *testing.T) { run(t, 1, emulated.Options{Background: true, Lazy: true, Late: true}) })
	t.Run("rocm", func(t *testing.T) { run(t, 10, emulated.Options{Target: targets["rocm"], Order: interp.Backward}) })
	t.Run("metal", func(t *testing.T) {
		run(t, 10, emulated.Options{Target: targets["metal"], Order: interp.Shuffled, Seed: 1})
	})
}
