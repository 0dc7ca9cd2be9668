package gpu_test

import (
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

// TestConformance compares elementwise ops with the reference backend, on a sample of the cases.
func TestConformance(t *testing.T) {
	conformance.Run(t, func() (core.Backend, error) { return gpu.New(gpu.Fake(), gpu.Options{NoCache: true}), nil },
		conformance.Options{Sample: 8, Run: "^(add|where|exp|cast|fused)/(f32|bf16|i64)/.*/(plain|program|aliased)$"})
}
