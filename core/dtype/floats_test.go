package dtype

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFloatAt(t *testing.T) {
	for d, data := range map[DType][]byte{
		F64: Bytes([]float64{1, -0.5, math.Inf(1)}), F32: Bytes([]float32{1, -0.5, float32(math.Inf(1))}),
		F16:    {0x00, 0x3c, 0x00, 0xb8, 0x00, 0x7c},
		BF16:   {0x80, 0x3f, 0x00, 0xbf, 0x80, 0x7f},
		F8E5M2: {0x3c, 0xb8, 0x7c},
	} {
		require.True(t, AnyFloats.Has(d))
		for i, want := range []float64{1, -0.5, math.Inf(1)} {
			require.Equal(t, want, FloatAt(d, data, i), "%v %d", d, i)
		}
	}
	require.True(t, math.IsNaN(FloatAt(F8E4M3FN, []byte{0x7f}, 0)))
	require.False(t, AnyFloats.Has(I32))
}
