package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/long"
)

// date is the build date of the tests.
var date = time.Now().Truncate(time.Second)

// makeDist builds the cpu plugin for this platform into out.
func makeDist(t *testing.T, out, key, version string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not in PATH: this test builds plugins with it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var log bytes.Buffer
	err = dist(context.Background(), options{out: out, key: key, version: version, namespace: "github.com/goburn",
		platforms: []string{store.Native()}, names: []string{"cpu"}, root: root, log: &log, date: date})
	require.NoError(t, err, log.String())
}

// first is a build that the tests share: a mirror, and the key that signed it.
var first struct {
	once        sync.Once
	mirror, key string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if first.mirror != "" {
		_ = os.RemoveAll(filepath.Dir(first.mirror))
	}
	os.Exit(code)
}

func firstDist(t *testing.T) (mirror, key string) {
	t.Helper()
	first.once.Do(func() {
		dir, err := os.MkdirTemp("", "burn-dist-test-")
		require.NoError(t, err)
		first.mirror, first.key = filepath.Join(dir, "mirror"), filepath.Join(dir, "maker.key")
		k, err := store.GenerateKey()
		require.NoError(t, err)
		require.NoError(t, k.Write(first.key))
		makeDist(t, first.mirror, first.key, "0.1.0")
	})
	return first.mirror, first.key
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	}))
	return files
}

// Two builds produce the same bytes: archives, signatures, index and lock.
func TestReproducible(t *testing.T) {
	long.Need(t, "builds a plugin twice")
	one, key := firstDist(t)
	two := filepath.Join(t.TempDir(), "another", "place")
	makeDist(t, two, key, "0.1.0")
	a, b := contents(t, one), contents(t, two)
	base := "github.com/goburn/cpu/0.1.0/" + store.Native() + ".tar.gz"
	require.Len(t, a, 5)
	for _, name := range []string{base, base + ".sig", "index.toml", "index.toml.sig", "burn.lock"} {
		require.NotEmpty(t, a[name], name)
		require.True(t, a[name] == b[name], "%s differs", name)
	}
	lock, err := store.ReadLock(filepath.Join(one, "burn.lock"))
	require.NoError(t, err)
	require.Equal(t, "github.com/goburn/cpu", lock.Plugins[0].Plugin)
	p, err := store.Inspect(filepath.Join(one, filepath.FromSlash(base)), store.Limits{})
	require.NoError(t, err)
	require.Equal(t, lock.Plugins[0].Platforms[store.Native()], store.Hashes{Archive: p.Archive, Tree: p.Tree})

	exe := extracted(t, filepath.Join(one, filepath.FromSlash(base)))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.False(t, strings.Contains(exe, root), "the program names the folder that it was built in")
}

// extracted returns everything that tar extracts from an archive.
func extracted(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("tar", "-xzOf", path).Output()
	if err != nil {
		t.Skip("tar is not in PATH: this test reads an archive with it: ", err)
	}
	return string(out)
}

func TestChoose(t *testing.T) {
	all, err := choose(nil)
	require.NoError(t, err)
	require.Len(t, all, len(plugins))
	_, err = choose([]string{"abacus"})
	require.ErrorContains(t, err, "abacus")
	for _, p := range plugins {
		require.DirExists(t, filepath.Join("../..", p.module, p.pkg))
	}
}

// The archive of the plugin wgpu has the library that it calls, the library's licences, and what its process may do, on each platform
// that the library is known for.
func TestWGPU(t *testing.T) {
	rows, err := choose([]string{"wgpu"})
	require.NoError(t, err)
	require.NotNil(t, rows[0].beside)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	o := options{out: t.TempDir(), version: "0.1.0", namespace: "github.com/goburn", root: root, log: &bytes.Buffer{}, date: date}
	for platform, library := range map[string]string{"linux_amd64": "libwgpu_native.so", "linux_arm64": "libwgpu_native.so", "darwin_amd64": "libwgpu_native.dylib",
		"darwin_arm64": "libwgpu_native.dylib", "windows_amd64": "wgpu_native.dll", "windows_arm64": "wgpu_native.dll"} {
		require.True(t, rows[0].on(platform))
		dir := t.TempDir()
		exe, beside := filepath.Join(dir, store.Executable("wgpu", "process", platform)), filepath.Join(dir, "beside")
		require.NoError(t, os.WriteFile(exe, []byte("program"), 0o755))
		require.NoError(t, os.Mkdir(beside, 0o755))
		for name, text := range map[string]string{library: "library", "wgpu-native.LICENSE": "MIT or Apache"} {
			require.NoError(t, os.WriteFile(filepath.Join(beside, name), []byte(text), 0o644))
		}
		p, err := o.pack(rows[0], platform, exe, beside, nil)
		require.NoError(t, err, platform)
		var names []string
		for _, f := range p.Files {
			names = append(names, f.Path)
		}
		require.ElementsMatch(t, []string{filepath.Base(exe), "burn-backend-wgpu.toml", library, "wgpu-native.LICENSE", "LICENSE"}, names, platform)
		require.NotNil(t, p.Manifest.Needs, platform)
		require.Contains(t, p.Manifest.Needs.Devices, "/dev/dri/*")
	}
}

// The whole archive, with the library from PyPI, which is installed and opens where there is an adapter.
func TestWGPUFromIndex(t *testing.T) {
	long.Need(t, "builds a plugin and fetches a library")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not in PATH: this test builds a plugin with it")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	python := os.Getenv("BURN_PYTHON")
	if python == "" {
		python = "python3"
	}
	o := options{out: t.TempDir(), version: "0.1.0", namespace: "github.com/goburn", platforms: []string{store.Native()}, names: []string{"wgpu"}, root: root,
		python: python, log: &bytes.Buffer{}, date: date}
	if err := dist(context.Background(), o); err != nil {
		if strings.Contains(err.Error(), "pip download") {
			t.Skip("the library cannot be had from PyPI: ", err)
		}
		require.NoError(t, err)
	}
	p, err := store.Inspect(filepath.Join(o.out, "github.com/goburn/wgpu/0.1.0", store.Native()+".tar.gz"), store.Limits{})
	require.NoError(t, err)
	sizes := map[string]int64{}
	for _, f := range p.Files {
		sizes[f.Path] = f.Size
	}
	require.Greater(t, sizes["wgpu-native.LICENSE"], int64(500))
	delete(sizes, "wgpu-native.LICENSE")
	large := 0
	for name, n := range sizes {
		if strings.Contains(name, "wgpu_native") && n > 1<<20 {
			large++
		}
	}
	require.Equal(t, 1, large, "%v", sizes)
}
