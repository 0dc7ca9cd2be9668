package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/tensor"
)

// draws runs the model twice on x and returns output y of both runs.
func draws(t *testing.T, b []byte, x []float32, dims ...int) (first, second []float32) {
	t.Helper()
	s, d := openGraph(t, b)
	var feed map[string]onnx.Value
	if x != nil {
		feed = map[string]onnx.Value{"x": onnx.TensorValue(tensor.From(d, x, dims...))}
	}
	for _, p := range []*[]float32{&first, &second} {
		got, err := s.Run(t.Context(), feed)
		require.NoError(t, err)
		*p = floatsOf(t, got["y"])
	}
	return first, second
}

// The expected numbers come from numpy.random.RandomState(7).
func TestSeededRandom(t *testing.T) {
	uniform := nodeOf("RandomUniform", nil, []string{"y"}, attrInts("shape", 2), attrFloat("seed", 7), attrFloat("low", -1), attrFloat("high", 3))
	a, b := draws(t, graphOf(17, nil, []string{"y"}, uniform), nil)
	require.InDeltaSlice(t, []float64{-1 + 4*0.07630829, -1 + 4*0.77991879}, toFloat64(a), 1e-6)
	require.Equal(t, a, b)
	normal := nodeOf("RandomNormalLike", []string{"x"}, []string{"y"}, attrFloat("seed", 7), attrFloat("mean", 2), attrFloat("scale", 0.5))
	a, b = draws(t, graphOf(17, []string{"x"}, []string{"y"}, normal), []float32{0, 0}, 2)
	require.InDeltaSlice(t, []float64{2 + 0.5*1.690525703800356, 2 - 0.5*0.4659373705408328}, toFloat64(a), 1e-6)
	require.Equal(t, a, b)
}

func toFloat64(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func TestUnseededRandomIsNewInEachRun(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = 0.5
	}
	for _, n := range []struct {
		op string
		lo float64
		hi float64
	}{{"RandomUniformLike", 0.4, 0.6}, {"RandomNormalLike", -0.2, 0.2}, {"Bernoulli", 0.4, 0.6}} {
		a, b := draws(t, graphOf(17, []string{"x"}, []string{"y"}, nodeOf(n.op, []string{"x"}, []string{"y"})), x, len(x))
		require.NotEqual(t, a, b, n.op)
		var mean float64
		for _, v := range a {
			mean += float64(v) / float64(len(a))
		}
		require.Greater(t, mean, n.lo, n.op) // more than six standard deviations from the mean
		require.Less(t, mean, n.hi, n.op)
	}
}

func TestBernoulliOfCertainties(t *testing.T) {
	a, _ := draws(t, graphOf(17, []string{"x"}, []string{"y"}, nodeOf("Bernoulli", []string{"x"}, []string{"y"})), []float32{0, 1, 0, 1}, 4)
	require.Equal(t, []float32{0, 1, 0, 1}, a)
}

func TestMultinomialOfCertainties(t *testing.T) {
	b := graphOf(17, []string{"x"}, []string{"y"}, nodeOf("Multinomial", []string{"x"}, []string{"i"}, attrInt("sample_size", 3)),
		nodeOf("Cast", []string{"i"}, []string{"y"}, attrInt("to", 1)))
	a, _ := draws(t, b, []float32{-100, 0, -100, -100, -100, 0}, 2, 3)
	require.Equal(t, []float32{1, 1, 1, 2, 2, 2}, a)
}

// In training, Dropout keeps about the right number of elements and scales them; in inference it keeps all elements.
func TestDropout(t *testing.T) {
	x := make([]float32, 2000)
	for i := range x {
		x[i] = float32(i + 1)
	}
	ratio := nodeOf("Constant", nil, []string{"r"}, attrFloat("value_float", 0.25))
	train := constOf("one", 1)
	flag := nodeOf("Cast", []string{"one"}, []string{"t"}, attrInt("to", 9))
	drop := nodeOf("Dropout", []string{"x", "r", "t"}, []string{"y"})
	a, b := draws(t, graphOf(13, []string{"x"}, []string{"y"}, ratio, train, flag, drop), x, len(x))
	require.NotEqual(t, a, b)
	kept := 0
	for i, v := range a {
		if v != 0 {
			kept++
			require.InEpsilon(t, x[i]/0.75, v, 1e-6)
		}
	}
	require.InDelta(t, 1500, kept, 120) // six standard deviations

	for opset, attr := range map[int64]float32{7: 0.5, 10: 0.5} {
		a, _ = draws(t, graphOf(opset, []string{"x"}, []string{"y"}, nodeOf("Dropout", []string{"x"}, []string{"y", "m"}, attrFloat("ratio", attr))), x, len(x))
		require.Equal(t, x, a)
	}
	a, _ = draws(t, graphOf(13, []string{"x"}, []string{"y"}, ratio, nodeOf("Dropout", []string{"x", "r"}, []string{"y"})), x, len(x))
	require.Equal(t, x, a)
}
