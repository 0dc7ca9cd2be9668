package bench

import (
	"os"
	"testing"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/stretchr/testify/require"
)

const digits = "../../examples/digits/digits.onnx" // image: f32[N,1,28,28]

func TestMakeInputs(t *testing.T) {
	m, err := onnx.Load(digits, onnx.Options{})
	require.NoError(t, err)
	feed, err := MakeInputs(m, 5)
	require.NoError(t, err)
	require.Equal(t, []int{5, 1, 28, 28}, []int(feed["image"].Tensor.Shape))
	require.Len(t, feed["image"].Tensor.Data, 4*5*28*28)
	feed, err = MakeInputs(m, 0)
	require.NoError(t, err)
	require.Equal(t, 1, feed["image"].Tensor.Shape[0])
	require.NotEqual(t, make([]byte, 4*28*28), feed["image"].Tensor.Data)
}

func TestMeasureModel(t *testing.T) {
	d := device(t)
	m, err := onnx.Load(digits, onnx.Options{})
	require.NoError(t, err)
	rows, err := MeasureModel(t.Context(), []*core.Place{d, d}, m, digits, 2, 8*time.Millisecond)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for _, r := range rows {
		require.GreaterOrEqual(t, r.Runs, Rounds)
		require.InDelta(t, 1/r.Median.Seconds(), r.PerSecond, 1e-6)
		require.Equal(t, d.Spec, r.Device)
	}

	// The timed run returns the outputs of the model: probabilities, whose sum is 1 for each image.
	feed, err := MakeInputs(m, 2)
	require.NoError(t, err)
	p, err := OpenModel(t.Context(), d, m, feed)
	require.NoError(t, err)
	out, err := p.Once(t.Context())
	require.NoError(t, err)
	for _, row := range [][]byte{out["probabilities"].Tensor.Data[:40], out["probabilities"].Tensor.Data[40:]} {
		sum := float32(0)
		for _, v := range floats(row) {
			sum += v
		}
		require.InDelta(t, 1, sum, 1e-5)
	}
	require.NoError(t, p.Close())
}

// ReadInputs reads the inputs in the folder beside a model of the test data. MakeInputs returns ErrBatch for another batch than the fixed
// one.
func TestModelInputs(t *testing.T) {
	dir := os.Getenv("BURN_TESTDATA")
	if dir == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder that holds models/")
	}
	m, err := onnx.Load(dir+"/models/mnist_cnn/model.onnx", onnx.Options{})
	require.NoError(t, err)
	_, err = MakeInputs(m, 3)
	require.ErrorIs(t, err, ErrBatch)
	feed, err := ReadInputs(m, dir+"/models/mnist_cnn/test_data_set_0")
	require.NoError(t, err)
	require.Equal(t, onnxtest.Tensor, feed["input.1"].Kind)
	_, err = ReadInputs(m, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
