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
