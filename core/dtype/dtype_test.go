package dtype

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesRoundTrip(t *testing.T) {
	for _, d := range All() {
		p, err := Parse(d.String())
		require.NoError(t, err)
		require.Equal(t, d, p)
		require.True(t, d.Valid())
		require.Positive(t, d.Size())
	}
	for _, s := range []string{"", "f33", "complex64"} {
		_, err := Parse(s)
		require.Error(t, err, s)
	}
	require.False(t, DType(200).Valid())
	require.Equal(t, "dtype(200)", DType(200).String())
}

func TestSets(t *testing.T) {
	require.True(t, Numbers.Has(U16))
	require.False(t, Numbers.Has(Bool))
	require.False(t, Any.Has(Invalid))
	require.Equal(t, "i64|i32", Indices.String())
	require.Len(t, Any.List(), len(All()))
}

func TestOf(t *testing.T) {
	require.Equal(t, F16, Of[Float16]())
	require.Equal(t, U16, Of[uint16]())
	require.Equal(t, Bool, Of[bool]())
}

// Values worked by hand from the IEEE 754 binary16 format.
func TestFloat16(t *testing.T) {
	for _, c := range []struct {
		f    float32
		bits Float16
	}{
		{0, 0}, {1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff}, {65519.996, 0x7bff}, {65520, 0x7c00},
		{float32(math.Inf(-1)), 0xfc00}, {1.0 / (1 << 24), 1}, {1.0 / (1 << 25), 0}, {1.0000001 / (1 << 25), 1},
		{1.0 / (1 << 14), 0x0400}, {1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {0.333333333, 0x3555},
		{3.0 / (1 << 25), 2},
	} {
		require.Equal(t, c.bits, ToFloat16(c.f), "%g", c.f)
	}
	require.Equal(t, Float16(0x8000), ToFloat16(float32(math.Copysign(0, -1))))
	require.True(t, math.IsNaN(float64(ToFloat16(float32(math.NaN())).Float32())))
	for i := 0; i < 1<<16; i++ { // every value is exact in float32, so the way back gives the same bits
		h := Float16(i)
		if f := h.Float32(); f == f {
			require.Equal(t, h, ToFloat16(f))
		}
	}
}

func TestBFloat16(t *testing.T) {
	require.Equal(t, BFloat16(0x3f80), ToBFloat16(1))
	require.Equal(t, BFloat16(0x3f80), ToBFloat16(math.Float32frombits(0x3f808000))) // tie to even
	require.Equal(t, BFloat16(0x3f82), ToBFloat16(math.Float32frombits(0x3f818000)))
	require.Equal(t, BFloat16(0x7f80), ToBFloat16(math.MaxFloat32))
	require.True(t, math.IsNaN(float64(ToBFloat16(float32(math.NaN())).Float32())))
}

func TestFrom64RoundsOnce(t *testing.T) {
	// 1 + 2^-11 + 2^-40 is just above a binary16 tie; rounding through float32 would lose the last term and tie to 1.
	f := 1 + math.Pow(2, -11) + math.Pow(2, -40)
	require.Equal(t, Float16(0x3c01), Float16From64(f))
	require.Equal(t, Float16(0x3c00), ToFloat16(float32(f)))
	require.Equal(t, Float16(0x7c00), Float16From64(1e300))
	require.Equal(t, Float16(0x7bff), Float16From64(65519.999999))
	require.Equal(t, BFloat16(0x3f81), BFloat16From64(1+math.Pow(2, -8)+math.Pow(2, -40)))
	require.True(t, math.IsInf(float64(BFloat16From64(math.Inf(1)).Float32()), 1))
}
