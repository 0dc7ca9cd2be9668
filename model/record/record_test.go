package record_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

var (
	ctx     = context.Background()
	formats = []record.Format{record.Record, record.Safetensors, record.JSON}
)

func open(t testing.TB) *tensor.Device {
	d, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// all returns a tensor of every type, a tensor of rank 0 and a tensor without elements.
func all(t testing.TB, d *tensor.Device) []nn.Entry {
	inf := math.Inf(1)
	list := []nn.Entry{
		{Name: "f64", Tensor: tensor.From(d, []float64{math.Pi, -inf, math.NaN(), 5e-324}, 2, 2)},
		{Name: "f32", Tensor: tensor.From(d, []float32{0.1, float32(inf), float32(math.Copysign(0, -1)), math.MaxFloat32}, 4)},
		{Name: "f16", Tensor: tensor.From(d, []dtype.Float16{0x3c01, 0x7c00, 1}, 3)},
		{Name: "bf16", Tensor: tensor.From(d, []dtype.BFloat16{0x3f81, 0xff80, 1}, 1, 3)},
		{Name: "i64", Tensor: tensor.From(d, []int64{math.MinInt64, math.MaxInt64})},
		{Name: "i32", Tensor: tensor.From(d, []int32{math.MinInt32, 7})},
		{Name: "i16", Tensor: tensor.From(d, []int16{-2, 7})},
		{Name: "i8", Tensor: tensor.From(d, []int8{-128, 7})},
		{Name: "u64", Tensor: tensor.From(d, []uint64{math.MaxUint64})},
		{Name: "u32", Tensor: tensor.From(d, []uint32{math.MaxUint32})},
		{Name: "u16", Tensor: tensor.From(d, []uint16{math.MaxUint16})},
		{Name: "u8", Tensor: tensor.From(d, []uint8{255, 0})},
		{Name: "bool", Tensor: tensor.From(d, []bool{true, false, true})},
		{Name: "scalar \"ü\"\n", Tensor: tensor.Scalar(d, float32(1.5))},
		{Name: "none", Tensor: d.Zeros(dtype.F32, 0, 3)},
	}
	return list
}

func TestRoundTrip(t *testing.T) {
	d := open(t)
	entries := append(all(t, d), nn.Entry{Name: "large", Tensor: d.Iota(dtype.F32, 300_000)})
	for _, f := range formats {
		t.Run(f.String(), func(t *testing.T) {
			b, err := record.Bytes(ctx, entries, record.Options{Format: f, Metadata: map[string]string{"epoch": "3"}})
			require.NoError(t, err)
			r, err := record.Parse(b)
			require.NoError(t, err)
			require.NoError(t, r.Verify())
			require.Equal(t, f, r.Format())
			require.Equal(t, map[string]string{"epoch": "3"}, r.Metadata())
			require.Len(t, r.Names(), len(entries))
			for _, e := range entries {
				got, err := r.Tensor(ctx, d, e.Name)
				require.NoError(t, err)
				require.True(t, got.Desc().SameType(e.Tensor.Desc()), "%s: %v", e.Name, got.Desc())
				want, err := e.Tensor.Bytes(ctx)
				require.NoError(t, err)
				have, err := got.Bytes(ctx)
				require.NoError(t, err)
				if f == record.JSON && e.Name == "f64" { // JSON does not keep the bits of a NaN
					require.True(t, math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(have[16:]))))
					copy(have[16:24], want[16:24])
				}
				require.True(t, bytes.Equal(want, have), e.Name)
			}
			_, err = r.Tensor(ctx, d, "other")
			require.ErrorContains(t, err, `no tensor "other"`)
		})
	}
}

type model struct {
	A, B *nn.Linear
	Norm *nn.BatchNorm
}

func build(d *tensor.Device) *model {
	return &model{nn.NewLinear(d, 3, 4, nn.LinearConfig{}), nn.NewLinear(d, 4, 2, nn.LinearConfig{}), nn.NewBatchNorm(d, 2, nn.BatchNormConfig{})}
}

