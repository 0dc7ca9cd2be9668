package window

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Programs of draws rely on this property of every op with seed and counter: the draws of its decomposition have its seed and counter, plus
// numbers that do not depend on them.
func TestDrawsAreMoved(t *testing.T) {
	in := map[op.Code][]op.Desc{op.Bernoulli: {op.DescOf(dtype.F32, 5)}, op.Multinomial: {op.DescOf(dtype.F32, 2, 3)}, op.Dropout: {op.DescOf(dtype.BF16, 5)}}
	more := map[op.Code][]op.Attr{op.Multinomial: {op.Int("count", 4)}, op.Dropout: {op.Float("p", 0.1)}, op.RandomUniform: {op.Ints("shape", 3)},
		op.RandomNormal: {op.Ints("shape", 3)}}
	codes := 0
	for _, c := range op.All() {
		if !draws(&op.Node{Op: c}) || c == op.RandomBits {
			continue
		}
		codes++
		parts := func(seed, counter int) []op.Node {
			for i := range in[c] {
				in[c][i].ID = op.TensorID(i + 1)
			}
			n, err := op.New(c, in[c], append(more[c], op.Int("seed", seed), op.Int("counter", counter))...)
			require.NoError(t, err, "%v", c)
			for i := range n.Outputs {
				n.Outputs[i].ID = op.TensorID(10 + i)
			}
			last := op.TensorID(20)
			parts, _, err := op.Decompose(&n, in[c], func() op.TensorID { last++; return last })
			require.NoError(t, err)
			return parts
		}
		a, b := parts(3, 100), parts(5, 107)
		require.Len(t, b, len(a))
		drawn := 0
		for i := range a {
			if draws(&a[i]) {
				drawn++
				require.Equal(t, a[i].Attrs.Int("seed")+2, b[i].Attrs.Int("seed"))
				require.Equal(t, a[i].Attrs.Int("counter")+7, b[i].Attrs.Int("counter"))
				continue
			}
			require.True(t, a[i].Attrs.Equal(b[i].Attrs), "%v: %v", c, a[i])
		}
		require.Positive(t, drawn, "%v", c)
	}
	require.Equal(t, 5, codes)
}
