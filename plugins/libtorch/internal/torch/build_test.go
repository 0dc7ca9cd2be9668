package torch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// bare creates a folder with Debian's layout and a torch that lacks the ABI: the test binary, which exports nothing, replaces the library.
func bare(t *testing.T) (prefix, folder string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	prefix = t.TempDir()
	folder = filepath.Join(prefix, filepath.FromSlash(multiarch))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(folder, "libtorch_cpu.so.1.13")))
	return prefix, folder
}

// script writes a program that replaces a compiler.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compiler")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700))
	return file
}

func TestBuild(t *testing.T) {
	prefix, folder := bare(t)
	p, err := Search{Env: func(n string) string { return map[string]string{"LIBTORCH": prefix}[n] }}.Find()
	require.NoError(t, err)
	require.Equal(t, folder, p.Folder)

	err = Build(t.Context(), folder, "no-such-compiler")
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "no C++ compiler")
	good := script(t, `cat >/dev/null; while [ "$1" != -o ]; do shift; done; echo shim >"$2"`)
	err = Build(t.Context(), folder, good)
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "no headers of torch")
	require.ErrorContains(t, err, "libtorch-dev")
	for _, h := range []string{"torch/library.h", "ATen/core/Tensor.h"} {
		file := filepath.Join(prefix, "include", filepath.FromSlash(h))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	err = Build(t.Context(), folder, script(t, "cat >/dev/null; echo 'a.cpp: note: n' >&2; echo 'a.cpp:1: error: odd' >&2; exit 1"))
	require.ErrorContains(t, err, "does not compile the shim for the torch in "+folder)
	require.ErrorContains(t, err, ": a.cpp:1: error: odd")
	require.NotContains(t, err.Error(), "note")
	require.Empty(t, Shim(folder))

	require.NoError(t, Build(t.Context(), folder, good))
	shim := Shim(folder)
	text, err := os.ReadFile(shim)
	require.NoError(t, err)
	require.Equal(t, "shim\n", string(text))
	require.NoError(t, Build(t.Context(), folder, "no-such-compiler"), "it is built")
	left, err := os.ReadDir(filepath.Dir(shim))
	require.NoError(t, err)
	require.Len(t, left, 1)

	require.NoError(t, os.Remove(filepath.Join(folder, "libtorch_cpu.so.1.13")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "libtorch_cpu.so"), []byte("another"), 0o600))
	require.Empty(t, Shim(folder), "it is of another torch")
	require.ErrorIs(t, Build(t.Context(), folder, good), ErrMissing)
}

// TestShim checks that the shim of an installed torch without the ABI has all functions that the package looks up.
func TestShim(t *testing.T) {
	l, err := library()
	if err != nil {
		t.Skip("torch is not on this machine: ", err)
	}
	if l.Shim == "" {
		t.Skip("a shim is not on this machine: torch has the ABI")
	}
	require.True(t, l.Lists())
	require.True(t, l.Words())
	require.True(t, l.Adopts())
	require.Positive(t, l.Computes())
}
