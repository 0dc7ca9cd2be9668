package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
)

// packedFolder writes files into dir, packs the plugin dir/burn-backend-npu with the further arguments more, and returns the archive.
func packedFolder(t *testing.T, dir string, files map[string]string, more ...string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := os.FileMode(0o644)
		if filepath.Ext(name) == "" {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	archive := filepath.Join(t.TempDir(), "plugin.tar.gz")
	r := call(t, append([]string{"plugin", "pack", filepath.Join(dir, "burn-backend-npu"), "--namespace", "example.org/me", "--version", "0.1.0", "--out", archive}, more...)...)
	require.Equal(t, 0, r.code, r.err)
	return archive
}

// A folder is packed with its subfolders, without hidden and compiled files.
func TestPackFolder(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"burn-backend-npu": "#!/bin/sh\n", "lib/a.py": "a", "lib/deep/b.py": "b", "lib/.git/c": "c", "lib/__pycache__/a.pyc": "x", "lib/d.pyc": "x", "other/e.txt": "e"}
	archive := packedFolder(t, dir, files, "--file", filepath.Join(dir, "lib"), "--file", filepath.Join(dir, "other")+"=data")
	p, err := store.Inspect(archive, store.Limits{})
	require.NoError(t, err)
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Path)
	}
	require.ElementsMatch(t, []string{"burn-backend-npu", "burn-backend-npu.toml", "lib/a.py", "lib/deep/b.py", "data/e.txt"}, names)

	require.NoError(t, os.Mkdir(filepath.Join(dir, "none"), 0o755))
	for _, wrong := range []string{"none", "nowhere"} {
		r := call(t, "plugin", "pack", filepath.Join(dir, "burn-backend-npu"), "--namespace", "example.org/me", "--version", "0.1.0", "--out", archive, "--file", filepath.Join(dir, wrong))
		require.Equal(t, 2, r.code)
		require.Contains(t, r.err, "--file: ")
	}
}

// A Python plugin of plugin new can be shipped: packed and installed, it starts from the verified copy, receives its options, and
// writes nothing beside the verified files.
func TestPythonShips(t *testing.T) {
	python := os.Getenv("BURN_PYTHON")
	if python == "" {
		t.Skip("BURN_PYTHON is not set: it names a Python with grpcio, numpy and cryptography; make backends makes one")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the launcher is a shell script")
	}
	if out, err := exec.Command(python, "-c", "import grpc, numpy, cryptography").CombinedOutput(); err != nil {
		t.Skipf("%s lacks grpcio, numpy or cryptography: %v: %s", python, err, out)
	}
	dir := filepath.Join(t.TempDir(), "npu")
	r := call(t, "plugin", "new", "npu", "--lang", "python", "--dir", dir)
	require.Equal(t, 0, r.code, r.err)
	archive := packedFolder(t, dir, nil, "--file", filepath.Join(dir, "main.py"), "--file", filepath.Join(dir, "kernels.py"), "--file", filepath.Join(dir, "burnplugin"))
	require.NoError(t, os.RemoveAll(dir)) // the installed plugin does not use it

	burn := athome(t)
	data := os.Getenv("XDG_DATA_HOME")
	t.Setenv("BURN_PYTHON", python)
	burn(0, "plugin", "install", archive, "--allow-unsigned")
	burn(0, "conformance", "run", "npu", "--run", "^neg/f32/odd/plain$")
	r = burn(1, "conformance", "run", "npu", "--run", "^neg/f32/odd/plain$", "--option", "npu.cores=4")
	require.Contains(t, r.err, "npu has no option cores")
	require.NoError(t, filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		require.NotEqual(t, "__pycache__", d.Name(), path)
		return err
	}))
	burn(0, "plugin", "verify")
}
