package onnx_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// normed returns a model of a convolution, with a bias if asked for, a batch norm, relu, and the addition of the batch norm's
// input.
func normed(bias bool) *pb.Model {
	conv := operator("Conv", ss("x", "w"), ss("c"), intsAttr("pads", 1, 1, 1, 1))
	if bias {
		conv.Inputs = append(conv.Inputs, "b")
	}
	g := &pb.Graph{Name: "normed", Nodes: []*pb.Node{conv,
		operator("BatchNormalization", ss("c", "scale", "shift", "mean", "variance"), ss("n")),
		operator("Relu", ss("n"), ss("r")), operator("Add", ss("r", "c"), ss("y"))},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1, 2, 3, 3)}, Outputs: []*pb.ValueInfo{decl("y", pb.Float, 1, 2, 3, 3)},
		Initializers: []*pb.Tensor{f32s("w", []int64{2, 2, 3, 3}, counted(36)...), f32s("b", []int64{2}, 0.5, -2), f32s("scale", []int64{2}, 1.5, 0.75),
			f32s("shift", []int64{2}, 0.25, -1), f32s("mean", []int64{2}, 3, -4), f32s("variance", []int64{2}, 2, 0.5)}}
	return modelOf(15, g)
}

func counted(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i*7%11) / 8
	}
	return v
}

// With Precision bf16 and f16, results differ from the results in f32 only by the rounding of operands, and their type stays f32.
func TestPrecision(t *testing.T) {
	for _, bias := range []bool{false, true} {
		var want []float32
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F16} {
			h := openWith(t, normed(bias), onnx.Options{Precision: d})
			out := h.run(map[string]onnx.Value{"x": h.f32([]int{1, 2, 3, 3}, counted(18)...)})
			require.Equal(t, dtype.F32, out["y"].DType())
			got, err := tensor.Data[float32](t.Context(), out["y"].Tensor())
			require.NoError(t, err)
			if d == dtype.F32 {
				want = got
				continue
			}
			require.NotEqual(t, want, got)
			for i := range want {
				require.InDelta(t, want[i], got[i], 0.02*max(8, math.Abs(float64(want[i]))), "%v, bias %v, element %d", d, bias, i)
			}
		}
	}
	_, err := parse(normed(false), onnx.Options{Precision: dtype.I32})
	require.ErrorIs(t, err, core.ErrDType)
}

// A model with an input of batch 1, which it reshapes to a constant shape, runs with the batch size of the option Batch.
func TestBatch(t *testing.T) {
	g := &pb.Graph{Name: "fixed", Nodes: []*pb.Node{operator("Reshape", ss("x", "s"), ss("r")), operator("MatMul", ss("r", "w"), ss("y"))},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, 1, 2, 2)}, Outputs: []*pb.ValueInfo{decl("y", pb.Float, 1, 1)},
		Initializers: []*pb.Tensor{i64s("s", []int64{2}, 1, 4), f32s("w", []int64{4, 1}, 1, 10, 100, 1000)}}
	h := openWith(t, modelOf(15, g), onnx.Options{Batch: 2})
	require.Equal(t, "x: f32[2,2,2]", h.s.Model().Inputs()[0].String())
	out := h.run(map[string]onnx.Value{"x": h.f32([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8)})
	h.want(out["y"], []int{2, 1}, 4321, 8765)
	_, err := h.s.Run(t.Context(), map[string]onnx.Value{"x": h.f32([]int{1, 2, 2}, 1, 2, 3, 4)})
	require.ErrorIs(t, err, onnx.ErrInput)
	_, err = open(t, modelOf(15, g)).s.Run(t.Context(), map[string]onnx.Value{"x": h.f32([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8)})
	require.ErrorIs(t, err, onnx.ErrInput)
}

// Trained models compute nearly the same in bf16 as in f32: outputs differ by a fraction of the greatest absolute output.
func TestModelsInBF16(t *testing.T) {
	root := os.Getenv("BURN_TESTDATA")
	if root == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder of the trained models")
	}
	dev := openBackend(t, backends[len(backends)-1])
	for name, tolerance := range map[string]float64{"mnist_cnn": 0.05, "cifar_resnet20": 0.05, "ocr_angle_cls": 0.05, "silero_vad_v5": 0.05} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, "models", name)
			var first []float32
			for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
				m, err := onnx.Load(filepath.Join(dir, "model.onnx"), onnx.Options{Precision: d})
				require.NoError(t, err)
				on := onStream(t, dev)
				s, err := m.Open(on)
				require.NoError(t, err)
				feed := map[string]onnx.Value{}
				for i, in := range m.Inputs() {
					v, err := onnxtest.ReadFile(filepath.Join(dir, "test_data_set_0", "input_"+string(rune('0'+i))+".pb"), in)
					if os.IsNotExist(err) {
						continue
					}
					require.NoError(t, err)
					feed[in.Name], err = onnxtest.Upload(t.Context(), on, v)
					require.NoError(t, err)
				}
				out, err := s.Run(t.Context(), feed)
				require.NoError(t, err)
				got, err := tensor.Data[float32](t.Context(), out[m.Outputs()[0].Name].Tensor())
				require.NoError(t, err)
				if d == dtype.F32 {
					first = got
					continue
				}
				most := 0.
				for _, v := range first {
					most = max(most, math.Abs(float64(v)))
				}
				for i := range first {
					require.InDelta(t, first[i], got[i], tolerance*most)
				}
				require.NotEqual(t, first, got)
			}
		})
	}
}
