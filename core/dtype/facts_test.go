package dtype

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Codes are part of the wire protocol and of files: they never change, nor do names and sizes.
func TestFacts(t *testing.T) {
	for code, c := range []struct {
		d     DType
		name  string
		size  int
		class Class
	}{
		{Invalid, "invalid", 0, NoClass}, {F64, "f64", 8, Float}, {F32, "f32", 4, Float}, {F16, "f16", 2, Float}, {BF16, "bf16", 2, Float}, {I64, "i64", 8, Signed}, {I32, "i32", 4, Signed}, {I16, "i16", 2, Signed},
		{I8, "i8", 1, Signed}, {U64, "u64", 8, Unsigned}, {U32, "u32", 4, Unsigned}, {U16, "u16", 2, Unsigned}, {U8, "u8", 1, Unsigned}, {Bool, "bool", 1, Boolean}, {F8E4M3FN, "f8e4m3fn", 1, Storage},
		{F8E5M2, "f8e5m2", 1, Storage}, {F8E4M3FNUZ, "f8e4m3fnuz", 1, Storage}, {F8E5M2FNUZ, "f8e5m2fnuz", 1, Storage}, {F8E8M0, "f8e8m0", 1, Storage}, {F4E2M1, "f4e2m1", 1, Storage}, {I4, "i4", 1, Storage},
		{U4, "u4", 1, Storage}, {I2, "i2", 1, Storage}, {U2, "u2", 1, Storage},
	} {
		require.Equal(t, DType(code), c.d)
		require.Equal(t, c.name, c.d.String())
		require.Equal(t, c.size, c.d.Size())
		require.Equal(t, c.class, c.d.Class())
		require.Equal(t, c.class == Float, c.d.IsFloat())
		require.Equal(t, c.class == Signed || c.class == Unsigned, c.d.IsInt())
		require.Equal(t, code != 0, c.d.Valid())
		for _, of := range []struct {
			set  Set
			want bool
		}{{Floats, c.class == Float}, {SignedInt, c.class == Signed}, {UnsignedI, c.class == Unsigned}, {Bools, c.class == Boolean}, {Numbers, c.class == Float || c.d.IsInt()}, {Signeds, c.class == Float || c.class == Signed},
			{Any, c.class != NoClass && c.class != Storage}, {Smalls, c.class == Storage}, {AnyFloats, c.class == Float || c.d >= F8E4M3FN && c.d <= F4E2M1}} {
			require.Equal(t, of.want, of.set.Has(c.d), "%v in %v", c.d, of.set)
		}
	}
	require.Equal(t, []any{0, NoClass, false, false}, []any{DType(24).Size(), DType(24).Class(), DType(24).Valid(), DType(24).IsFloat()}, "the first code without a type")
	require.Equal(t, "dtype(24)", DType(24).String())
}

// The values are 2^(2-2^(w-1)) for an exponent of w bits (IEEE 754, 3.3).
func TestLeastNormal(t *testing.T) {
	for d := range DType(24) {
		bits, ok := map[DType]int{F64: 11, F32: 8, F16: 5, BF16: 8}[d]
		want := 0.0
		if ok {
			want = math.Ldexp(1, 2-1<<(bits-1))
		}
		require.Equal(t, want, d.LeastNormal(), d)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]DType{"float64": F64, "double": F64, "float32": F32, "float": F32, "float16": F16, "half": F16, "bfloat16": BF16, "int64": I64, "int32": I32, "int16": I16, "int8": I8, "uint64": U64,
		"uint32": U32, "uint16": U16, "uint8": U8, "boolean": Bool, " F32 ": F32, "BFloat16\n": BF16, "I4": I4, "f8E4M3FN": F8E4M3FN} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"invalid", "", "f", "f 32", "f32,", "int", "uint", "dtype(2)"} {
		d, err := Parse(text)
		require.ErrorContains(t, err, "unknown type", text)
		require.Equal(t, Invalid, d)
	}
}

func TestSetsAreSets(t *testing.T) {
	require.Equal(t, []DType{F32, I32, U8}, SetOf(U8, F32, I32, F32).List(), "in the order of codes, once")
	require.Empty(t, Set(0).List())
	require.Equal(t, "", Set(0).String())
	require.Equal(t, "f32|i64|i32|u8|bool", Required.String())
	require.False(t, SetOf(Invalid).Has(Invalid))
	require.Empty(t, SetOf(Invalid).List())
	require.Equal(t, SetOf(All()...), Any)
}

func TestOfEveryType(t *testing.T) {
	require.Equal(t, []DType{F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool}, []DType{Of[float64](), Of[float32](), Of[Float16](), Of[BFloat16](), Of[int64](), Of[int32](), Of[int16](), Of[int8](),
		Of[uint64](), Of[uint32](), Of[uint16](), Of[uint8](), Of[bool]()})
}

// Bytes and Slice share memory both ways, little-endian.
func TestRawSharing(t *testing.T) {
	s := []uint32{0x04030201, 0x08070605}
	b := Bytes(s)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, b)
	b[0] = 9
	require.Equal(t, uint32(0x04030209), s[0])
	back := Slice[uint32](b)
	back[1] = 0
	require.Zero(t, s[1])
	require.Equal(t, []float64{math.Pi}, Slice[float64](Bytes([]float64{math.Pi})))
	require.Equal(t, []byte{1, 0}, Bytes([]bool{true, false}))
	require.Equal(t, []bool{false, true}, Slice[bool]([]byte{0, 1}))
	require.Nil(t, Bytes([]int64{}))
	require.Nil(t, Slice[int64](nil))
	require.Nil(t, Slice[int64](make([]byte, 7)), "less than one element")
}

// Slice ignores bytes behind the last whole element, and copies bytes that are not aligned.
func TestSliceOfUnaligned(t *testing.T) {
	words := make([]uint64, 3)
	b := Bytes(words)
	for i := range b {
		b[i] = byte(i)
	}
	require.Len(t, Slice[uint32](b[:11]), 2)
	for off := range 8 {
		got := Slice[uint64](b[off : off+16])
		require.Len(t, got, 2)
		for k, v := range got {
			for i := range 8 {
				require.Equal(t, byte(off+8*k+i), byte(v>>(8*i)))
			}
		}
		require.Zero(t, uintptr(unsafe.Pointer(&got[0]))%unsafe.Alignof(got[0]))
		got[0] = 0
		require.Equal(t, off == 0, b[7] == 0, "memory is shared only where it is aligned")
		b[7] = 7
		for i := range b {
			b[i] = byte(i)
		}
	}
}

func TestFloatAtReadsEveryFormat(t *testing.T) {
	for d, data := range map[DType][]byte{F8E4M3FN: {0x38, 0xb0}, F8E5M2: {0x3c, 0xb8}, F8E4M3FNUZ: {0x40, 0xb8}, F8E5M2FNUZ: {0x40, 0xbc}, F4E2M1: {2, 9}, F8E8M0: {0x7f, 0x7e}} {
		require.Equal(t, 1.0, FloatAt(d, data, 0), "%v", d)
		require.Equal(t, 0.5, math.Abs(FloatAt(d, data, 1)), "%v", d)
	}
}
