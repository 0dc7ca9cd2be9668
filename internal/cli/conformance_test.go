package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goburn/burn/model/onnx/pb"
	"github.com/stretchr/testify/require"
)

// tree writes three ONNX cases, one that passes, one that fails and one that is skipped, and returns their folder.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	typ := &pb.Type{Kind: pb.KindTensor, DataType: pb.Float}
	for name, c := range map[string]struct {
		op   string
		want float32
	}{"deep/passes": {"Neg", -2}, "fails": {"Neg", -2.5}, "lacks": {"Fancy", 0}} {
		m := pb.Model{IRVersion: 8, OpsetImports: []*pb.OperatorSetID{{Version: 17}}, Graph: &pb.Graph{
			Nodes:   []*pb.Node{{OpType: c.op, Name: "it", Inputs: []string{"x"}, Outputs: []string{"y"}}},
			Inputs:  []*pb.ValueInfo{{Name: "x", Type: typ}},
			Outputs: []*pb.ValueInfo{{Name: "y", Type: typ}},
		}}
		dir := filepath.Join(root, filepath.FromSlash(name))
		data := filepath.Join(dir, "test_data_set_0")
		require.NoError(t, os.MkdirAll(data, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "model.onnx"), m.Append(nil), 0o600))
		for file, v := range map[string]float32{"input_0.pb": 2, "output_0.pb": c.want} {
			p := pb.Tensor{DataType: pb.Float, Dims: []int64{1}, FloatData: []float32{v}}
			require.NoError(t, os.WriteFile(filepath.Join(data, file), p.Append(nil), 0o600))
		}
	}
	return root
}

func TestConformance(t *testing.T) {
	root := tree(t)
	const fail = "FAIL  fails  y: 1 of 1 elements out of tolerance, max error 0.5, relative 0.2; first at [0]: got -2, want -2.5\n"
	report := filepath.Join(t.TempDir(), "report.json")
	r := call(t, "conformance", "onnx", root, "--json", report)
	require.Equal(t, 1, r.code)
	require.Equal(t, fail+"skip     1  no operator Fancy\n1 passed, 1 failed, 1 skipped\n", r.out)
	require.Empty(t, r.err)
	b, err := os.ReadFile(report)
	require.NoError(t, err)
	var got conformanceReport
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, [3]int{1, 1, 1}, [3]int{got.Passed, got.Failed, got.Skipped})
	require.Equal(t, "builtin:cpu:0", got.Device)
	require.Len(t, got.Cases, 3)
	require.Equal(t, "fails", got.Cases[1].Case)
	require.Equal(t, []int{0}, got.Cases[1].Index)
	require.Equal(t, number(0.5), got.Cases[1].MaxAbs)

	r = call(t, "conformance", "onnx", root, "-v", "--jobs", "2")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `(?m)^pass  deep/passes  \d`, r.out)
	require.Regexp(t, `(?m)^skip  lacks  .*Fancy.*"it"`, r.out)
	require.Regexp(t, `\n1 passed, 1 failed, 1 skipped\n$`, r.out)

	r = call(t, "conformance", "onnx", root, "--rtol", "0.5")
	require.Equal(t, 0, r.code, r.out)
	r = call(t, "conformance", "onnx", root, "--run", "passes$")
	require.Equal(t, 0, r.code)
	require.Equal(t, "1 passed, 0 failed, 0 skipped\n", r.out)

	r = call(t, "conformance", "onnx", root, "--run", "^lacks$")
	require.Equal(t, 1, r.code)
	require.Equal(t, "skip     1  no operator Fancy\n0 passed, 0 failed, 1 skipped\n", r.out)
	require.Equal(t, "burn: no case was executed\n", r.err)

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{root, "--run", "nothing"}, "none of 3 cases match"},
		{[]string{root, "--run", "("}, "--run: error parsing regexp"},
		{[]string{t.TempDir()}, "want directories with a model.onnx, got none"},
		{[]string{root, "--jobs", "0"}, "want --jobs from 1"},
		{[]string{}, "accepts 1 arg(s), received 0"},
	} {
		r = call(t, append([]string{"conformance", "onnx"}, c.args...)...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.err, c.want)
	}
}
