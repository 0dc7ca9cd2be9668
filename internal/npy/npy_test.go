package npy

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".npy"))
	require.NoError(t, err)
	return b
}

// le returns the little-endian bytes of a number or of a slice of numbers.
func le(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, v))
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	two3 := []int{2, 3}
	type row struct {
		file string
		want *Array
	}
	var rows []row
	for np, want := range map[string]*Array{
		"u1": {"u8", two3, le(t, []uint8{0, 1, 2, 3, 4, 5})},
		"u2": {"u16", two3, le(t, []uint16{0, 1, 2, 3, 4, 5})},
		"u4": {"u32", two3, le(t, []uint32{0, 1, 2, 3, 4, 5})},
		"u8": {"u64", two3, le(t, []uint64{0, 1, 2, 3, 4, 5})},
		"i1": {"i8", two3, le(t, []int8{-2, -1, 0, 1, 2, 3})},
		"i2": {"i16", two3, le(t, []int16{-2, -1, 0, 1, 2, 3})},
		"i4": {"i32", two3, le(t, []int32{-2, -1, 0, 1, 2, 3})},
		"i8": {"i64", two3, le(t, []int64{-2, -1, 0, 1, 2, 3})},
		"f2": {"f16", two3, le(t, []uint16{0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200})},
		"f4": {"f32", two3, le(t, []float32{-2, -1, 0, 1, 2, 3})},
		"f8": {"f64", two3, le(t, []float64{-2, -1, 0, 1, 2, 3})},
	} {
		rows = append(rows, row{"le_" + np, want}, row{"be_" + np, want})
	}
	fortran := make([]int16, 24)
	for i := range fortran {
		fortran[i] = int16(i)
	}
	ramp := &Array{"i32", two3, le(t, []int32{0, 1, 2, 3, 4, 5})}
	rows = append(rows,
		row{"b1", &Array{"bool", []int{3}, []byte{1, 0, 1}}},
		row{"scalar", &Array{"f32", []int{}, le(t, float32(2.5))}},
		row{"empty", &Array{"f64", []int{2, 0, 3}, nil}},
		row{"fortran", &Array{"i16", []int{2, 3, 4}, le(t, fortran)}},
		row{"fortran_be", &Array{"f32", two3, le(t, []float32{0, 1, 2, 3, 4, 5})}},
		row{"v2", ramp}, row{"v3", ramp},
		row{"rank8", &Array{"u16", []int{1, 2, 1, 1, 2, 1, 1, 1}, le(t, []uint16{0, 1, 2, 3})}},
		row{"pad64", &Array{"u8", []int{1, 0, 10, 10, 10, 10, 10, 10, 10, 10, 1000}, nil}},
	)
	for _, c := range rows {
		t.Run(c.file, func(t *testing.T) {
			file := golden(t, c.file)
			r := bytes.NewReader(append(bytes.Clone(file), "next"...))
			a, err := Read(r, 0)
			require.NoError(t, err)
			require.Equal(t, c.want.DType, a.DType)
			require.Equal(t, c.want.Shape, a.Shape)
			require.True(t, bytes.Equal(c.want.Data, a.Data), "want %x, got %x", c.want.Data, a.Data)
			require.Equal(t, 4, r.Len(), "Read leaves the bytes after the array unread")

			var out bytes.Buffer
			require.NoError(t, Write(&out, c.want))
			if same := !strings.HasPrefix(c.file, "be_") && !strings.HasPrefix(c.file, "fortran") && c.file[0] != 'v'; same {
				require.Equal(t, file, out.Bytes(), "Write writes the same bytes as NumPy")
			}
			if c.file == "be_u1" || c.file == "be_i1" {
				require.Equal(t, file, out.Bytes())
			}
			back, err := Read(&out, 0)
			require.NoError(t, err)
			require.Equal(t, a, back)

			for n := range file { // every truncation
				_, err := Read(bytes.NewReader(file[:n]), 0)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			}
		})
	}
}

// file returns a file of version 1.0 with a header text.
func file(text string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0, byte(len(text)), byte(len(text)>>8))
	return append(append(b, text...), data...)
}

