package record_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// crc32c computes CRC-32C bit by bit from its polynomial.
func crc32c(parts ...[]byte) uint32 {
	crc := ^uint32(0)
	for _, p := range parts {
		for _, b := range p {
			crc ^= uint32(b)
			for range 8 {
				crc = crc>>1 ^ 0x82f63b78*(crc&1)
			}
		}
	}
	return ^crc
}

// byHand returns a record as the package's documentation describes it: a header, and for each tensor its chunks.
func byHand(header string, tensors ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("\x89BURNREC"), 1)
	b = append(le.AppendUint32(b, uint32(len(header))), header...)
	b = le.AppendUint32(b, crc32c(b))
	for i, data := range tensors {
		for k := 0; len(data) > 0; k++ {
			chunk := data[:min(len(data), 1<<20)]
			data = data[len(chunk):]
			place := le.AppendUint64(le.AppendUint64(nil, uint64(i)), uint64(k))
			b = le.AppendUint32(append(b, chunk...), crc32c(place, chunk))
		}
	}
	return append(b, "BURNEND\n"...)
}

func TestRecordByHand(t *testing.T) {
	require.Equal(t, uint32(0xe3069283), crc32c([]byte("123456789")), "the check value of the catalogue of CRCs")
	d := open(t)
	large := make([]byte, 1<<20+3)
	for i := range large {
		large[i] = byte(i * 7)
	}
	header := `{"metadata":{"k":"v"},"tensors":[{"name":"n","dtype":"i16","shape":[2]},{"name":"e","dtype":"f32","shape":[0,3]},{"name":"s","dtype":"f32","shape":[]},{"name":"l","dtype":"u8","shape":[1048579]}]}`
	want := byHand(header, []byte{1, 0, 0xfe, 0xff}, nil, []byte{0, 0, 0xc0, 0x3f}, large)
	got, err := record.Bytes(ctx, []nn.Entry{{Name: "n", Tensor: tensor.From(d, []int16{1, -2})}, {Name: "e", Tensor: d.Zeros(dtype.F32, 0, 3)}, {Name: "s", Tensor: tensor.Scalar(d, float32(1.5))},
		{Name: "l", Tensor: tensor.From(d, large)}}, record.Options{Metadata: map[string]string{"k": "v"}})
	require.NoError(t, err)
	require.Equal(t, want, got)
	r, err := record.Parse(want)
	require.NoError(t, err)
	require.NoError(t, r.Verify())
	require.Equal(t, []string{"n", "e", "s", "l"}, r.Names())
	require.Equal(t, record.Record, r.Format())
	_, b, err := r.Bytes("l")
	require.NoError(t, err)
	require.Equal(t, large, b)
	_, _, err = r.Bytes("none")
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NoError(t, r.Close(), "there is no file")
}

