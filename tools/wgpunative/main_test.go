package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed returns a wheel that contains files.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestExtract(t *testing.T) {
	content := packed(t, map[string]string{"wgpu/resources/libwgpu_native-release.so": "library", "wgpu/resources/webgpu.h": "header", "wgpu/other.so": "other",
		"wgpu-0.32.0.dist-info/licenses/LICENSE": "BSD"})
	out := t.TempDir()
	require.NoError(t, extract(content, wheels["linux/amd64"], out, false))
	b, err := os.ReadFile(filepath.Join(out, "libwgpu_native.so"))
	require.NoError(t, err)
	require.Equal(t, "library", string(b))
	b, err = os.ReadFile(filepath.Join(out, "wgpu-native.LICENSE"))
	require.NoError(t, err)
	require.Contains(t, string(b), "Apache License")
	require.Contains(t, string(b), "BSD")
	files, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.ErrorContains(t, extract(packed(t, map[string]string{"a": "b"}), wheels["linux/amd64"], out, false), "no library")
}

// A wheel with another hash is refused before anything is extracted.
func TestHash(t *testing.T) {
	content := packed(t, map[string]string{"wgpu/resources/libwgpu_native-release.so": "library"})
	file := filepath.Join(t.TempDir(), "wheel.whl")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	out := t.TempDir()
	sum := sha256.Sum256(content)
	require.ErrorContains(t, run("linux/amd64", out, file, "", false), hex.EncodeToString(sum[:]))
	files, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, files)
	require.ErrorContains(t, run("plan9/amd64", out, file, "", false), "no library for plan9/amd64")
}
