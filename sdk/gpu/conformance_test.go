package gpu_test

import (
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/lower"
)

func open() (core.Backend, error) {
	return gpu.New(emulated.New(emulated.Options{}), gpu.Options{NoCache: true}), nil
}

// TestConformance compares every claim with the reference backend, on a sample of the cases.
func TestConformance(t *testing.T) {
	if !lower.Native(op.MatMul) || !lower.Native(op.Conv) {
		t.Skip("primitives have no kernels yet")
	}
	o := conformance.Options{Sample: 100}
	if long.Tests() {
		o.Sample = 1
	}
	conformance.Run(t, open, o)
}