// Records with a correct checksum but an illegal header are refused before any tensor is allocated.
func TestLyingRecords(t *testing.T) {
	one := func(dtype, shape string) string {
		return `{"tensors":[{"name":"x","dtype":"` + dtype + `","shape":` + shape + `}]}`
	}
	data := []byte{1, 0, 0, 0}
	for say, header := range map[string]string{
		`tensor "x" of type "f33"`:                        one("f33", "[1]"),
		`tensor "x" of type ""`:                           `{"tensors":[{"name":"x","shape":[1]}]}`,
		`tensor "": a name that is empty or given twice`:  `{"tensors":[{"dtype":"u8","shape":[4]}]}`,
		`tensor "x": a name that is empty or given twice`: `{"tensors":[{"name":"x","dtype":"u8","shape":[4]},{"name":"x","dtype":"u8","shape":[0]}]}`,
		`tensor "x" of dimensions [-1]`:                   one("u8", "[-1]"),
		`tensor "x" of rank 9, want at most 8`:            one("u8", "[1,1,1,1,1,1,1,1,1]"),
		`tensor "x" of dimensions [140737488289793]`:      one("u8", "[140737488289793]"),
		`has too many elements`:                           one("f64", "[1099511627776,1099511627776]"),
		`tensor "x" of 1099511627776 bytes in a file`:     one("u8", "[1099511627776]"),
		`a file of`:                             one("u8", "[3]"),
		`which was cut off`:                     one("u8", "[40]"),
		`header: no JSON of the format`:         one("u8", `["4"]`),
		`header: no JSON of the format (<nil>)`: one("u8", "[4]") + " ",
		`tensor "x" of type "f4e2m1"`:           one("f4e2m1", "[8]"),
	} {
		_, err := record.Parse(byHand(header, data))
		require.ErrorIs(t, err, record.ErrCorrupt, say)
		require.ErrorContains(t, err, say)
	}
	good := byHand(one("bool", "[4]"), data)
	r, err := record.Parse(good)
	require.NoError(t, err)
	require.NoError(t, r.Verify())
	r, err = record.Parse(byHand(one("bool", "[4]"), []byte{1, 0, 2, 0}))
	require.NoError(t, err, "the layout is right")
	require.ErrorContains(t, r.Verify(), "bool 2 is 2, want 0 or 1")
	for at := range good { // a change of any byte is detected
		for _, flip := range []byte{1, 0x80} {
			bad := append([]byte(nil), good...)
			bad[at] ^= flip
			if r, err := record.Parse(bad); err == nil {
				require.ErrorIs(t, r.Verify(), record.ErrCorrupt, "byte %d", at)
			}
		}
	}
	newer := append([]byte(nil), good...)
	newer[8] = 2
	_, err = record.Parse(newer)
	require.ErrorIs(t, err, record.ErrCorrupt, "its checksum is that of version 1")
	end := 16 + len(one("bool", "[4]"))
	binary.LittleEndian.PutUint32(newer[end:], crc32c(newer[:end]))
	_, err = record.Parse(newer)
	require.ErrorContains(t, err, "record version 2, want 1")
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.NotErrorIs(t, err, record.ErrCorrupt)
	for n := range good {
		_, err := record.Parse(good[:n])
		require.ErrorIs(t, err, record.ErrCorrupt, "%d bytes", n)
	}
	_, err = record.Parse(append(good[:len(good):len(good)], 0))
	require.ErrorIs(t, err, record.ErrCorrupt)
}

// JSON numbers at the limits of each type. A number that does not fit is refused, not truncated.
func TestJSONNumbers(t *testing.T) {
	for _, c := range []struct {
		d    string
		text string
		want []byte // nil: refused
	}{
		{"i8", "-128", []byte{0x80}}, {"i8", "127", []byte{0x7f}}, {"i8", "128", nil}, {"i8", "-129", nil}, {"i8", "1.0", nil}, {"i8", "1e1", nil}, {"i8", "null", nil}, {"i8", `"1"`, nil},
		{"u8", "255", []byte{255}}, {"u8", "256", nil}, {"u8", "-1", nil}, {"bool", "1", []byte{1}}, {"bool", "2", nil}, {"bool", "true", nil},
		{"i64", "-9223372036854775808", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}, {"i64", "9223372036854775808", nil}, {"u64", "18446744073709551615", []byte{255, 255, 255, 255, 255, 255, 255, 255}}, {"u64", "18446744073709551616", nil},
		{"f64", "0.1", []byte{0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f}}, {"f64", "1e400", nil}, {"f32", "0.1", []byte{0xcd, 0xcc, 0xcc, 0x3d}}, {"f32", "-0", []byte{0, 0, 0, 0x80}}, {"f32", "3.5e38", nil},
		{"f32", `"NaN"`, []byte{0, 0, 0xc0, 0x7f}}, {"f32", `"+Inf"`, []byte{0, 0, 0x80, 0x7f}}, {"f32", `"-Inf"`, []byte{0, 0, 0x80, 0xff}}, {"f32", `"Inf"`, nil}, {"f32", `"1"`, nil}, {"f32", "[1]", nil}, {"f32", "{}", nil},
		{"f16", "65504", []byte{0xff, 0x7b}}, {"f16", "65519.99", []byte{0xff, 0x7b}}, {"f16", "65520", nil}, {"f16", "-1e6", nil}, {"f16", `"-Inf"`, []byte{0, 0xfc}},
		{"f16", "1.00048828125001", []byte{1, 0x3c}}, // above the midpoint of two f16 numbers by less than f32 can represent
		{"f16", "0.1", []byte{0x66, 0x2e}}, {"bf16", "1.003906250001", []byte{0x81, 0x3f}}, {"bf16", "3.4e38", nil}, {"bf16", "3.3e38", []byte{0x78, 0x7f}}, {"bf16", `"NaN"`, []byte{0xc0, 0x7f}},
	} {
		text := fmt.Sprintf(`{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": %q, "shape": [1], "data": [%s]}]}`, c.d, c.text)
		r, err := record.Parse([]byte(text))
		if c.want == nil {
			require.ErrorIs(t, err, record.ErrCorrupt, "%s as %s", c.text, c.d)
			require.ErrorContains(t, err, `tensor "x": element 0: `)
			continue
		}
		require.NoError(t, err, "%s as %s", c.text, c.d)
		_, b, err := r.Bytes("x")
		require.NoError(t, err)
		require.Equal(t, c.want, b, "%s as %s", c.text, c.d)
	}
}

