package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplainRun(t *testing.T) {
	args := []string{"run", digits + "digits.onnx", digits + "digit_7.png", "--top", "1"}
	plain := call(t, args...)
	r := call(t, append(args, "--explain", "--device", "router:builtin:cpu+builtin:cpu")...)
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, plain.out, r.out)
	require.Contains(t, r.err, "program \"digits\"\nunit ")
	require.Regexp(t, `(?m)^all +builtin:cpu:0 +main member `, r.err)
	require.Contains(t, r.err, "1 runs of programs")
	require.Regexp(t, `builtin:cpu:0: 100.0 % of the time, `, r.err)
	require.Regexp(t, `builtin:cpu:0: 0.0 % of the time, `, r.err)
	require.Contains(t, r.err, "1 windows, 0 ran as programs (0 nodes), 1 passed (1 nodes)")

	many := callWith(t, t.Context(), map[string]string{"BURN_FUSION": "false"}, append(args, digits+"digit_3.png", "--explain")...)
	require.Equal(t, 0, many.code, many.err)
	require.Equal(t, 1, strings.Count(many.err, "fusion is off"), "the note must appear once")
}

// columns writes a table with the columns a, b and y = 3a - 2b, and settings that consist of more and the target column. It returns both
// paths.
func columns(t *testing.T, dir, more string) (data, settings string) {
	var table strings.Builder
	table.WriteString("a,b,y\n")
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a, b := r.Float64(), r.Float64()
		fmt.Fprintf(&table, "%v,%v,%v\n", a, b, 3*a-2*b)
	}
	data, settings = filepath.Join(dir, "data.csv"), filepath.Join(dir, "config.toml")
	require.NoError(t, os.WriteFile(data, []byte(table.String()), 0o600))
	require.NoError(t, os.WriteFile(settings, []byte(more+"[table]\ntarget = \"y\"\n"), 0o600))
	return data, settings
}

func TestTrainPrecision(t *testing.T) {
	models := map[string][]byte{}
	for _, precision := range []string{"f32", "bf16", "f16"} {
		dir := t.TempDir()
		data, settings := columns(t, dir, "precision = \""+precision+"\"\n")
		out := filepath.Join(dir, "out")
		r := call(t, "train", "regression", "--config", settings, "--data", data, "--out", out, "--plain", "--epochs", "30", "--batch", "8")
		require.Equal(t, 0, r.code, r.err)
		m := regexp.MustCompile(`(?m)^test +mean absolute error +(\S+)`).FindStringSubmatch(r.out + r.err)
		require.NotNil(t, m, r.out+r.err)
		fault, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		require.Less(t, fault, 0.1, precision)
		models[precision], err = os.ReadFile(filepath.Join(out, "model.onnx"))
		require.NoError(t, err)
	}
	require.NotEqual(t, models["f32"], models["bf16"])
	require.NotEqual(t, models["f16"], models["bf16"])
	data, settings := columns(t, t.TempDir(), "precision = \"f64\"\n")
	r := call(t, "train", "regression", "--config", settings, "--data", data, "--plain")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, `precision "f64", want f32, bf16 or f16`)
}

// Training with fusion produces the same weights as training without, and most steps run as programs.
func TestExplainTrain(t *testing.T) {
	dir := t.TempDir()
	data, settings := columns(t, dir, "")
	train := func(on string) (errs string, model []byte) {
		out := filepath.Join(dir, on)
		r := callWith(t, t.Context(), map[string]string{"BURN_FUSION": on}, "train", "regression", "--config", settings, "--data", data, "--out", out, "--plain", "--explain", "--epochs", "3", "--batch", "8")
		require.Equal(t, 0, r.code, r.err)
		model, err := os.ReadFile(filepath.Join(out, "model.onnx"))
		require.NoError(t, err)
		return r.err, model
	}
	off, want := train("false")
	require.Contains(t, off, "fusion is off")
	on, got := train("true")
	require.Regexp(t, `cpu:0: \d+ windows, [3-9]\d ran as programs`, on)
	require.Regexp(t, `cpu:0, fused \d+: \d+ nodes from \w+ to \w+: [3-9]\d runs`, on)
	require.Equal(t, want, got)
}
