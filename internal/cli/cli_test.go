package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/npy"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const digits = "../../examples/digits/"

// result holds the output and exit code of a command.
type result struct {
	code     int
	out, err string
}

// call runs a command without the configuration of the user who runs the tests.
func call(t *testing.T, args ...string) result {
	t.Helper()
	return callWith(t, t.Context(), nil, args...)
}

func callWith(t *testing.T, ctx context.Context, env map[string]string, args ...string) result {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, home)
	}
	t.Setenv("BURN_PLUGIN_PATH", "")
	t.Setenv("BURN_REATTACH", "")
	var out, errOut bytes.Buffer
	code := run(ctx, func(name string) string { return env[name] }, args, strings.NewReader(""), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = strings.ReplaceAll(got, `\`, "/") // separators of paths
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestGolden(t *testing.T) {
	model := digits + "digits.onnx"
	image := "image=" + digits + "digit_7.png"
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"help":           {[]string{"--help"}, 0},
		"run_help":       {[]string{"run", "--help"}, 0},
		"missing":        {[]string{"run", model}, 2},
		"unknown_input":  {[]string{"run", model, "--input", "picture=x.png"}, 2},
		"no_model":       {[]string{"run", digits + "labels.txt"}, 3},
		"no_command":     {[]string{"rn"}, 2},
		"no_subcommand":  {[]string{"conformance", "walk"}, 2},
		"no_flag":        {[]string{"run", model, "--devise", "cpu"}, 2},
		"no_device":      {[]string{"run", model, "--input", image, "--device", "builtin:nosuch"}, 2},
		"no_index":       {[]string{"run", model, "--input", image, "--device", "builtin:cpu:7"}, 2},
		"labels_alone":   {[]string{"run", model, "--input", image, "--labels", digits + "labels.txt"}, 2},
		"inspect":        {[]string{"inspect", model, "--device", "builtin:cpu", "--dim", "N=4"}, 0},
		"inspect_no_dim": {[]string{"inspect", model, "--dim", "M=4"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, c.args...)
			require.Equal(t, c.code, r.code, r.err)
			golden(t, name+".golden", "$ burn "+strings.Join(c.args, " ")+"\n"+r.out+r.err)
		})
	}
}

// TestDigits runs the command of the README.
func TestDigits(t *testing.T) {
	var want struct {
		Images []struct {
			File          string
			Side          int
			Invert        bool
			Label         int
			Probabilities []float64
		}
	}
	b, err := os.ReadFile(digits + "expected.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &want))
	require.Len(t, want.Images, 12)
	for _, img := range want.Images {
		args := []string{"run", digits + "digits.onnx", digits + img.File, "--top", "10", "--labels", digits + "labels.txt"}
		if img.Invert {
			args = append(args, "--invert")
		}
		r := call(t, append(args, "--json")...)
		require.Equal(t, 0, r.code, r.err)
		var got runInfo
		require.NoError(t, json.Unmarshal([]byte(r.out), &got))
		top := got.Outputs[0].Top
		require.Len(t, top, 10)
		require.Equal(t, img.Label, top[0].Index, img.File)
		require.Equal(t, fmt.Sprint(img.Label), top[0].Label)
		for _, row := range top {
			require.True(t, row.Probability)
			if img.Side == 28 { // the others were resized with another filter
				require.InDelta(t, img.Probabilities[row.Index], float64(row.Value), 1e-5, img.File)
			}
		}

		r = call(t, args...)
		require.Equal(t, 0, r.code, r.err)
		lines := strings.Split(r.out, "\n")
		require.Equal(t, "probabilities  f32[1,10]  best classes, with the probabilities of the model", lines[0])
		require.Regexp(t, fmt.Sprintf(`^  %d  %d  +\d+\.\d{3} %%$`, img.Label, img.Label), lines[1])
	}
}

func TestOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	r := call(t, "run", digits+"digits.onnx", "-i", "@zeros:2x1x28x28", "--output", dir, "--threads", "1", "-v")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "probabilities  f32[2,10]  min ")
	require.Contains(t, r.out, "1 file written to "+dir)
	require.Contains(t, r.err, "on builtin:cpu:0: loaded in ")
	f, err := os.Open(filepath.Join(dir, "probabilities.npy"))
	require.NoError(t, err)
	defer f.Close()
	a, err := npy.Read(f, 0)
	require.NoError(t, err)
	require.Equal(t, "f32", a.DType)
	require.Equal(t, []int{2, 10}, a.Shape)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1) // no temporary file is left

	// The written file can be read again; its shape is wrong for the input.
	r = call(t, "run", digits+"digits.onnx", filepath.Join(dir, "probabilities.npy"))
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "got f32[2,10], want f32[N,1,28,28]")
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := callWith(t, ctx, nil, "run", digits+"digits.onnx", "@zeros")
	require.Equal(t, result{code: 130, err: "burn: interrupted\n"}, r)
}

func TestConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(path, []byte("device = \"builtin:file\"\n"), 0o600))
	device := func(env map[string]string, args ...string) string {
		r := callWith(t, t.Context(), env, append([]string{"run", digits + "digits.onnx", "@zeros"}, args...)...)
		require.Equal(t, 2, r.code)
		_, after, ok := strings.Cut(r.err, "device builtin:")
		require.True(t, ok, r.err)
		return after[:strings.Index(after, ":")]
	}
	require.Equal(t, "file", device(map[string]string{"BURN_CONFIG": path}))
	require.Equal(t, "file", device(nil, "--config", path))
	require.Equal(t, "variable", device(map[string]string{"BURN_CONFIG": path, "BURN_DEVICE": "builtin:variable"}))
	require.Equal(t, "flag", device(map[string]string{"BURN_CONFIG": path, "BURN_DEVICE": "builtin:variable"}, "--device", "builtin:flag"))

	require.NoError(t, os.WriteFile(path, []byte("# mine\ndevise = \"cpu\"\n"), 0o600))
	r := call(t, "version", "--config", path)
	require.Equal(t, 2, r.code)
	require.Equal(t, "burn: config: "+path+":2: unknown key \"devise\", want one of device, threads, plugin_path, log, mirror, "+
		"mirror_stale, fusion, dev_plugins, options, plugin_memory, plugin_threads, plugin_files, plugin_containment, start_timeout, open_timeout, define_timeout, heartbeat, "+
		"restart_attempts, restart_backoff; did you mean \"device\"?\n", r.err)
	for _, args := range [][]string{{"--log", "loud"}, {"--config", path + ".none"}} {
		r = call(t, append([]string{"version"}, args...)...)
		require.Equal(t, 2, r.code)
		require.NotEmpty(t, r.err)
	}
	r = call(t, "inspect", digits+"digits.onnx", "--threads", "-3")
	require.Equal(t, 2, r.code)
	require.Equal(t, "burn: --threads: want 0 to 4096, got -3\n", r.err)
}

func TestDevices(t *testing.T) {
	r := call(t, "devices")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^builtin:cpu:0 +cpu +builtin +\S.* +ready `, r.out)

	r = call(t, "devices", "--json")
	require.Equal(t, 0, r.code, r.err)
	var got struct {
		Backends []struct{ Name, Transport, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Equal(t, "cpu", got.Backends[0].Name)
	require.Equal(t, "builtin", got.Backends[0].Transport)
	require.Equal(t, "ready", got.Backends[0].State)
}

func TestBrokenPlugin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-broken"), []byte("#!/bin/sh\necho no driver >&2\nexit 3\n"), 0o755))
	r := call(t, "devices", "--plugin-path", dir)
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "builtin:cpu:0")
	_, after, ok := strings.Cut(r.out, "\nnot used:\n  process:broken  failed\n")
	require.True(t, ok, r.out)
	require.Contains(t, after, "no driver")
	require.Regexp(t, `(?m)^    cause +\S`, after)
	require.Regexp(t, `(?m)^    remedy +\S`, after)

	r = call(t, "run", digits+"digits.onnx", "@zeros", "--device", "process:broken", "--plugin-path", dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "broken")
}

