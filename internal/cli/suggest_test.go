package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSuggestions checks that the error for a mistyped word suggests the likely word.
func TestSuggestions(t *testing.T) {
	table := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(table, []byte("height,weight\n1,2\n"), 0o600))
	settings := filepath.Join(t.TempDir(), "s.toml")
	require.NoError(t, os.WriteFile(settings, []byte("epoch = 3\n"), 0o600))
	target := filepath.Join(t.TempDir(), "t.toml")
	require.NoError(t, os.WriteFile(target, []byte("[table]\ntarget = \"wieght\"\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rn"}, `did you mean "run"`},
		{[]string{"conformance", "veryfy", "x"}, `did you mean "verify"?`},
		{[]string{"plugin", "instal", "x"}, `did you mean "install"?`},
		{[]string{"bench", "modle"}, `did you mean "model"?`},
		{[]string{"train", "mnits"}, `did you mean "mnist"?`},
		{[]string{"run", "x.onnx", "--devise", "cpu"}, `did you mean --device?`},
		{[]string{"run", "x.onnx", "--plugin-pth", "x"}, `did you mean --plugin-path?`},
		{[]string{"devices", "--log", "eror"}, `did you mean "error"?`},
		{[]string{"conformance", "run", "cpu", "--profile", "coer"}, `did you mean "core"?`},
		{[]string{"plugin", "new", "npu", "--lang", "pyton"}, `did you mean "python"?`},
		{[]string{"train", "regression", "--config", settings}, `did you mean "epochs"?`},
		{[]string{"train", "regression", "--config", target, "--data", table, "--out", filepath.Join(t.TempDir(), "o")}, `did you mean "weight"`},
		{[]string{"conformance", "run", "bultin:cpu"}, `did you mean "builtin"?`},
		{[]string{"conformance", "run", "builtin:cpuu"}, `did you mean "cpu"?`},
		{[]string{"conformance", "run", "cup"}, `did you mean "cpu"?`},
		{[]string{"conformance", "run", "process:cpuu"}, `did you mean "cpu"?`},
	} {
		r := call(t, c.args...)
		require.Equal(t, exitUsage, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, r.err, c.want, "%v", c.args)
	}
	require.NotContains(t, call(t, "zzzz").err, "did you mean")
}
