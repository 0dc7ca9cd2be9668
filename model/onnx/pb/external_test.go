package pb

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func externalTensor(dt DataType, dims []int64, kv ...string) *Tensor {
	t := &Tensor{Name: "w", DataType: dt, Dims: dims, Location: LocationExternal}
	for i := 0; i < len(kv); i += 2 {
		t.External = append(t.External, &Property{kv[i], kv[i+1]})
	}
	return t
}

func TestExternalData(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "model")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	data := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	require.NoError(t, os.WriteFile(filepath.Join(top, "secret.bin"), data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.bin"), data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "w.bin"), data[5:], 0o644))
	links := runtime.GOOS != "windows" // creating links needs a privilege there
	if links {
		require.NoError(t, os.Symlink("sub/w.bin", filepath.Join(dir, "inside")))
		require.NoError(t, os.Symlink("../secret.bin", filepath.Join(dir, "outside")))
		require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	}
	files, err := OpenDir(dir)
	require.NoError(t, err)
	defer files.Close()

	two := []int64{2}
	for _, c := range []struct {
		in   *Tensor
		want []byte
		err  string
		link bool
	}{
		{in: externalTensor(Int16, two, "location", "w.bin"), want: data[:4]},
		{in: externalTensor(Int16, two, "location", "w.bin", "offset", "6", "length", "4", "checksum", "x"), want: data[6:]},
		{in: externalTensor(Int4, []int64{3}, "location", "w.bin", "offset", "8"), want: []byte{0xf8, 0, 0xf9}},
		{in: externalTensor(Uint4, []int64{3}, "location", "w.bin", "offset", "8"), want: []byte{8, 0, 9}},
		{in: externalTensor(Uint8, two, "location", "sub/w.bin"), want: data[5:7]},
		{in: externalTensor(Uint8, two, "location", "sub/../w.bin"), want: data[:2]},
		{in: externalTensor(Uint8, []int64{0}, "location", "w.bin", "offset", "10"), want: []byte{}},
		{in: externalTensor(Uint8, two, "location", "inside"), want: data[5:7], link: true},
		{in: externalTensor(Int16, two, "location", "w.bin", "offset", "7"), err: `"w.bin": want 4 bytes at offset 7, file has 10`},
		{in: externalTensor(Int16, two, "location", "w.bin", "offset", "11"), err: `want 4 bytes at offset 11, file has 10`},
		{in: externalTensor(Float, []int64{1 << 33}, "location", "w.bin"), err: `want 34359738368 bytes at offset 0, file has 10`},
		{in: externalTensor(Int16, two, "location", "w.bin", "length", "5"), err: `dims [2] of INT16 want 4 bytes, length is 5`},
		{in: externalTensor(Int16, two, "location", "w.bin", "offset", "-1"), err: `offset "-1", want a number of bytes`},
		{in: externalTensor(Int16, two, "location", "w.bin", "length", "1e3"), err: `length "1e3", want a number of bytes`},
		{in: externalTensor(Int16, two, "offset", "0"), err: "no location"},
		{in: externalTensor(Int16, two, "location", "none.bin"), err: `"none.bin": `},
		{in: externalTensor(Int16, two, "location", "sub"), err: `"sub": not a regular file`},
		{in: externalTensor(Int16, two, "location", "../secret.bin"), err: `"../secret.bin": want a path inside the model's directory`},
		{in: externalTensor(Int16, two, "location", "sub/../../secret.bin"), err: "want a path inside the model's directory"},
		{in: externalTensor(Int16, two, "location", filepath.Join(top, "secret.bin")), err: "want a path inside the model's directory"},
		{in: externalTensor(Int16, two, "location", "outside"), err: `"outside": `, link: true},
		{in: externalTensor(Int16, two, "location", "up/secret.bin"), err: `"up/secret.bin": `, link: true},
		{in: externalTensor(String, two, "location", "w.bin"), err: "STRING has no bytes"},
	} {
		if c.link && !links {
			continue
		}
		got, err := c.in.Bytes(files)
		if c.err != "" {
			require.ErrorContains(t, err, `onnx: tensor "w".`, "%v", *c.in.External[0])
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err = externalTensor(Int16, two, "location", "w.bin").Bytes(nil)
	require.ErrorContains(t, err, `data is in file "w.bin", but there is no directory to read it from`)
}

// TestExternalSparse reads beyond 4 GiB, where 32-bit offsets would wrap.
func TestExternalSparse(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	require.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte{1, 2, 3}, 5<<30); err != nil {
		t.Skipf("the temporary folder takes no sparse file of 5 GiB: %v", err)
	}
	files, err := OpenDir(dir)
	require.NoError(t, err)
	defer files.Close()
	b, err := externalTensor(Uint8, []int64{3}, "location", "big", "offset", "5368709120").Bytes(files)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, b)
}

func TestOpenDirErrors(t *testing.T) {
	_, err := OpenDir(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	files, err := OpenDir(t.TempDir())
	require.NoError(t, err)
	defer files.Close()
	_, err = externalTensor(Uint8, nil, "location", "absent").Bytes(files)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = externalTensor(Uint8, nil, "location", strings.Repeat("x", 100000)).Bytes(files)
	require.Less(t, len(err.Error()), 400)
}
