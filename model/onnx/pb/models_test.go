package pb

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testModels returns the paths of the model files under BURN_TESTDATA by name, or skips the test.
func testModels(t testing.TB) map[string]string {
	dir := os.Getenv("BURN_TESTDATA")
	if dir == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder that holds models/")
	}
	files, err := filepath.Glob(filepath.Join(dir, "models", "*", "model.onnx"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string]string{}
	for _, f := range files {
		out[filepath.Base(filepath.Dir(f))] = f
	}
	return out
}

// modelFacts lists facts of the models that the reference onnx package 1.23 reports. allNodes includes the nodes of subgraphs; raw is the
// number of bytes of the initializers' raw_data; params is the number of elements of the initializers.
var modelFacts = []struct {
	name, opsets, producer                                                            string
	ir                                                                                int64
	nodes, allNodes, initializers, raw, inputs, outputs, valueInfo, functions, params int
}{
	{"basic_pitch", "=15;ai.onnx.ml=2", "tf2onnx", 8, 248, 248, 102, 145332, 1, 3, 0, 0, 36037},
	{"bilstm_sentences", "=9", "pytorch", 6, 27, 27, 13, 1356840, 1, 1, 0, 0, 339206},
	{"bodypix_mobilenetv1", "=8", "tf2onnx", 4, 75, 75, 73, 2419872, 74, 8, 0, 0, 604964},
	{"cifar_resnet20", "=13", "th2onnx", 8, 73, 73, 103, 1084584, 1, 1, 0, 0, 271122},
	{"fastestdet_coco", "=11", "pytorch", 6, 211, 211, 195, 962324, 1, 1, 210, 0, 240443},
	{"light_resnet50", "=9", "onnx-caffe2", 3, 415, 415, 269, 10380, 270, 1, 0, 0, 2194},
	{"light_shufflenet", "=9", "onnx-caffe2", 3, 446, 446, 281, 4776, 282, 1, 0, 0, 657},
	{"light_squeezenet", "=9", "onnx-caffe2", 3, 105, 105, 52, 3496, 53, 1, 0, 0, 757},
	{"mnist_cnn", "=16", "pytorch", 8, 13, 13, 18, 1507752, 1, 1, 0, 0, 376938},
	{"mnist_cntk", "=8", "CNTK", 3, 12, 12, 8, 0, 9, 1, 11, 0, 5998},
	{"ocr_angle_cls", "=9", "", 8, 471, 471, 0, 0, 1, 1, 0, 0, 0},
	{"qlstm_int8", "=10", "snips", 5, 7, 76, 6, 15, 1, 1, 0, 0, 9},
	{"silero_vad_v5", "=16", "spox", 8, 5, 689, 0, 0, 3, 2, 0, 0, 0},
	{"ultraface_rfb_320", "=9", "pytorch", 4, 242, 242, 244, 1124680, 245, 2, 0, 0, 281135},
	{"unsupported_custom_ops", "=18;com.microsoft.extensions=1", "", 8, 105, 105, 8, 238628, 1, 1, 7, 0, 59657},
	{"yunet_320", "=11", "pytorch", 6, 115, 115, 124, 295464, 1, 12, 103, 0, 73857},
}

func countNodes(g *Graph) int {
	n := len(g.Nodes)
	for _, node := range g.Nodes {
		for _, a := range node.Attributes {
			if a.G != nil {
				n += countNodes(a.G)
			}
			for _, s := range a.Graphs {
				n += countNodes(s)
			}
		}
	}
	return n
}

func TestModels(t *testing.T) {
	models := testModels(t)
	for _, want := range modelFacts {
		t.Run(want.name, func(t *testing.T) {
			b, err := os.ReadFile(models[want.name])
			require.NoError(t, err)
			m, err := DecodeModel(b, Limits{})
			require.NoError(t, err)
			var opsets []string
			for _, o := range m.OpsetImports {
				opsets = append(opsets, fmt.Sprintf("%s=%d", o.Domain, o.Version))
			}
			raw, params := 0, 0
			for _, init := range m.Graph.Initializers {
				raw += len(init.RawData)
				data, err := init.Bytes(nil)
				require.NoError(t, err)
				params += len(data) / init.DataType.Size()
			}
			got := want
			got.opsets, got.producer, got.ir = strings.Join(opsets, ";"), m.ProducerName, m.IRVersion
			got.nodes, got.allNodes, got.initializers = len(m.Graph.Nodes), countNodes(m.Graph), len(m.Graph.Initializers)
			got.inputs, got.outputs, got.valueInfo = len(m.Graph.Inputs), len(m.Graph.Outputs), len(m.Graph.ValueInfo)
			got.functions, got.raw, got.params = len(m.Functions), raw, params
			require.Equal(t, want, got)

			again, err := DecodeModel(m.Append(nil), Limits{})
			require.NoError(t, err)
			require.Equal(t, m.Append(nil), again.Append(nil))
		})
		delete(models, want.name)
	}
	var unknown []string
	for name := range models {
		unknown = append(unknown, name)
	}
	sort.Strings(unknown)
	require.Empty(t, unknown, "models without a row in modelFacts")
}

// TestModelTensors decodes the stored inputs and outputs of the models.
func TestModelTensors(t *testing.T) {
	count := 0
	for _, model := range testModels(t) {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(model), "test_data_set_*", "*.pb"))
		require.NoError(t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			d, err := DecodeTensor(b, Limits{})
			require.NoError(t, err, f)
			data, err := d.Bytes(nil)
			require.NoError(t, err, f)
			n, err := d.Elements()
			require.NoError(t, err, f)
			require.Len(t, data, int(n)*d.DataType.Size(), f)
			count++
		}
	}
	require.NotZero(t, count)
}
