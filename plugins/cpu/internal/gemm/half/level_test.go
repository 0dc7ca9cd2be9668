package half

import (
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// The tests that run every level themselves are left out.
func TestAtEveryLevel(t *testing.T) {
	kerneltest.AtEveryLevel(t, "TestMul", "TestThreadsAgree", "TestSpecialValues")
}