func TestReadErrors(t *testing.T) {
	head := func(shape string) []byte {
		return file("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}")
	}
	for _, c := range []struct {
		in   []byte
		want string
	}{
		{golden(t, "complex"), `npy: header: dtype "<c8" is not supported, want a bool, integer or float of 1 to 8 bytes`},
		{golden(t, "text"), `npy: header: dtype "<U1" is not supported`},
		{golden(t, "structured"), `npy: header: structured arrays are not supported`},
		{[]byte("PK\x03\x04 a zip file"), `npy: magic: want "\x93NUMPY", got "PK\x03\x04 a": not an .npy file`},
		{golden(t, "scalar")[:3], `npy: magic: want 10 bytes, got 3: unexpected EOF`},
		{golden(t, "scalar")[:20], `npy: header: want 118 bytes, got 10: unexpected EOF`},
		{golden(t, "le_f4")[:140], `npy: data: f32 [2 3] is 24 bytes, got 12: unexpected EOF`},
		{[]byte(magic + "\x04\x00\x00\x00"), `npy: version: want 1.0, 2.0 or 3.0, got 4.0`},
		{[]byte(magic + "\x02\x00\xff\xff\xff\xff"), `npy: header: 4294967295 bytes, limit 65536`},
		{head("(9223372036854775807,)"), `npy: header: shape [9223372036854775807] overflows`},
		{head("(4294967296, 4294967296)"), `overflows`},
		{head("(99999999999999999999,)"), `header: at byte 51: want a size, got "999999999999"`},
		{head("(-1,)"), `want a size, got "-1,)}"`},
		{head("(3)"), `want ','`},
		{head("(3 4)"), `want ',' or ')'`},
		{head("(" + strings.Repeat("1,", 65) + ")"), `rank above 64`},
		{head("(1000000000,)"), `npy: data: f32 [1000000000] is 4000000000 bytes, limit 1000000`},
		{file(""), `want '{', got the end`},
		{file("{'descr': '<f4'}"), `key "fortran_order" missing`},
		{file("{'descr': '<f4', 'descr': '<f4'}"), `key "descr" twice`},
		{file("{'descr': '<f4' 'x'}"), `want ',' or '}', got "'x'}"`},
		{file("{'color': 'red'}"), `unknown key "color"`},
		{file("{'descr': '<f4"), `want a string that ends`},
		{file("{'descr': 'f4'}"), `dtype "f4" is not supported`},
		{file("{'descr': '|f4'}"), `dtype "|f4" is not supported`},
		{file("{'fortran_order': 0}"), `want True or False, got "0}"`},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"), `want the end, got "x"`},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': ()}\x00"), `want the end`},
	} {
		_, err := Read(bytes.NewReader(c.in), 1000000)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "npy: ")
	}
}

// TestReadLoose reads a header that NumPy accepts but does not write.
func TestReadLoose(t *testing.T) {
	a, err := Read(bytes.NewReader(file("\t{ \"shape\":(2L , 1L,),\"fortran_order\" : True,'descr':'|b1'}\n", 7, 0)), 2)
	require.NoError(t, err)
	require.Equal(t, &Array{"bool", []int{2, 1}, []byte{1, 0}}, a)
}

func TestWriteErrors(t *testing.T) {
	for _, c := range []struct {
		in   Array
		want string
	}{
		{Array{"bf16", []int{1}, make([]byte, 2)}, `npy: write: dtype "bf16" has no .npy type`},
		{Array{"f32", []int{2}, make([]byte, 4)}, `npy: write: f32 [2] want 8 bytes of data, got 4`},
		{Array{"f32", []int{-1}, nil}, `npy: write: shape [-1] has a negative dimension`},
		{Array{"u8", make([]int, 65), nil}, `npy: write: shape has rank 65, want at most 64`},
	} {
		var b bytes.Buffer
		require.EqualError(t, Write(&b, &c.in), c.want)
		require.Zero(t, b.Len())
	}
	require.ErrorIs(t, Write(failing{}, &Array{"u8", nil, []byte{1}}), io.ErrClosedPipe)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzRead(f *testing.F) {
	for _, name := range []string{"le_f4", "be_u2", "fortran", "scalar", "empty", "v2", "v3", "b1", "structured"} {
		f.Add(golden(f, name))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := Read(bytes.NewReader(in), 1<<20)
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, Write(&out, a))
		back, err := Read(&out, 1<<20)
		require.NoError(t, err)
		require.Equal(t, a, back)
	})
}
