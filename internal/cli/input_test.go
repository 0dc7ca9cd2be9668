package cli

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/stretchr/testify/require"
)

// input returns a declared tensor input; -1 is an open dimension.
func input(name string, d dtype.DType, dims ...int) onnx.ValueInfo {
	in := onnx.ValueInfo{Name: name, Kind: onnx.TensorKind, DType: d, TypeName: d.String(), Ranked: true}
	for _, n := range dims {
		in.Shape = append(in.Shape, onnx.Dim{Size: n})
	}
	return in
}

func TestInputFiles(t *testing.T) {
	one := []onnx.ValueInfo{input("x", dtype.F32, 2)}
	two := []onnx.ValueInfo{input("x", dtype.F32, 2), input("x=y", dtype.F32, 2)}
	weight := input("w", dtype.F32, 2)
	weight.Default = true
	old := []onnx.ValueInfo{one[0]}
	for range maxDefaults + 1 {
		old = append(old, weight)
	}
	odd := filepath.Join(t.TempDir(), "a=b.npy")
	require.NoError(t, os.WriteFile(odd, nil, 0o600))
	for name, c := range map[string]struct {
		inputs []onnx.ValueInfo
		args   []string
		want   map[string]string
		err    string
	}{
		"named":           {one, []string{"x=f.npy"}, map[string]string{"x": "f.npy"}, ""},
		"nameless":        {one, []string{"f.npy"}, map[string]string{"x": "f.npy"}, ""},
		"= in the file":   {one, []string{odd}, map[string]string{"x": odd}, ""},
		"= in the value":  {one, []string{"x=a=b"}, map[string]string{"x": "a=b"}, ""},
		"longest name":    {two, []string{"x=y=f", "x=g"}, map[string]string{"x=y": "f", "x": "g"}, ""},
		"default":         {old, []string{"f.npy", "w=g.npy"}, map[string]string{"x": "f.npy", "w": "g.npy"}, ""},
		"unknown of many": {old, []string{"z=f"}, nil, `--input: the model has no input "z", it has x, 9 more that have a default`},
		"unknown":         {one, []string{"z=f.npy"}, nil, `--input: the model has no input "z", it has x`},
		"nameless of two": {two, []string{"f.npy"}, nil, "--input f.npy: the model has 2 inputs, want NAME=FILE with one of x, x=y"},
		"twice":           {one, []string{"x=f", "g"}, nil, "--input: x is given twice: f and g"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputFiles(c.inputs, c.args)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func writeArray(t *testing.T, d string, dims []int, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npy")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, npy.Write(f, &npy.Array{DType: d, Shape: dims, Data: data}))
	require.NoError(t, f.Close())
	return path
}

func TestReadInput(t *testing.T) {
	x := input("x", dtype.F32, -1, 2)
	good := writeArray(t, "f32", []int{1, 2}, dtype.Bytes([]float32{1, 2}))
	v, err := readInput(x, good, imageFlags{}, nil)
	require.NoError(t, err)
	require.Equal(t, value([]int{1, 2}, float32(1), 2), v)

	b, err := os.ReadFile(good)
	require.NoError(t, err)
	short := filepath.Join(t.TempDir(), "short.npy")
	require.NoError(t, os.WriteFile(short, b[:len(b)-3], 0o600))
	text := filepath.Join(t.TempDir(), "x.doc")
	require.NoError(t, os.WriteFile(text, nil, 0o600))
	f64 := writeArray(t, "f64", []int{1, 2}, dtype.Bytes([]float64{1, 2}))
	wide := writeArray(t, "f32", []int{1, 3}, dtype.Bytes([]float32{1, 2, 3}))
	flat := writeArray(t, "f32", []int{2}, dtype.Bytes([]float32{1, 2}))
	for _, c := range []struct{ file, want string }{
		{short, "input x: " + short + ": npy: data: f32 [1 2] is 8 bytes, got 5: unexpected EOF"},
		{f64, "input x: " + f64 + `: got f64[1,2], want f32[?,2]: convert it with numpy's astype("float32")`},
		{wide, "input x: " + wide + ": got f32[1,3], want f32[?,2]"},
		{flat, "input x: " + flat + ": got f32[2], want f32[?,2]"},
		{text, "input x: " + text + ": want a file that ends in .npy, .pb, .png, .jpg, .webp, .json, .txt or .csv"},
		{"@zeros:2x", "input x: @zeros:2x: want @zeros:1x3x224x224 or the like"},
		{"@zeros:2x3", "input x: @zeros:2x3: got f32[2,3], want f32[?,2]"},
		{"photo.png", "input x: photo.png: open photo.png: no such file or directory"},
	} {
		_, err := readInput(x, c.file, imageFlags{}, nil)
		if c.file == "photo.png" {
			require.Error(t, err) // the text depends on the operating system
			continue
		}
		require.EqualError(t, err, c.want)
		var e *exitError
		require.ErrorAs(t, err, &e)
		require.Equal(t, exitUsage, e.code)
	}
	_, err = readInput(x, good+".none.npy", imageFlags{}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)

	v, err = readInput(input("x", dtype.I64, -1, 3), "@zeros", imageFlags{}, nil)
	require.NoError(t, err)
	require.Equal(t, value([]int{1, 3}, int64(0), 0, 0), v)
	_, err = readInput(onnx.ValueInfo{Name: "s", Kind: onnx.SequenceKind}, "@zeros", imageFlags{}, nil)
	require.ErrorContains(t, err, "@zeros stands for tensors")
}

// writeImage writes a PNG of 2x1 pixels, red and white, and returns its path.
func writeImage(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 2, 1))
	img.Set(0, 0, color.RGBA{255, 0, 0, 255})
	img.Set(1, 0, color.White)
	path := filepath.Join(t.TempDir(), "x.png")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, img))
	require.NoError(t, f.Close())
	return path
}