func TestModule(t *testing.T) {
	d := open(t)
	m, dir := build(d), t.TempDir()
	for _, name := range []string{"m.burn", "m.safetensors", "m.json"} {
		path := filepath.Join(dir, name)
		require.NoError(t, record.SaveModule(ctx, path, m, record.Options{}))
		other := build(d)
		report, err := record.LoadModule(ctx, path, other, nn.LoadOptions{})
		require.NoError(t, err)
		require.Len(t, report.Loaded, 8)
		for i, e := range nn.StateDict(m) {
			same, err := e.Tensor.AllEqual(ctx, nn.StateDict(other)[i].Tensor)
			require.NoError(t, err)
			require.True(t, same, e.Name)
		}
		before, err := tensor.Data[float32](ctx, other.A.Weight.Value())
		require.NoError(t, err)
		type wrong struct {
			A    *nn.Linear
			C    *nn.Linear
			Norm *nn.BatchNorm
		}
		w := &wrong{nn.NewLinear(d, 3, 5, nn.LinearConfig{}), other.B, other.Norm}
		report, err = record.LoadModule(ctx, path, w, nn.LoadOptions{})
		require.Error(t, err)
		require.Equal(t, []string{"c.weight", "c.bias"}, report.Missing)
		require.ElementsMatch(t, []string{"b.weight", "b.bias"}, report.Unexpected)
		require.Len(t, report.Mismatched, 2)
		after, err := tensor.Data[float32](ctx, other.A.Weight.Value())
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	_, err := record.LoadModule(ctx, filepath.Join(dir, "none"), m, nn.LoadOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPrecision(t *testing.T) {
	d := open(t)
	entries := []nn.Entry{{Name: "x", Tensor: tensor.From(d, []float32{1.00048828125, 3e5})}, {Name: "n", Tensor: tensor.From(d, []int64{1 << 40})}}
	for dt, want := range map[dtype.DType][]float64{dtype.F64: {1.00048828125, 3e5}, dtype.F32: {1.00048828125, 3e5},
		dtype.F16: {1, math.Inf(1)}, dtype.BF16: {1, 299008}} {
		b, err := record.Bytes(ctx, entries, record.Options{Precision: dt})
		require.NoError(t, err)
		r, err := record.Parse(b)
		require.NoError(t, err)
		require.Equal(t, dt, r.Infos()[0].DType)
		require.Equal(t, dtype.I64, r.Infos()[1].DType)
		x, err := r.Tensor(ctx, d, "x")
		require.NoError(t, err)
		got, err := tensor.DataAs[float64](ctx, x)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := record.Bytes(ctx, entries, record.Options{Precision: dtype.I8})
	require.ErrorContains(t, err, "precision i8")
	_, err = record.Bytes(ctx, append(entries, entries[0]), record.Options{})
	require.ErrorContains(t, err, "given twice")
}

// TestDamage truncates files of every format at every length, and changes every byte of a record. The other formats have no checksums.
func TestDamage(t *testing.T) {
	d := open(t)
	for _, f := range formats {
		b, err := record.Bytes(ctx, all(t, d), record.Options{Format: f})
		require.NoError(t, err)
		for n := range b {
			if f == record.JSON && n == len(b)-1 { // the final line break
				continue
			}
			_, err := record.Parse(b[:n])
			require.ErrorIs(t, err, record.ErrCorrupt, "%v cut at %d of %d", f, n, len(b))
		}
		_, err = record.Parse(append(bytes.Clone(b), 'x'))
		require.ErrorIs(t, err, record.ErrCorrupt)
		if f != record.Record {
			continue
		}
		for n := range b {
			c := bytes.Clone(b)
			c[n] ^= 0x10
			r, err := record.Parse(c)
			if err == nil {
				err = r.Verify()
			}
			require.ErrorIs(t, err, record.ErrCorrupt, "%v changed at %d", f, n)
		}
	}
}

// TestMovedChunks exchanges two chunks together with their checksums.
func TestMovedChunks(t *testing.T) {
	d := open(t)
	b, err := record.Bytes(ctx, []nn.Entry{{Name: "x", Tensor: d.Iota(dtype.F32, 1<<19)}}, record.Options{})
	require.NoError(t, err)
	const chunk = 1<<20 + 4
	at := len(b) - 8 - 2*chunk
	c := append(append(append(bytes.Clone(b[:at]), b[at+chunk:at+2*chunk]...), b[at:at+chunk]...), b[at+2*chunk:]...)
	r, err := record.Parse(c)
	require.NoError(t, err)
	require.ErrorContains(t, r.Verify(), "chunk 0")
}

// TestSafetensorsBytes compares a written file with bytes composed by hand from the specification of the format.
func TestSafetensorsBytes(t *testing.T) {
	d := open(t)
	header := `{"__metadata__":{"k":"v"},"w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BOOL","shape":[1],"data_offsets":[4,5]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	want = append(want, 1, 0, 0xfe, 0xff, 1)
	got, err := record.Bytes(ctx, []nn.Entry{{Name: "b", Tensor: tensor.From(d, []bool{true})}, {Name: "w", Tensor: tensor.From(d, []int16{1, -2})}},
		record.Options{Format: record.Safetensors, Metadata: map[string]string{"k": "v"}})
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestHostileSafetensors(t *testing.T) {
	for name, header := range map[string]string{
		"hole":      `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`,
		"overlap":   `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`,
		"rest":      `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
		"beyond":    `{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}`,
		"backwards": `{"a":{"dtype":"U8","shape":[0],"data_offsets":[2,0]}}`,
		"twice":     `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`,
		"overflow":  `{"a":{"dtype":"F64","shape":[4294967296,4294967296,2],"data_offsets":[0,2]}}`,
		"negative":  `{"a":{"dtype":"U8","shape":[-1,-2],"data_offsets":[0,2]}}`,
		"type":      `{"a":{"dtype":"Q64","shape":[2],"data_offsets":[0,2]}}`,
		"no type":   `{"a":{"shape":[2],"data_offsets":[0,2]}}`,
		"two":       `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}{}`,
		"array":     `[]`, "metadata": `{"__metadata__":{"a":1}}`,
	} {
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		_, err := record.Parse(append(b, 1, 2))
		require.ErrorIs(t, err, record.ErrCorrupt, name)
	}
	_, err := record.Parse(append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "{}"...))
	require.ErrorIs(t, err, record.ErrCorrupt)
}

// The types of the specification that burn has no arithmetic for are no damage.
func TestSafetensorsOfOtherTypes(t *testing.T) {
	for _, d := range []string{"F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "C64"} {
		header := `{"a":{"dtype":"` + d + `","shape":[2],"data_offsets":[0,2]}}`
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		_, err := record.Parse(append(b, 1, 2))
		require.ErrorIs(t, err, core.ErrUnsupported)
		require.NotErrorIs(t, err, record.ErrCorrupt)
		require.ErrorContains(t, err, `tensor "a" of type "`+d+`", want F64`)
	}
}

// fullDisk is a writer that fails after left bytes.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (w *fullDisk) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFullDisk(t *testing.T) {
	d := open(t)
	entries := all(t, d)
	for _, f := range formats {
		b, err := record.Bytes(ctx, entries, record.Options{Format: f})
		require.NoError(t, err)
		for n := 0; n < len(b); n += 7 {
			require.ErrorIs(t, record.Write(ctx, &fullDisk{n}, entries, record.Options{Format: f}), errFull)
		}
	}
}

// TestOldFileStays makes a save fail midway, because of a released tensor. The old file must stay as it was.
func TestOldFileStays(t *testing.T) {
	d := open(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.burn")
	good := []nn.Entry{{Name: "x", Tensor: d.Iota(dtype.F32, 1<<18)}}
	require.NoError(t, record.Save(ctx, path, good, record.Options{}))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	bad := tensor.From(d, []float32{1})
	bad.Release()
	require.ErrorContains(t, record.Save(ctx, path, append(good, nn.Entry{Name: "y", Tensor: bad}), record.Options{}), "is as it was")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Error(t, record.Save(ctx, dir, good, record.Options{}), "a folder")
	require.Error(t, record.Save(ctx, filepath.Join(dir, "no", "m"), good, record.Options{}))
	if runtime.GOOS == "linux" {
		require.NoError(t, os.Chmod(path, 0o640))
		require.NoError(t, record.Save(ctx, path, good, record.Options{}))
		s, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o640), s.Mode().Perm())
	}
}

func FuzzParse(f *testing.F) {
	d := open(f)
	for _, format := range formats {
		b, err := record.Bytes(ctx, all(f, d)[4:], record.Options{Format: format})
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := record.Parse(b)
		if err != nil {
			return
		}
		total := int64(0)
		for _, i := range r.Infos() {
			total += i.Bytes()
			_, data, err := r.Bytes(i.Name)
			if err == nil {
				require.Len(t, data, int(i.Bytes()))
			}
		}
		require.LessOrEqual(t, total, int64(8*len(b)), "no more memory than the file accounts for")
	})
}
