package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

// TestNumbers checks the shapes and elements of inputs from files of numbers, and the errors for malformed files.
func TestNumbers(t *testing.T) {
	open := input("x", dtype.F32, -1, -1)
	for name, c := range map[string]struct {
		in    onnx.ValueInfo
		file  string
		text  string
		shape shape.Shape
		want  []float32
		err   string
	}{
		"a row":                  {open, "a.txt", "1 2 3\n", shape.Of(1, 3), []float32{1, 2, 3}, ""},
		"rows":                   {open, "a.csv", "1,2\r\n3;4\r\n\r\n", shape.Of(2, 2), []float32{1, 2, 3, 4}, ""},
		"a vector":               {input("x", dtype.F32, 2), "a.txt", "-0.5\t1e3", shape.Of(2), []float32{-0.5, 1000}, ""},
		"special":                {input("x", dtype.F32, 3), "a.txt", "inf -Inf +infinity", shape.Of(3), []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Inf(1))}, ""},
		"a number":               {input("x", dtype.F32), "a.json", "7", shape.Of(), []float32{7}, ""},
		"lists":                  {open, "a.json", "[[1, 2], [3, 4], [5, 6]]", shape.Of(3, 2), []float32{1, 2, 3, 4, 5, 6}, ""},
		"lists without a batch":  {open, "a.json", "[1, 2]", shape.Of(1, 2), []float32{1, 2}, ""},
		"words":                  {input("x", dtype.F32, 2), "a.json", `["Inf", "-0"]`, shape.Of(2), []float32{float32(math.Inf(1)), 0}, ""},
		"no elements":            {input("x", dtype.F32, -1, -1), "a.json", "[[], []]", shape.Of(2, 0), nil, ""},
		"ragged rows":            {open, "a.txt", "1 2\n3\n", nil, nil, "row 2 has 1 numbers, want 2 as the first"},
		"ragged lists":           {open, "a.json", "[[1, 2], [3]]", nil, nil, "want nested lists of one depth, here of length 2"},
		"a list beside a number": {open, "a.json", "[[1], 2]", nil, nil, "want nested lists of one depth, here of length 1"},
		"a number beside a list": {open, "a.json", "[1, [2]]", nil, nil, "want numbers in lists of one depth"},
		"an object":              {open, "a.json", `{"x": 1}`, nil, nil, "want numbers in lists of one depth"},
		"null":                   {open, "a.json", "[null]", nil, nil, "want numbers in lists of one depth"},
		"more behind it":         {open, "a.json", "[1] [2]", nil, nil, "got more behind it"},
		"deep":                   {open, "a.json", "[[[[[[[[[1]]]]]]]]]", nil, nil, "lists of depth 9, want at most 8"},
		"truncated":              {open, "a.json", "[[1, 2", nil, nil, "want numbers in nested lists"},
		"empty":                  {open, "a.txt", " \n\r\n", nil, nil, "the file is empty"},
		"a word":                 {open, "a.txt", "1 two", nil, nil, `element 1, "two": invalid syntax for type f32`},
		"beyond f32":             {open, "a.txt", "1e39", nil, nil, `element 0, "1e39": value out of range for type f32`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			v, err := readNumbers(c.in, file, filepath.Ext(file) == ".json")
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.shape, v.Tensor.Shape)
			require.Equal(t, len(c.want), len(v.Tensor.Data)/4)
			require.True(t, len(c.want) == 0 || equalFloats(c.want, dtype.Slice[float32](v.Tensor.Data)), "%v", v.Tensor)
		})
	}
}

