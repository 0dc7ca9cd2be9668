package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrainFullDisk trains into a file system that the checkpoints fill. The model is then written to another folder. The test needs
// permission to mount a file system.
func TestTrainFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=600k"); err != nil {
		require.True(t, errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EACCES), "%v", err)
		t.Skipf("needs the right to mount a file system: %v", err)
	}
	defer func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) }()
	data, settings := table(t), trainSettings(t, strings.Replace(smallTable, "[16]", "[128, 100]", 1))
	good, full := filepath.Join(t.TempDir(), "run"), filepath.Join(disk, "run")
	require.Equal(t, exitOK, call(t, "train", "regression", "--data", data, "--config", settings, "--out", good).code)
	r := call(t, "train", "regression", "--data", data, "--config", settings, "--out", full)
	require.Equal(t, exitFailure, r.code, r.err)
	require.Contains(t, r.err, "no space left on device")
	require.Contains(t, r.err, "failed: the last checkpoint, model.burn, model.onnx")
	require.Contains(t, r.out, "; tested and exported: the weights of epoch 8, the last\n")
	require.Equal(t, weights(t, good), weights(t, elsewhere(t, r.out, "model.burn")))
	elsewhere(t, r.out, "model.onnx")
	require.NoFileExists(t, filepath.Join(full, "model.onnx"), "a partial model file must not be left")
}
