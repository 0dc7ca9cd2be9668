package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/model/record"
)

// noticing is a writer that calls call once, when text is written for the first time.
type noticing struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	call func()
}

func (n *noticing) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all.Write(p)
	if n.call != nil && strings.Contains(string(p), n.text) {
		n.call()
		n.call = nil
	}
	return len(p), nil
}

// weights returns the bytes of each tensor in model.burn, by name.
func weights(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	r, err := record.Open(filepath.Join(dir, "model.burn"))
	require.NoError(t, err)
	defer r.Close()
	all := map[string][]byte{}
	for _, name := range r.Names() {
		_, all[name], err = r.Bytes(name)
		require.NoError(t, err)
	}
	require.NotEmpty(t, all)
	return all
}

// elsewhere returns the folder, outside the folder of the run, to which file was written according to the output out.
func elsewhere(t *testing.T, out, file string) string {
	t.Helper()
	_, path, ok := strings.Cut(out, file+", which could not be written there, is ")
	require.True(t, ok, out)
	path, _, _ = strings.Cut(path, "\n")
	require.FileExists(t, path)
	dir := filepath.Dir(path)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// TestTrainOutputs checks that an output that cannot be written does not affect the others. Checkpoints fail from the first or third epoch
// on, because a file has the name of their folder.
func TestTrainOutputs(t *testing.T) {
	data := table(t)
	train := func(dir, settings, at string, then func()) result {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out, errOut := &bytes.Buffer{}, &noticing{text: at, call: func() {
			then()
			if at == "epoch 3/8 valid" {
				cancel()
			}
		}}
		code := run(ctx, func(string) string { return "" }, []string{"train", "regression", "--data", data, "--config", trainSettings(t, settings+smallTable), "--out", dir},
			strings.NewReader(""), out, errOut)
		errOut.mu.Lock()
		defer errOut.mu.Unlock()
		return result{code, out.String(), errOut.all.String()}
	}
	refuse := func(dir string) func() {
		return func() {
			path := filepath.Join(dir, "checkpoint")
			for range 1000 { // a checkpoint may still be in progress
				_ = os.RemoveAll(path)
				if os.WriteFile(path, nil, 0o600) == nil {
					return
				}
			}
			t.Error("the folder of checkpoints could not be replaced by a file")
		}
	}
	good := filepath.Join(t.TempDir(), "run")
	r := train(good, "", "nothing", nil)
	require.Equal(t, exitOK, r.code, r.err)
	require.Contains(t, r.out, "; tested and exported: the weights of epoch 8, the last\nmodel.burn, model.onnx and report.html are in "+good+"\n")

	for name, c := range map[string]struct{ settings, want string }{
		"last": {"", "; tested and exported: the weights of epoch 8, the last\n"},
		"best": {"export = \"best\"\n", "; tested and exported: the weights of epoch 8, the last, because the best could not be loaded\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			r := train(dir, c.settings, "epoch 1/8 valid", refuse(dir))
			require.Equal(t, exitFailure, r.code, r.err)
			require.Contains(t, r.err, "burn: train regression: failed: the last checkpoint")
			require.Equal(t, name == "best", strings.Contains(r.err, "the best weights: "), r.err)
			require.Contains(t, r.out, c.want+"model.burn, model.onnx and report.html are in "+dir+"\n")
			require.Equal(t, weights(t, good), weights(t, dir))
			require.FileExists(t, filepath.Join(dir, "model.onnx"))
			require.FileExists(t, filepath.Join(dir, "report.html"))
		})
	}
	t.Run("one file", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		r := train(dir, "", "epoch 1/8 valid", func() { _ = os.MkdirAll(filepath.Join(dir, "model.burn", "x"), 0o700) })
		require.Equal(t, exitFailure, r.code, r.err)
		require.Contains(t, r.err, "burn: train regression: failed: model.burn\n")
		require.Contains(t, r.out, "; tested and exported: ")
		require.Contains(t, r.out, "\nmodel.onnx and report.html are in "+dir+"\n")
		require.NotEmpty(t, weights(t, elsewhere(t, r.out, "model.burn")))
		require.Contains(t, r.out, "test ")
	})
	t.Run("interrupted", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		r := train(dir, "", "epoch 3/8 valid", refuse(dir))
		require.Equal(t, exitCanceled, r.code, r.err)
		require.Contains(t, r.err, "burn: train regression: failed: the last checkpoint\n")
		require.Regexp(t, `stopped after \d of 8 epochs, step \d+, and this run cannot be resumed from there`, r.err)
		require.NotEmpty(t, weights(t, dir))
		require.FileExists(t, filepath.Join(dir, "model.onnx"))
	})
}
