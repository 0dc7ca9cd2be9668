package vecmath_test

import (
	"testing"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }
