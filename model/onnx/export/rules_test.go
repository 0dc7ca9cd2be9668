package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// without maps each primitive that has no export rule to the reason. Composites are decomposed.
var without = map[op.Code]string{
	op.RandomBits: "ONNX's random operators draw other numbers",
	op.Atan2:      "no operator, and a quotient has the wrong quadrant and wrong signs of zero",
	op.Shl:        "ONNX shifts unsigned integers alone", op.Shr: "ONNX shifts unsigned integers alone",
	op.CumProd: "no operator", op.CumMax: "no operator", op.CumMin: "no operator",
}

func TestEveryPrimitive(t *testing.T) {
	for _, c := range op.All() {
		_, has := rules[c]
		_, reason := without[c]
		if has || op.HasDecomposition(c) && !reason {
			require.False(t, reason, "%v has a rule", c)
			continue
		}
		require.True(t, reason, "%v has neither an operator nor a decomposition", c)
	}
}
