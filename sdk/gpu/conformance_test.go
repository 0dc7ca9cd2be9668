package gpu_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/interp"
)

// TestInPlace runs ops whose kernels have several results, some of which reuse the memory of operands, and has operands read in the worst
// order that a compiler may choose.
func TestInPlace(t *testing.T) {
	open := func() (core.Backend, error) {
		return gpu.New(emulated.New(emulated.Options{Late: true}), gpu.Options{NoCache: true}), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^(grid_sample|deform_conv)/f(32|64)/[^/]*/plain", Sample: 1, Shrink: -1})
}

// TestOnceWrong runs cases that once failed on a device and that no sample contains: a broadcast operand of fewer dimensions in a reduction,
// and the gradient of a slice of one element.
func TestOnceWrong(t *testing.T) {
	open := func() (core.Backend, error) {
		return gpu.New(emulated.New(emulated.Options{}), gpu.Options{NoCache: true}), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^(bce_with_logits_loss/b?f16/weighted/plain|trace/f32/offset-2-below/gradient)$", Sample: 1, Shrink: -1})
}

// TestRandomState runs random_bits_at, whose state is in memory, on every target with i64.
func TestRandomState(t *testing.T) {
	for name, target := range emulated.Targets() {
		if !target.Types.Has(dtype.I64) { // the host decomposes it
			continue
		}
		t.Run(name, func(t *testing.T) {
			open := func() (core.Backend, error) {
				return gpu.New(emulated.New(emulated.Options{Target: target}), gpu.Options{NoCache: true}), nil
			}
			conformance.Run(t, open, conformance.Options{Run: "^random_bits_at/", Sample: 1, Shrink: -1})
		})
	}
}

// TestLinear runs a sample of the cases of linear, whose kernel adds the bias.
func TestLinear(t *testing.T) {
	open := func() (core.Backend, error) {
		return gpu.New(emulated.New(emulated.Options{}), gpu.Options{NoCache: true}), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^linear/", Sample: 3, Shrink: -1})
}

// TestConformance compares every claim of a backend over emulated hardware with the reference backend: on a sample of the cases, and
// with BURN_LONG=1 on all of them and on other hardware too, or on every BURN_GPU_SAMPLE-th of these. With -short, as under the race detector, it runs the cases with concurrency
// only.
func TestConformance(t *testing.T) {
	run := func(t *testing.T, c conformance.Options, o emulated.Options) {
		open := func() (core.Backend, error) {
			return gpu.New(emulated.New(o), gpu.Options{NoCache: true, Poison: 255}), nil
		}
		conformance.Run(t, open, c)
	}
	sample := func(n int) conformance.Options { return conformance.Options{Sample: n} }
	switch {
	case testing.Short():
		run(t, conformance.Options{Run: `^([a-z]+/[a-z-]+|matmul/f32/[^/]+/plain)$`}, emulated.Options{Background: true})
		return
	case !long.Tests():
		run(t, sample(1000), emulated.Options{Background: true, Lazy: true, Late: true})
		run(t, sample(3000), emulated.Options{Target: emulated.Targets()["webgpu"]})
		return
	}
	thin := 1
	if n, err := strconv.Atoi(os.Getenv("BURN_GPU_SAMPLE")); err == nil {
		thin = max(n, 1)
	}
	for name, c := range map[string]struct {
		sample int
		order  interp.Order
	}{"cuda": {1, interp.Forward}, "rocm": {10, interp.Backward}, "metal": {10, interp.Shuffled}, "webgpu": {4, interp.Backward}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, sample(thin*c.sample), emulated.Options{Target: emulated.Targets()[name], Order: c.order, Seed: 1, Background: name == "cuda", Lazy: name == "cuda", Late: name == "cuda"})
		})
	}
}
