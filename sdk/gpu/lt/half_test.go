package lt

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		v    float32
		bits uint16
	}{{0, 0}, {1, 0x3c00}, {-2, 0xc000}, {0.5, 0x3800}, {65504, 0x7bff}, {65519, 0x7bff}, {65520, 0x7c00}, {1e9, 0x7c00}, {-1e9, 0xfc00}, {0x1p-14, 0x0400}, {0x1p-24, 1},
		{0x1p-25, 0}, {0x1.8p-24, 2}, {0x1.ff8p-15, 0x03ff}, {0x1.ffcp-15, 0x0400}, {1 + 0x1p-11, 0x3c00}, {1 + 0x1.8p-10, 0x3c02}, {2048.999, 0x6800}, {float32(math.NaN()), 0x7e00}} {
		require.Equal(t, c.bits, half(c.v), "%v", c.v)
	}
}