func TestLost(t *testing.T) {
	b, err := core.Open("cpu", core.Config{})
	require.NoError(t, err)
	defer b.Close()
	d := &core.Place{Backend: b, Spec: "process:cpu:0", Transport: "process"}
	err = lost(d, fmt.Errorf("read t3: %w", core.ErrBackendLost))
	require.EqualError(t, err, "plugin cpu was lost (process:cpu:0): read t3: backend lost")
	require.Equal(t, exitFailure, (&app{started: true}).code(t.Context(), err))
	other := errors.New("other")
	require.Equal(t, other, lost(d, other))
	require.NoError(t, lost(d, nil))
}

func TestVersion(t *testing.T) {
	r := call(t, "version")
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `(?m)^burn +\S+\n(commit .*\n)?go +`+runtime.Version()+`\nplatform +`+core.Platform()+`\nplugin protocol +\d`, r.out)
	r = call(t, "version", "--json")
	var v versionInfo
	require.NoError(t, json.Unmarshal([]byte(r.out), &v))
	require.NotZero(t, v.Protocol.Max)
}

func TestCompletion(t *testing.T) {
	r := call(t, "__complete", "run", "--device", "builtin:")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "builtin:cpu\n")
	r = call(t, "__complete", "run", "mod")
	require.Contains(t, r.out, "onnx\n:8\n") // file name extension for completion
	r = call(t, "completion", "bash")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "burn")
}

// TestReference checks that docs/CLI.md is up to date.
func TestReference(t *testing.T) {
	text := reference()
	got, err := os.ReadFile("../../docs/CLI.md")
	require.NoError(t, err, "run: go run ./cmd/burn docs docs/CLI.md")
	require.Equal(t, string(text), string(got), "run: go run ./cmd/burn docs docs/CLI.md")
	for _, want := range []string{"## burn run", "## burn devices", "## burn inspect", "## burn conformance onnx", "## burn version", "130  interrupted"} {
		require.Contains(t, string(text), want)
	}
}
