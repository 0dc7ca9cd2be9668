package op_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// inference is an op with operands and attributes, and the types of its results.
type inference struct {
	op    op.Code
	in    []op.Desc
	attrs []op.Attr
	want  []op.Desc
}

// inferences has the inferences of groups of ops. The test file of each group appends to it.
var inferences []inference

func TestInferenceOfGroups(t *testing.T) {
	for _, c := range inferences {
		n, err := op.New(c.op, c.in, c.attrs...)
		require.NoError(t, err, c.op)
		require.Len(t, n.Outputs, len(c.want), c.op)
		for k := range c.want {
			require.True(t, c.want[k].SameType(n.Outputs[k]), "%v gives %v for output %d, want %v", c.op, n.Outputs[k], k, c.want[k])
		}
		require.NoError(t, op.Check(&n, c.in), c.op)
	}
}
