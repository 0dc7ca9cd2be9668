package pb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBytes checks each storage form. The expected bytes are little endian, and were computed by hand from the ONNX specification.
func TestBytes(t *testing.T) {
	for name, c := range map[string]struct {
		in   Tensor
		want []byte
	}{
		"float":         {Tensor{DataType: Float, Dims: []int64{2}, FloatData: []float32{1, -2}}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		"double":        {Tensor{DataType: Double, DoubleData: []float64{-2}}, []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}},
		"complex64":     {Tensor{DataType: Complex64, Dims: []int64{1}, FloatData: []float32{1, -2}}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		"complex128":    {Tensor{DataType: Complex128, DoubleData: []float64{0, -2}}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0}},
		"int64":         {Tensor{DataType: Int64, Int64Data: []int64{-2}}, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		"int32":         {Tensor{DataType: Int32, Int32Data: []int32{-2}}, []byte{0xfe, 0xff, 0xff, 0xff}},
		"int16":         {Tensor{DataType: Int16, Int32Data: []int32{-2}}, []byte{0xfe, 0xff}},
		"int8":          {Tensor{DataType: Int8, Dims: []int64{2}, Int32Data: []int32{-2, 127}}, []byte{0xfe, 0x7f}},
		"uint8":         {Tensor{DataType: Uint8, Dims: []int64{2}, Int32Data: []int32{0, 255}}, []byte{0, 0xff}},
		"uint16":        {Tensor{DataType: Uint16, Int32Data: []int32{65535}}, []byte{0xff, 0xff}},
		"uint32":        {Tensor{DataType: Uint32, Uint64Data: []uint64{0xfffffffe}}, []byte{0xfe, 0xff, 0xff, 0xff}},
		"uint64":        {Tensor{DataType: Uint64, Uint64Data: []uint64{1 << 63}}, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}},
		"float16":       {Tensor{DataType: Float16, Int32Data: []int32{0x3c00}}, []byte{0, 0x3c}},
		"bfloat16 sign": {Tensor{DataType: BFloat16, Int32Data: []int32{-16512}}, []byte{0x80, 0xbf}},
		"float8":        {Tensor{DataType: Float8E4M3FN, Dims: []int64{2}, Int32Data: []int32{0x38, 0xb8}}, []byte{0x38, 0xb8}},
		"bool":          {Tensor{DataType: Bool, Dims: []int64{3}, Int32Data: []int32{0, 1, -5}}, []byte{0, 1, 1}},
		"bool raw":      {Tensor{DataType: Bool, Dims: []int64{3}, RawData: []byte{0, 7, 1}}, []byte{0, 1, 1}},
		"int4":          {Tensor{DataType: Int4, Dims: []int64{3}, Int32Data: []int32{0x8f, 0x07}}, []byte{0xff, 0xf8, 0x07}},
		"int4 raw":      {Tensor{DataType: Int4, Dims: []int64{3}, RawData: []byte{0x8f, 0x07}}, []byte{0xff, 0xf8, 0x07}},
		"uint4 raw":     {Tensor{DataType: Uint4, Dims: []int64{3}, RawData: []byte{0x8f, 0x07}}, []byte{15, 8, 7}},
		"float4 raw":    {Tensor{DataType: Float4E2M1, Dims: []int64{1, 2}, RawData: []byte{0x8f}}, []byte{15, 8}},
		"uint2":         {Tensor{DataType: Uint2, Dims: []int64{5}, Int32Data: []int32{0b11100100, 0b10}}, []byte{0, 1, 2, 3, 2}},
		"int2 raw":      {Tensor{DataType: Int2, Dims: []int64{5}, RawData: []byte{0b11100100, 0b10}}, []byte{0, 1, 0xfe, 0xff, 0xfe}},
		// x0..x4 = 1, 33, 63, 42, 5 as one stream of bits: 01 | 21<<6 | 3f<<12 | 2a<<18 = 0xabf841, then 5.
		"float6 raw":  {Tensor{DataType: Float6E2M3, Dims: []int64{5}, RawData: []byte{0x41, 0xf8, 0xab, 5}}, []byte{1, 33, 63, 42, 5}},
		"float6":      {Tensor{DataType: Float6E3M2, Dims: []int64{2}, Int32Data: []int32{1, 63}}, []byte{1, 63}},
		"empty":       {Tensor{DataType: Float, Dims: []int64{1 << 62, 1 << 62, 0}}, []byte{}},
		"empty raw":   {Tensor{DataType: Int4, Dims: []int64{0}, RawData: []byte{}}, []byte{}},
		"scalar raw":  {Tensor{DataType: Int16, RawData: []byte{1, 2}}, []byte{1, 2}},
		"float8 e8m0": {Tensor{DataType: Float8E8M0, Dims: []int64{1}, Int32Data: []int32{-1}}, []byte{0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := DecodeTensor(c.in.Append(nil), Limits{})
			require.NoError(t, err)
			got, err := d.Bytes(nil)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			n, err := d.Elements()
			require.NoError(t, err)
			require.Len(t, got, int(n)*d.DataType.Size())
		})
	}
}

