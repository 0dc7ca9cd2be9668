package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain makes a copy of this test binary print the text in SEALED_ANSWER.
func TestMain(m *testing.M) {
	if s := os.Getenv("SEALED_ANSWER"); s != "" {
		os.Stdout.WriteString(s)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program copies this test binary into a new folder and returns the path and the sha256 of the copy.
func program(t *testing.T) (path, sum string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "prog.exe")
	require.NoError(t, os.WriteFile(path, b, 0o755))
	s := sha256.Sum256(b)
	return path, hex.EncodeToString(s[:])
}

func answer(t *testing.T, path string) (string, error) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "SEALED_ANSWER=right")
	out, err := cmd.Output()
	return string(out), err
}

func TestExecute(t *testing.T) {
	path, sum := program(t)
	f, err := Open(path, strings.ToUpper(sum), Execute)
	require.NoError(t, err)
	got, err := answer(t, f.Path())
	require.NoError(t, err)
	require.Equal(t, "right", got)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
}

// If the file is replaced, overwritten or removed between the check and the start, the checked bytes run.
func TestSwapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the open handle keeps the file from being changed, see TestHeld")
	}
	for name, swap := range map[string]func(path string) error{
		"renamed over": func(path string) error {
			evil := path + ".evil"
			if err := os.WriteFile(evil, []byte("#!/bin/sh\necho wrong\n"), 0o755); err != nil {
				return err
			}
			return os.Rename(evil, path)
		},
		"written to": func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\necho wrong\n"), 0o755) },
		"removed":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path, sum := program(t)
			f, err := Open(path, sum, Execute)
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, swap(path))
			got, err := answer(t, f.Path())
			require.NoError(t, err)
			require.Equal(t, "right", got)
			if got, err := answer(t, path); err == nil {
				require.NotEqual(t, "right", got, "the file at path must have changed")
			}
		})
	}
}

func TestMismatch(t *testing.T) {
	path, sum := program(t)
	require.NoError(t, os.WriteFile(path, []byte("other"), 0o755))
	for _, how := range []How{Execute, Load} {
		before := openFiles(t)
		_, err := Open(path, sum, how)
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, path)
		require.Equal(t, before, openFiles(t))
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), sum, Execute)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func openFiles(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(fds)
}

// Scripts and shared objects are copied into a folder that only the user can access. Close removes the folder.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: files are held where they are")
	}
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "burn-backend-x")
	text := []byte("#!/bin/sh\nprintf right\n")
	require.NoError(t, os.WriteFile(path, text, 0o755))
	sum := sha256.Sum256(text)
	for _, how := range []How{Execute, Load} {
		f, err := Open(path, hex.EncodeToString(sum[:]), how)
		require.NoError(t, err)
		require.NotEqual(t, path, f.Path())
		require.Equal(t, "burn-backend-x", filepath.Base(f.Path()))
		info, err := os.Stat(filepath.Dir(f.Path()))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		got, err := answer(t, f.Path())
		require.NoError(t, err)
		require.Equal(t, "right", got)
		require.NoError(t, f.Close())
		left, err := os.ReadDir(os.Getenv("TMPDIR"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