func TestLyingJSON(t *testing.T) {
	for say, text := range map[string]string{
		`JSON of format "" version 0`:                     `{}`,
		`JSON of format "burn-record" version 0`:          `{"format": "burn-record"}`,
		`JSON of format "burn-record" version 1, want`:    `{"format": "burn-record", "version": 1} {}`,
		"unexpected EOF":                                  `{"format": "burn-record", "version": 1, "tensors": [`,
		`tensor "x" has 1 elements, want the 2 of shape`:  `{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": "u8", "shape": [2], "data": [1]}]}`,
		`tensor "x" has 1 elements, want the 0 of shape`:  `{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": "u8", "shape": [0], "data": [1]}]}`,
		`tensor "x": a name that is empty or given twice`: `{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": "u8", "shape": [0]}, {"name": "x", "dtype": "u8", "shape": [0]}]}`,
		`tensor "x" of type "q"`:                          `{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": "q", "shape": []}]}`,
		"cannot unmarshal":                                `{"format": "burn-record", "version": 1, "tensors": [{"name": "x", "dtype": "u8", "shape": [1.5]}]}`,
		"that begin with \"[]\"":                          `[]`,
		"0 bytes that begin with":                         "",
		"9 bytes that begin with":                         strings.Repeat("x", 9),
	} {
		_, err := record.Parse([]byte(text))
		require.ErrorIs(t, err, record.ErrCorrupt, say)
		require.ErrorContains(t, err, say)
	}
	_, err := record.Parse([]byte(`{"format": "burn-record", "version": 2}`))
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, `JSON of format "burn-record" version 2, want "burn-record" version 1`)
}

// The file was written by the reference implementation: safetensors.numpy.save of safetensors 0.8.0, with metadata {"by": "hand"}.
func TestSafetensorsOfReference(t *testing.T) {
	file := "8\x01\x00\x00\x00\x00\x00\x00" + `{"__metadata__":{"by":"hand"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},` +
		`"h":{"dtype":"F16","shape":[2],"data_offsets":[24,28]},"e":{"dtype":"U8","shape":[0,3],"data_offsets":[28,28]},"b":{"dtype":"BOOL","shape":[2],"data_offsets":[28,30]}}       ` +
		"\xf9\xff\xff\xff\xff\xff\xff\xff\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00\x80>\xe6\xb1a\x7f\x00>\x00\x80\x01\x00"
	d := open(t)
	r, err := record.Parse([]byte(file))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"by": "hand"}, r.Metadata())
	require.Equal(t, record.Safetensors, r.Format())
	w, err := r.Tensor(ctx, d, "w")
	require.NoError(t, err)
	got, err := tensor.Data[float32](ctx, w)
	require.NoError(t, err)
	require.Equal(t, []float32{1.5, -2, 0.25, 3e38}, got)
	n, err := r.Tensor(ctx, d, "n")
	require.NoError(t, err)
	require.Zero(t, n.Rank())
	number, err := tensor.Data[int64](ctx, n)
	require.NoError(t, err)
	require.Equal(t, []int64{-7}, number)
	h, err := r.Tensor(ctx, d, "h")
	require.NoError(t, err)
	halves, err := tensor.Data[dtype.Float16](ctx, h)
	require.NoError(t, err)
	require.Equal(t, float32(1.5), halves[0].Float32())
	require.True(t, math.Signbit(float64(halves[1].Float32())))
	require.Equal(t, record.Info{Name: "e", DType: dtype.U8, Shape: []int{0, 3}}, r.Infos()[3])
	var back []nn.Entry
	for _, name := range r.Names() {
		x, err := r.Tensor(ctx, d, name)
		require.NoError(t, err)
		back = append(back, nn.Entry{Name: name, Tensor: x})
	}
	again, err := record.Bytes(ctx, back, record.Options{Format: record.Safetensors, Metadata: r.Metadata()})
	require.NoError(t, err)
	copied, err := record.Parse(again)
	require.NoError(t, err)
	for _, name := range r.Names() {
		_, a, err := r.Bytes(name)
		require.NoError(t, err)
		_, b, err := copied.Bytes(name)
		require.NoError(t, err)
		require.Equal(t, a, b, name)
	}
}
