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

// TestConformance compares every claim of a backend over emulated hardware with the reference backend: on a sample of the cases, and
// with BURN_LONG=1 on all of them and on other hardware too.
func TestConformance(t *testing.T) {
	run := func(t *testing.T, sample int, o emulated.Options) {
		open := func() (core.Backend, error) { return gpu.New(emulated.New(o), gpu.Options{NoCache: true}), nil }
		conformance.Run(t, open, conformance.Options{Sample: sample})
	}
	if !long.Tests() {
		run(t, 100, emulated.Options{Background: true})
		return
	}
	targets := emulated.Targets()
	t.Run("cuda", func(t *testing.T) { run(t, 1, emulated.Options{Background: true}) })
	t.Run("rocm", func(t *testing.T) { run(t, 10, emulated.Options{Target: targets["rocm"], Order: interp.Backward}) })
	t.Run("metal", func(t *testing.T) {
		run(t, 10, emulated.Options{Target: targets["metal"], Order: interp.Shuffled, Seed: 1})
	})
}
