package conv_test

import (
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// The slow tests are left out at the other levels: package contraction computes convolutions of each kind at all levels.
func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t, "TestRun", "TestPhasesTogether") }
