package autodiff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/autodiff"
)

// Every op of the table is differentiated, or it is said why not.
func TestComplete(t *testing.T) {
	for _, c := range op.All() {
		if op.Lookup(c).Class == op.Custom {
			continue
		}
		how, reason := autodiff.Gradient(c)
		if how == "none" {
			assert.NotContains(t, reason, "has no rule", "%v", c)
		}
	}
}
