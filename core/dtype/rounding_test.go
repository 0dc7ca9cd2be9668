package dtype

import (
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// format describes a float format by its finite values from zero up and their codes. It uses the bits of a code only to tell even from
// odd ones.
type format struct {
	name   string
	values []float64 // ascending from 0
	codes  []uint32
	over   uint32 // the code of infinity, or of NaN where the format has none
	sign   uint32
}

// nearest returns the code of the value closest to f or, of two equally close values, the even code. This is the definition of IEEE 754;
// the value is found by bisection.
func (m format) nearest(f float64) uint32 {
	sign := uint32(0)
	if math.Signbit(f) {
		sign, f = m.sign, -f
	}
	k := sort.SearchFloat64s(m.values, f)
	last := len(m.values) - 1
	if k > last { // rounds as if the format had one more value
		beyond := m.values[last] + (m.values[last] - m.values[last-1])
		if f-m.values[last] < beyond-f || f-m.values[last] == beyond-f && m.codes[last]&1 == 0 {
			return m.codes[last] | sign
		}
		return m.over | sign
	}
	if k > 0 {
		below, above := f-m.values[k-1], m.values[k]-f
		if below < above || below == above && m.codes[k-1]&1 == 0 {
			k--
		}
	}
	return m.codes[k] | sign
}

// probes returns numbers around every value and every middle of two neighbours: the middle, and the next numbers of f64 on both sides.
func (m format) probes() (p []float64) {
	for k, v := range m.values {
		p = append(p, v)
		if k > 0 {
			mid := (v + m.values[k-1]) / 2
			p = append(p, mid, math.Nextafter(mid, 0), math.Nextafter(mid, math.Inf(1)))
		}
	}
	last := len(m.values) - 1
	end := m.values[last] + (m.values[last]-m.values[last-1])/2
	return append(p, end, math.Nextafter(end, 0), math.Nextafter(end, math.Inf(1)), 2*end)
}

// halves returns the formats of 16 bits, built from their fields.
func halves() []format {
	build := func(name string, exp, man int) format {
		bias := 1<<(exp-1) - 1
		m := format{name: name, over: uint32((1<<exp - 1) << man), sign: 0x8000}
		for code := range m.over {
			e, f := int(code)>>man, float64(int(code)&(1<<man-1))
			v := math.Ldexp(f, 1-bias-man)
			if e > 0 {
				v = math.Ldexp(f+float64(int(1)<<man), e-bias-man)
			}
			m.values, m.codes = append(m.values, v), append(m.codes, code)
		}
		return m
	}
	return []format{build("f16", 5, 10), build("bf16", 8, 7)}
}

// Every value of the 16-bit formats, every middle of two values and its neighbours round as IEEE 754 defines, from f64 in one step and
// from f32.
func TestHalvesRoundToNearest(t *testing.T) {
	for _, m := range halves() {
		to64 := func(f float64) uint32 { return uint32(Float16From64(f)) }
		to32 := func(f float32) uint32 { return uint32(ToFloat16(f)) }
		from := func(c uint32) float32 { return Float16(c).Float32() }
		if m.name == "bf16" {
			to64 = func(f float64) uint32 { return uint32(BFloat16From64(f)) }
			to32 = func(f float32) uint32 { return uint32(ToBFloat16(f)) }
			from = func(c uint32) float32 { return BFloat16(c).Float32() }
		}
		for k, v := range m.values {
			if got := from(m.codes[k]); float64(got) != v || float64(from(m.codes[k]|m.sign)) != -v {
				t.Fatalf("%s: %#x is %v, want %v", m.name, m.codes[k], got, v)
			}
		}
		for _, p := range m.probes() {
			for _, f := range []float64{p, -p} {
				if got, want := to64(f), m.nearest(f); got != want {
					t.Fatalf("%s of f64 %b: %#x, want %#x", m.name, f, got, want)
				}
			}
			single := float32(p)
			for _, f := range []float32{single, -single, math.Nextafter32(single, 0), math.Nextafter32(single, float32(math.Inf(1)))} {
				if got, want := to32(f), m.nearest(float64(f)); got != want {
					t.Fatalf("%s of f32 %b: %#x, want %#x", m.name, f, got, want)
				}
			}
		}
	}
}

// NaN stays NaN with its sign, whatever its payload: none becomes an infinity.
func TestHalvesKeepNaN(t *testing.T) {
	for _, bits := range []uint32{0x7f800001, 0x7f801fff, 0x7fbfffff, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffffffff} {
		f := math.Float32frombits(bits)
		for _, c := range []struct {
			sign bool
			v    float32
		}{
			{ToFloat16(f)&0x8000 != 0, ToFloat16(f).Float32()}, {ToBFloat16(f)&0x8000 != 0, ToBFloat16(f).Float32()},
			{Float16From64(float64(f))&0x8000 != 0, Float16From64(float64(f)).Float32()}, {BFloat16From64(float64(f))&0x8000 != 0, BFloat16From64(float64(f)).Float32()},
		} {
			require.True(t, c.v != c.v, "%#x became %v", bits, c.v)
			require.Equal(t, bits>>31 != 0, c.sign, "%#x", bits)
		}
	}
	for code := range 1 << 16 { // every NaN of the formats is one in f32
		for _, v := range []float32{Float16(code).Float32(), BFloat16(code).Float32()} {
			if v != v {
				require.Equal(t, code>>15 != 0, math.Signbit(float64(v)), "%#x", code)
			}
		}
		require.Equal(t, code&0x7c00 == 0x7c00 && code&0x3ff != 0, math.IsNaN(float64(Float16(code).Float32())), "%#x", code)
	}
}

// f64 numbers beyond and below the range of f32 are rounded from their own value.
func TestHalvesFromFarNumbers(t *testing.T) {
	inf := math.Inf(1)
	for f, want := range map[float64][2]uint16{1e300: {0x7c00, 0x7f80}, math.MaxFloat64: {0x7c00, 0x7f80}, inf: {0x7c00, 0x7f80}, 5e-324: {0, 0}, 1e-300: {0, 0}, 0x1p-149: {0, 0}, 0x1p-133: {0, 1},
		0x1p-134: {0, 0}, 0x1.0000000000001p-134: {0, 1}, 0x1.ffp127: {0x7c00, 0x7f80}, 0x1.feffffffffp127: {0x7c00, 0x7f7f}, 3.5e38: {0x7c00, 0x7f80}} {
		require.Equal(t, want, [2]uint16{uint16(Float16From64(f)), uint16(BFloat16From64(f))}, "%b", f)
		require.Equal(t, [2]uint16{want[0] | 0x8000, want[1] | 0x8000}, [2]uint16{uint16(Float16From64(-f)), uint16(BFloat16From64(-f))}, "%b", -f)
	}
}

// small returns a signed storage format with the values that FromSmall returns for the codes without sign.
func small(d DType) format {
	width := 7
	if d == F4E2M1 {
		width = 3
	}
	m := format{name: d.String(), sign: 1 << width}
	v := make([]float32, 1)
	for code := range uint32(1) << width {
		FromSmall(d, []byte{byte(code)}, v)
		if f := float64(v[0]); !math.IsNaN(f) && !math.IsInf(f, 0) {
			m.values, m.codes = append(m.values, f), append(m.codes, code)
		}
	}
	return m
}

// Small floats round to nearest, ties to even, around every value and middle. Beyond the range they become over or, with saturation, the
// greatest value.
func TestSmallFloatsRoundToNearest(t *testing.T) {
	for d, over := range map[DType]uint32{F8E4M3FN: 0x7f, F8E5M2: 0x7c, F8E4M3FNUZ: 0x80, F8E5M2FNUZ: 0x80, F4E2M1: 7} {
		m := small(d)
		m.over = over
		require.True(t, sort.Float64sAreSorted(m.values), "codes are in the order of values")
		for _, p := range m.probes() {
			for _, f := range []float64{p, -p} {
				want := m.nearest(f)
				if unsigned := d == F8E4M3FNUZ || d == F8E5M2FNUZ; unsigned && (want&0x7f == 0) { // no negative zero: it would be NaN
					want = m.nearest(math.Abs(f))
				}
				require.Equal(t, byte(want), ToSmall(d, f, false), "%v of %b", d, f)
				if got := ToSmall(d, f, true); math.Abs(f) <= m.values[len(m.values)-1] {
					require.Equal(t, byte(want), got, "%v of %b", d, f)
				} else {
					sign := uint32(0)
					if f < 0 {
						sign = m.sign
					}
					require.Equal(t, byte(m.codes[len(m.codes)-1]|sign), got, "%v of %b saturates", d, f)
				}
			}
		}
	}
}

// F8E8M0 rounds to the nearest power of two on a linear scale, and to the greater one of two equally near.
func TestPowersOfTwo(t *testing.T) {
	v := make([]float32, 1)
	for code := range 255 {
		FromSmall(F8E8M0, []byte{byte(code)}, v)
		f := float64(v[0])
		require.Equal(t, math.Ldexp(1, code-127), f)
		for factor, want := range map[float64]int{1: code, 1.4999999: code, 1.5: code + 1, 0.75: code, 0.7499999: code - 1, 1.9: code + 1} {
			if want < 0 || want > 254 {
				continue
			}
			require.Equal(t, byte(want), ToSmall(F8E8M0, f*factor, false), "%v·2^%d", factor, code-127)
		}
	}
	for _, c := range []struct {
		f        float64
		saturate bool
		want     byte
	}{{0, false, 0}, {0, true, 0}, {-1, true, 0xff}, {-1, false, 0xff}, {math.NaN(), true, 0xff}, {math.Inf(1), true, 0xfe}, {math.Inf(1), false, 0xff}, {0x1p128, true, 0xfe}, {0x1p128, false, 0xff},
		{0x1.7p127, false, 0xfe}, {0x1.8p127, false, 0xff}, {0x1p-200, false, 0}, {math.Inf(-1), true, 0xff}} {
		require.Equal(t, c.want, ToSmall(F8E8M0, c.f, c.saturate), "%v", c.f)
	}
}

// Small integers keep the low bits in two's complement, sign-extended in their byte.
func TestSmallIntsWrap(t *testing.T) {
	for d, bits := range map[DType]uint{I4: 4, U4: 4, I2: 2, U2: 2} {
		n := int64(1) << bits
		for v := int64(-300); v <= 300; v++ {
			want := (v%n + n) % n
			if signed := d == I4 || d == I2; signed && want >= n/2 {
				want -= n
			}
			require.Equal(t, byte(want), IntToSmall(d, v), "%v of %d", d, v)
			f := make([]float32, 1)
			FromSmall(d, []byte{IntToSmall(d, v)}, f)
			require.Equal(t, float32(want), f[0])
			frac := 0.75
			if v < 0 {
				frac = -0.75
			}
			require.Equal(t, byte(want), ToSmall(d, float64(v)+frac, true), "%v of %v: towards zero", d, float64(v)+frac)
		}
		require.Equal(t, IntToSmall(d, 1<<62), ToSmall(d, math.Inf(1), true))
		require.Equal(t, IntToSmall(d, -1<<62), ToSmall(d, -1e300, true))
		require.Zero(t, ToSmall(d, math.NaN(), true))
	}
	require.Zero(t, ToSmall(F32, 1, true), "no storage type")
}
