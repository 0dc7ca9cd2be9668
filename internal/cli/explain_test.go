package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	require.Contains(t, r.err, "fusion is off")

	many := call(t, append(args, digits+"digit_3.png", "--explain")...)
	require.Equal(t, 0, many.code, many.err)
	require.Equal(t, 1, strings.Count(many.err, "fusion is off"), "once")
}

// Training with fusion gives the weights of training without, and most steps run as programs.
func TestExplainTrain(t *testing.T) {
	dir := t.TempDir()
	var table strings.Builder
	table.WriteString("a,b,y\n")
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a, b := r.Float64(), r.Float64()
		fmt.Fprintf(&table, "%v,%v,%v\n", a, b, 3*a-2*b)
	}
	data, settings := filepath.Join(dir, "data.csv"), filepath.Join(dir, "config.toml")
	require.NoError(t, os.WriteFile(data, []byte(table.String()), 0o600))
	require.NoError(t, os.WriteFile(settings, []byte("[table]\ntarget = \"y\"\n"), 0o600))
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
