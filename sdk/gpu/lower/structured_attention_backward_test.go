package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// backward is the gradient of an attention, of which the result is that of the reference.
func (c attentionCase) backward(t *testing.T, d dtype.DType) trial {
	forward := c.trial(t, d)
	descs := make([]op.Desc, len(forward.in))
	for i, x := range forward.in {
		descs[i] = x.Desc
	}
	n, err := op.New(op.Attention, descs, c.attrs...)
	require.NoError(t, err)
	y, err := ref.Eval(&n, forward.in)
	require.NoError(t, err)
	dy := random(source(t.Name()+" dy"), d, false, y[0].Desc.Shape...)
	in := append(append([]ref.Tensor{}, forward.in[:3]...), y[0], dy)
	return trialOf(t, op.AttentionGradient, c.attrs, append(in, forward.in[3:]...))
}

func TestAttentionGradient(t *testing.T) {
	for _, d := range dtype.Floats.List() {
		for i, c := range attentionCases {
			c.backward(t, d).run(structuredTargets[i%len(structuredTargets)], 5)
			if d.Size() == 2 { // those that have matrix instructions
				c.backward(t, d).run(structuredTargets[0], 5)
			}
		}
	}
}
