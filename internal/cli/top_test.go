package cli

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/stretchr/testify/require"
)

func value[T dtype.Native](dims []int, v ...T) onnxtest.Value {
	return onnxtest.Value{Tensor: onnxtest.Array{DType: dtype.Of[T](), Shape: dims, Data: dtype.Bytes(v)}}
}

func TestTop(t *testing.T) {
	rows, err := top("y", value([]int{2, 3}, float32(0.2), 0.7, 0.1, 1, 2, 3), 2, false, []string{"a", "b", "c"})
	require.NoError(t, err)
	require.Equal(t, []topRow{
		{Sample: 0, Index: 1, Label: "b", Value: number(float32(0.7)), Probability: true},
		{Sample: 0, Index: 0, Label: "a", Value: number(float32(0.2)), Probability: true},
		{Sample: 1, Index: 2, Label: "c", Value: 3},
		{Sample: 1, Index: 1, Label: "b", Value: 2},
	}, rows)

	// exp(1), exp(2), exp(3) divided by their sum.
	rows, err = top("y", value([]int{3}, float64(1), 2, 3), 9, true, nil)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	for i, want := range []float64{0.66524096, 0.24472847, 0.09003057} {
		require.InDelta(t, want, float64(rows[i].Value), 1e-8)
		require.True(t, rows[i].Probability)
	}

	// Channels first, with spatial dimensions of 1; NaN is never the best.
	rows, err = top("y", value([]int{1, 3, 1, 1}, float32(math.NaN()), -1, -2), 1, false, nil)
	require.NoError(t, err)
	require.Equal(t, []topRow{{Index: 1, Value: -1}}, rows)

	_, err = top("y", value([]int{1, 3}, float32(1), 2, 3), 1, false, []string{"a", "b"})
	require.EqualError(t, err, "--labels: got 2 labels, want 3, the classes of output y f32[1,3]")
	for _, v := range []onnxtest.Value{value([]int{1, 2, 2}, float32(1), 2, 3, 4), value([]int{}, float32(1)), value([]int{1}, true),
		{Kind: onnxtest.Sequence}} {
		_, err = top("y", v, 1, false, nil)
		require.ErrorContains(t, err, "want a tensor [N,C] of scores")
	}
	rows, err = top("y", value[float32]([]int{0, 3}), 1, false, nil)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestPrintTop(t *testing.T) {
	var b strings.Builder
	v := value([]int{2, 11}, make([]float32, 22)...)
	printTop(&b, "y", v.Tensor, []topRow{{0, 10, "tench", 0.5, true}, {0, 1, "cat", 0.25, true}, {1, 2, "dog", 1, true}}, false)
	require.Equal(t, "y  f32[2,11]  best classes, with the probabilities of the model\nsample 0\n  10  tench   50.000 %\n   1  cat     25.000 %\nsample 1\n   2  dog    100.000 %\n", b.String())
	b.Reset()
	printTop(&b, "y", v.Tensor, []topRow{{0, 3, "", 12.5, false}}, false)
	require.Equal(t, "y  f32[2,11]  best classes, with the scores of the model; --softmax turns them into probabilities\n  3  12.5\n", b.String())
}

func TestReadLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.txt")
	require.NoError(t, os.WriteFile(path, []byte("zero\r\none \n\ntwo\n\n"), 0o600))
	labels, err := readLabels(path)
	require.NoError(t, err)
	require.Equal(t, []string{"zero", "one", "", "two"}, labels)
	require.NoError(t, os.WriteFile(path, []byte("\n\n"), 0o600))
	_, err = readLabels(path)
	require.ErrorContains(t, err, "want one label a line, got nothing")
	_, err = readLabels(path + ".none")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSummarize(t *testing.T) {
	text := func(v onnxtest.Value) string {
		var b strings.Builder
		summarize(&b, "y", v)
		return b.String()
	}
	require.Equal(t, "y  i64[]\n  7\n", text(value([]int{}, int64(7))))
	require.Equal(t, "y  i64[2,2]  min 1  max 4  mean 2.5\n  [[1, 2],\n   [3, 4]]\n", text(value([]int{2, 2}, int64(1), 2, 3, 4)))
	require.Equal(t, "y  bool[2]\n  [ true, false]\n", text(value([]int{2}, true, false)))
	require.Equal(t, "y  f32[0,2]\n  []\n", text(value[float32]([]int{0, 2})))
	long := make([]float32, 100)
	for i := range long {
		long[i] = float32(i)
	}
	require.Equal(t, "y  f32[4,25]  min 0  max 99  mean 49.5\n  [0., 1., 2., 3., 4., 5., ...], 94 more\n", text(value([]int{4, 25}, long...)))
	nan := float32(math.NaN())
	require.Contains(t, text(value([]int{3}, nan, 1, 3)), "min 1  max 3  mean 2  nan 1\n")
	require.Contains(t, text(value([]int{2}, nan, nan)), "all nan\n")
	seq := onnxtest.Value{Kind: onnxtest.Sequence, Elems: []onnxtest.Value{value([]int{1}, int32(5)), value([]int{}, int32(6))}}
	require.Equal(t, "y  sequence of 2 (i32[1], i32[])\ny[0]  i32[1]\n  [5]\ny[1]  i32[]\n  6\n", text(seq))
	require.Equal(t, "y  optional, empty\n", text(onnxtest.Value{Kind: onnxtest.Optional}))
}
