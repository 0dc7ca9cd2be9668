package tensor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestLooksUp checks that the recorded ops are those whose row says that they may fail with ErrIndex. cross_entropy_loss says so
// by naming nll_loss.
func TestLooksUp(t *testing.T) {
	for _, c := range op.All() {
		says := strings.Contains(op.Lookup(c).Doc, "ErrIndex") || c == op.CrossEntropyLoss
		require.Equal(t, says, looksUp[c], "%v", c)
	}
}
