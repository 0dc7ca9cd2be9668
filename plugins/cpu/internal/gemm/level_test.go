package gemm

import (
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// The tests that run every kernel themselves are left out, as is TestEveryType: integers have one kernel.
func TestAtEveryLevel(t *testing.T) {
	kerneltest.AtEveryLevel(t, "TestLevelsAgree", "TestNothingBeyondIsTouched", "TestMulIndirect", "TestPackInto", "TestEveryType")
}