func equalFloats(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestElementsOfTypes parses numbers at the limits of each type, and numbers just beyond the limits, which must be errors.
func TestElementsOfTypes(t *testing.T) {
	for _, c := range []struct {
		d    dtype.DType
		word string
		want []byte // nil: an error
	}{
		{dtype.I8, "-128", []byte{0x80}}, {dtype.I8, "127", []byte{0x7f}}, {dtype.I8, "128", nil}, {dtype.I8, "-129", nil}, {dtype.I8, "1.0", nil},
		{dtype.U8, "255", []byte{0xff}}, {dtype.U8, "256", nil}, {dtype.U8, "-1", nil},
		{dtype.I16, "-32768", []byte{0, 0x80}}, {dtype.I16, "32768", nil}, {dtype.U16, "65535", []byte{0xff, 0xff}}, {dtype.U16, "65536", nil},
		{dtype.I32, "-2147483648", []byte{0, 0, 0, 0x80}}, {dtype.I32, "2147483648", nil}, {dtype.U32, "4294967295", []byte{0xff, 0xff, 0xff, 0xff}}, {dtype.U32, "4294967296", nil},
		{dtype.I64, "-9223372036854775808", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}, {dtype.I64, "9223372036854775808", nil},
		{dtype.U64, "18446744073709551615", bytes.Repeat([]byte{0xff}, 8)}, {dtype.U64, "18446744073709551616", nil},
		{dtype.Bool, "true", []byte{1}}, {dtype.Bool, "0", []byte{0}}, {dtype.Bool, "2", nil},
		{dtype.F32, "16777217", []byte{0, 0, 0x80, 0x4b}}, {dtype.F32, "-0", []byte{0, 0, 0, 0x80}}, {dtype.F32, "3.5e38", nil},
		{dtype.F64, "1e400", nil}, {dtype.F64, "0.1", []byte{0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f}},
		{dtype.F16, "65504", []byte{0xff, 0x7b}}, {dtype.F16, "65519", []byte{0xff, 0x7b}}, {dtype.F16, "65520", nil}, {dtype.F16, "-1e9", nil}, {dtype.F16, "inf", []byte{0, 0x7c}},
		// 1 + 2^-11 is halfway between two f16 numbers. The following numbers are so close to a midpoint that they would equal it in f32.
		{dtype.F16, "1.00048828125", []byte{0, 0x3c}}, {dtype.F16, "1.000488281250001", []byte{1, 0x3c}}, {dtype.F16, "1.001464843749999", []byte{1, 0x3c}},
		{dtype.BF16, "1.00390625", []byte{0x80, 0x3f}}, {dtype.BF16, "1.0039062500001", []byte{0x81, 0x3f}}, {dtype.BF16, "1.0117187499999", []byte{0x81, 0x3f}},
		{dtype.BF16, "3.3895313892515355e38", []byte{0x7f, 0x7f}}, {dtype.BF16, "3.4e38", nil}, {dtype.BF16, "-inf", []byte{0x80, 0xff}},
		{dtype.F8E4M3FN, "1", nil},
	} {
		got, err := elements(c.d, []string{c.word})
		if c.want == nil {
			require.Error(t, err, "%v of %s is %x", c.d, c.word, got)
			continue
		}
		require.NoError(t, err, "%v of %s", c.d, c.word)
		require.Equal(t, c.want, got, "%v of %s", c.d, c.word)
	}
}

// TestRowsOf joins values along the first dimension and splits them again.
func TestRowsOf(t *testing.T) {
	a := onnxtest.Array{DType: dtype.I16, Shape: shape.Of(2, 3), Data: []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}}
	b := onnxtest.Array{DType: dtype.I16, Shape: shape.Of(1, 3), Data: []byte{7, 0, 8, 0, 9, 0}}
	none := onnxtest.Array{DType: dtype.I16, Shape: shape.Of(0, 3)}
	all := joined([]onnxtest.Array{a, none, b})
	require.Equal(t, shape.Of(3, 3), all.Shape)
	require.Equal(t, shape.Of(2, 3), a.Shape, "the first value is as before")
	for _, c := range []struct {
		from, to int
		want     onnxtest.Array
	}{{0, 2, a}, {2, 3, b}} {
		got := rowsOf(all, c.from, c.to)
		require.Equal(t, c.want.Shape, got.Shape)
		require.Equal(t, c.want.Data, got.Data)
	}
	require.Empty(t, rowsOf(all, 1, 1).Data)
	require.Empty(t, rowsOf(none, 0, 0).Data)
}