// TestBytesErrors checks invalid tensors; decode tells whether DecodeTensor already refuses them.
func TestBytesErrors(t *testing.T) {
	for _, c := range []struct {
		in     Tensor
		decode bool
		want   string
	}{
		{Tensor{DataType: Float, Dims: []int64{2}, RawData: make([]byte, 7)}, true, "raw_data: dims [2] of FLOAT want 8 bytes, got 7"},
		{Tensor{DataType: Int4, Dims: []int64{3}, RawData: make([]byte, 3)}, true, "raw_data: dims [3] of INT4 want 2 bytes, got 3"},
		{Tensor{DataType: Int2, Dims: []int64{5}, Int32Data: make([]int32, 1)}, true, "int32_data: dims [5] of INT2 want 2 entries, got 1"},
		{Tensor{DataType: Float, Dims: []int64{2}}, true, "float_data: dims [2] of FLOAT want 2 entries, got 0"},
		{Tensor{DataType: Complex64, Dims: []int64{2}, FloatData: make([]float32, 2)}, true, "float_data: dims [2] of COMPLEX64 want 4 entries, got 2"},
		{Tensor{DataType: Float, Dims: []int64{1}, Int64Data: []int64{1}}, true, "int64_data: not expected for data_type FLOAT with float_data"},
		{Tensor{DataType: Float, Dims: []int64{1}, FloatData: []float32{1}, RawData: make([]byte, 4)}, true, "float_data: not expected for data_type FLOAT with raw_data"},
		{Tensor{DataType: String, Dims: []int64{1}, RawData: make([]byte, 4)}, true, "raw_data: not allowed for data_type STRING"},
		{Tensor{DataType: Float, Dims: []int64{2, -1}}, true, "dims[1]: negative: -1"},
		{Tensor{DataType: Float, Dims: []int64{1 << 40, 1 << 40}}, true, "dims: product of [1099511627776 1099511627776] overflows"},
		{Tensor{DataType: Double, Dims: []int64{1 << 60}}, true, "elements, limit 17179869184"},
		{Tensor{DataType: Uint8, Dims: []int64{2}, Int32Data: []int32{0, 300}}, false, "int32_data: entry 1: 300 does not fit UINT8"},
		{Tensor{DataType: Int8, Int32Data: []int32{128}}, false, "int32_data: entry 0: 128 does not fit INT8"},
		{Tensor{DataType: Uint32, Uint64Data: []uint64{1 << 32}}, false, "uint64_data: entry 0: 4294967296 does not fit UINT32"},
		{Tensor{DataType: Float6E2M3, Int32Data: []int32{64}}, false, "int32_data: entry 0: 64 does not fit FLOAT6E2M3"},
		{Tensor{DataType: String, StringData: [][]byte{{}}}, false, "data_type: STRING has no bytes, want a numeric type"},
		{Tensor{DataType: 99}, false, "data_type: DataType(99) has no elements to read"},
	} {
		d, err := DecodeTensor(c.in.Append(nil), Limits{})
		if c.decode {
			require.ErrorContains(t, err, "onnx: tensor.")
			require.ErrorContains(t, err, c.want)
			_, err = c.in.Bytes(nil) // a tensor that was not decoded gets the same checks
			if c.in.DataType != String && c.in.Dims[0] != 1<<60 {
				require.ErrorContains(t, err, c.want)
			} else {
				require.Error(t, err)
			}
			continue
		}
		require.NoError(t, err)
		d.Name = "w"
		_, err = d.Bytes(nil)
		require.EqualError(t, err, `onnx: tensor "w".`+c.want)
	}
}

func TestStrings(t *testing.T) {
	s, err := (&Tensor{DataType: String, Dims: []int64{2}, StringData: [][]byte{[]byte("é"), {}}}).Strings()
	require.NoError(t, err)
	require.Equal(t, []string{"é", ""}, s)
	_, err = (&Tensor{DataType: String, Dims: []int64{3}, StringData: [][]byte{{}}}).Strings()
	require.EqualError(t, err, "onnx: tensor.string_data: dims [3] of STRING want 3 entries, got 1")
	_, err = (&Tensor{DataType: Float}).Strings()
	require.EqualError(t, err, "onnx: tensor.data_type: FLOAT, want STRING")
}
