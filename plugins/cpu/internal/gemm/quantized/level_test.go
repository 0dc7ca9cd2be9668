package quantized

import (
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// The tests that run every kernel themselves are left out.
func TestAtEveryLevel(t *testing.T) {
	kerneltest.AtEveryLevel(t, "TestMul", "TestExtremes", "TestWrap", "TestUnits")
}
