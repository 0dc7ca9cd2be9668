package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A model on several devices, selected by --device or by the configuration, has the same output as on one device.
func TestRouterDevice(t *testing.T) {
	args := []string{"run", digits + "digits.onnx", "--input", "image=" + digits + "digit_7.png", "--threads", "1"}
	one := call(t, append(args, "--device", "cpu")...)
	require.Zero(t, one.code, one.err)
	for _, spec := range []string{"router:cpu", "router:cpu+cpu", "router:cpu:0+builtin:cpu"} {
		got := call(t, append(args, "--device", spec)...)
		require.Equal(t, one, got, spec)
	}
	config := func(text string) map[string]string {
		file := filepath.Join(t.TempDir(), "burn.toml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		return map[string]string{"BURN_CONFIG": file}
	}
	split := config("device = \"router:cpu+cpu\"\n[options.router]\nsplit = \"on\"\nstrict = \"off\"\n")
	got := callWith(t, t.Context(), split, args...)
	require.Equal(t, one, got)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(cache, "burn", "router-costs.json"))

	got = callWith(t, t.Context(), config("device = \"router:cpu+nosuch\""), "devices")
	require.Zero(t, got.code)
	require.Regexp(t, `(?m)^  cpu +main member +ready$`, got.out)
	require.Regexp(t, `(?m)^  nosuch +helper +not there$`, got.out)
}

func TestRouterDeviceFaults(t *testing.T) {
	args := []string{"run", digits + "digits.onnx", "--input", "image=" + digits + "digit_7.png", "--device"}
	for spec, text := range map[string]string{
		"router:":               "want the spec of a device",
		"router:cpu+":           "want the spec of a device",
		"router:cpu+router:cpu": "want the spec of a device",
		"router:cpu+nosuch":     "nosuch",
		"router:cpu:9+cpu":      "9",
	} {
		got := call(t, append(args, spec)...)
		require.Equal(t, 2, got.code, spec)
		require.Contains(t, got.err, text, spec)
	}
	for _, option := range []string{`split = "perhaps"`, `other = "on"`} {
		file := filepath.Join(t.TempDir(), "burn.toml")
		require.NoError(t, os.WriteFile(file, []byte("[options.router]\n"+option+"\n"), 0o600))
		got := callWith(t, t.Context(), map[string]string{"BURN_CONFIG": file}, append(args, "router:cpu")...)
		require.Equal(t, 2, got.code, got.err)
	}
}
