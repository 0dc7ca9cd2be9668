//go:build unix

package tomlfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/tomlfile"
)

func TestSpecialFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := pipe + "-link"
	require.NoError(t, os.Symlink(pipe, link))
	for path, want := range map[string]string{pipe: "a named pipe", link: "a named pipe", os.DevNull: "a device", "/dev/zero": "a device"} {
		_, err := tomlfile.Read(path, 100)
		require.ErrorIs(t, err, tomlfile.ErrRefused)
		require.ErrorContains(t, err, "want a regular file, got "+want)
	}
}
