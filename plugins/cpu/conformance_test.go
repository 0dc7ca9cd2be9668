package cpu

import (
	"testing"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
)

// TestConformance compares every claim with the reference backend.
func TestConformance(t *testing.T) {
	conformance.Run(t, func() (core.Backend, error) { return New(core.Config{Threads: 2}) })
}
