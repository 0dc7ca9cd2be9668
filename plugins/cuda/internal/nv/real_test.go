package nv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed opens the NVIDIA libraries in the folder, or beside the file, that an environment variable names. Without it the test is skipped.
func installed(t *testing.T, variable string) *Libraries {
	folder := os.Getenv(variable)
	if folder == "" {
		t.Skipf("%s names no folder with the library (the lib folder of the package from PyPI)", variable)
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	return Open(Search{Only: folder})
}

// TestRealDNNDescriptors checks that cuDNN itself accepts the descriptors of the operations. The graph and its plans would need a device.
func TestRealDNNDescriptors(t *testing.T) {
	l := installed(t, "BURN_CUDNN")
	require.NotNil(t, l.DNN, "%s", l.Report)
	h := &DNNHandle{dnn: l.DNN}
	g := h.NewGraph()
	image := func(d ...int64) TensorSpec {
		return TensorSpec{Type: DNNBF16, Dims: d, Strides: ChannelsLastStrides(d)}
	}
	spec := ConvSpec{Compute: DNNF32, Pre: []int64{1, 1}, Post: []int64{1, 1}, Stride: []int64{2, 2}, Dilation: []int64{1, 1}}
	x, w, y := g.Tensor(image(2, 16, 9, 11)), g.Tensor(image(24, 16, 3, 3)), g.Tensor(image(2, 24, 5, 6))
	g.Conv(spec, x, w, y)
	g.ConvData(spec, y, w, x)
	g.ConvFilter(spec, x, y, w)
	require.NoError(t, g.err)
	for _, s := range []PointwiseSpec{{Op: PwRelu, Clip: true, Upper: 6}, {Op: PwRelu, Slope: 0.1}, {Op: PwGelu}, {Op: PwGeluTanh}, {Op: PwSwish, Swish: 1}, {Op: PwExp}} {
		s.Compute = DNNF32
		g.Pointwise(s, y, y)
		require.NoError(t, g.err)
	}
	dx := g.Tensor(image(2, 24, 5, 6))
	g.Pointwise(PointwiseSpec{Op: PwReluBwd, Compute: DNNF32}, dx, y, y)
	g.Reduce(ReduceAdd, DNNF32, y, g.Tensor(image(1, 24, 1, 1)))
	require.NoError(t, g.err)
	for _, causal := range []bool{false, true} {
		d := TensorSpec{Type: DNNF16, Dims: []int64{2, 3, 160, 64}}
		g.Attention(AttentionSpec{Q: d, K: d, V: d, O: d, Causal: causal, Statistics: true})
		require.NoError(t, g.err)
	}
	require.Positive(t, h.Open())
	require.NoError(t, g.Close())
	require.Zero(t, h.Open())
}

// TestRealLtDescriptors checks that cuBLASLt itself accepts the descriptors of each epilogue. Algorithms would need a device.
func TestRealLtDescriptors(t *testing.T) {
	l := installed(t, "BURN_CUBLASLT")
	require.NotNil(t, l.Lt, "%s", l.Report)
	for _, e := range []Epilogue{EpilogueNone, EpilogueRelu, EpilogueBias, EpilogueReluBias, EpilogueReluAux, EpilogueReluAuxBias, EpilogueDRelu, EpilogueDReluBGrad,
		EpilogueGelu, EpilogueGeluBias, EpilogueGeluAux, EpilogueGeluAuxBias, EpilogueDGelu, EpilogueDGeluBGrad, EpilogueBGradA, EpilogueBGradB} {
		s := RowMajor(64, 128, 256, BF16, BF16, true, false, 64, 128, BF16, 128)
		s.Compute, s.Scale, s.Epilogue, s.AuxLD, s.AuxStride, s.BiasStride = ComputeF32, F32, e, 128, 128*64, 128
		s.BiasTyped, s.BiasType, s.AuxTyped, s.AuxType, s.FastAccumulate, s.Scales = true, BF16, true, BF16, true, true
		for _, y := range []*Layout{&s.A, &s.B, &s.C, &s.D} {
			y.Batch, y.Stride, y.RowMajor = 3, 1<<16, true
		}
		require.NoError(t, l.Lt.Describe(s, &MatmulRun{Bias: 256, Aux: 512, ScaleA: 768, ScaleB: 1024, ScaleD: 1280}), "%d", e)
	}
}