func TestImages(t *testing.T) {
	path := writeImage(t)
	const red = float32(76) / 255 // 0.299 of 255, in 8 bits
	half := func(v ...float32) onnxtest.Value {
		h := make([]dtype.Float16, len(v))
		for i, f := range v {
			h[i] = dtype.ToFloat16(f)
		}
		return value([]int{1, 3, 1, 2}, h...)
	}
	for name, c := range map[string]struct {
		in    onnx.ValueInfo
		flags imageFlags
		want  onnxtest.Value
	}{
		"NCHW":         {input("x", dtype.F32, -1, 3, -1, -1), imageFlags{}, value([]int{1, 3, 1, 2}, float32(1), 1, 0, 1, 0, 1)},
		"NHWC":         {input("x", dtype.F32, 1, -1, -1, 3), imageFlags{}, value([]int{1, 1, 2, 3}, float32(1), 0, 0, 1, 1, 1)},
		"CHW":          {input("x", dtype.F32, 3, 1, 2), imageFlags{}, value([]int{3, 1, 2}, float32(1), 1, 0, 1, 0, 1)},
		"HWC":          {input("x", dtype.F32, 1, 2, 3), imageFlags{layout: "NHWC"}, value([]int{1, 2, 3}, float32(1), 0, 0, 1, 1, 1)},
		"grey":         {input("x", dtype.F32, 1, 1, 1, 2), imageFlags{}, value([]int{1, 1, 1, 2}, red, 1)},
		"HW":           {input("x", dtype.F32, 1, 2), imageFlags{invert: true}, value([]int{1, 2}, 1-red, 0)},
		"bytes":        {input("x", dtype.U8, 1, 3, 1, 2), imageFlags{}, value([]int{1, 3, 1, 2}, uint8(255), 255, 0, 255, 0, 255)},
		"f16":          {input("x", dtype.F16, 1, 3, 1, 2), imageFlags{}, half(1, 1, 0, 1, 0, 1)},
		"mean and std": {input("x", dtype.F64, 1, 3, 1, 2), imageFlags{scale: 2, mean: []float32{1}, std: []float32{1, 2, 4}}, value([]int{1, 3, 1, 2}, 1.0, 1, -0.5, 0.5, -0.25, 0.25)},
		"size":         {input("x", dtype.F32, -1, 1, -1, -1), imageFlags{size: "1x3", resize: "nearest"}, value([]int{1, 1, 3, 1}, float32(1), 1, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := readInput(c.in, path, c.flags, nil)
			require.NoError(t, err)
			require.Equal(t, c.want.Tensor.String(), v.Tensor.String())
			if c.in.DType != dtype.F32 {
				require.Equal(t, c.want, v)
				return
			}
			require.InDeltaSlice(t, dtype.Slice[float32](c.want.Tensor.Data), dtype.Slice[float32](v.Tensor.Data), 1e-6)
		})
	}
	for name, c := range map[string]struct {
		in    onnx.ValueInfo
		flags imageFlags
		want  string
	}{
		"ints":     {input("x", dtype.I64, 1, 3, 2, 2), imageFlags{}, "want floats or u8 for an image"},
		"rank":     {input("x", dtype.F32, 1), imageFlags{}, "want 2 to 4 dimensions for an image"},
		"batch":    {input("x", dtype.F32, 8, 3, 2, 2), imageFlags{}, "a batch of 8 images"},
		"channels": {input("x", dtype.F32, 1, 4, 2, 2), imageFlags{}, "shows no dimension of 1 or 3 channels"},
		"open":     {input("x", dtype.F32, -1, -1, -1, -1), imageFlags{}, "give --layout"},
		"layout":   {input("x", dtype.F32, 1, 3, 2, 2), imageFlags{layout: "CHWN"}, "--layout: want auto, NCHW or NHWC"},
		"size":     {input("x", dtype.F32, 1, 3, -1, -1), imageFlags{size: "big"}, "--size: want WxH"},
		"filter":   {input("x", dtype.F32, 1, 3, 2, 2), imageFlags{resize: "soft"}, "want catmullrom, bilinear or nearest"},
		"u8 range": {input("x", dtype.U8, 1, 3, 1, 2), imageFlags{mean: []float32{10}}, "which u8 does not hold"},
	} {
		t.Run("bad "+name, func(t *testing.T) {
			_, err := readInput(c.in, path, c.flags, nil)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOutputFiles(t *testing.T) {
	require.Equal(t, []string{"a_b", "a_b_1", "A_B_2", "output", "x.y-1"}, outputFiles([]string{"a/b", "a:b", "A?B", "..", "x.y-1"}))
}
