package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/store"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/wire"
)

// packaged installs a package that contains a program and the file "data".
func packaged(t *testing.T, name, kind, program string) *store.Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), []byte(program), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte("good data"), 0o644))
	path := filepath.Join(dir, "a.tar.gz")
	_, err := store.Pack(path, store.Content{Executable: filepath.Join(dir, "program"), Extra: map[string]string{"data": filepath.Join(dir, "data")},
		Manifest: manifest.Manifest{Name: name, Namespace: "example.org/acme", Version: "1.0.0", Kind: kind, OS: runtime.GOOS, Arch: runtime.GOARCH,
			Protocol: manifest.Protocol{Min: wire.Oldest, Max: wire.Version}}})
	require.NoError(t, err)
	a, err := (&store.Fetcher{}).File(path)
	require.NoError(t, err)
	defer a.Close()
	s := &store.Store{Dir: UserDir(), Trust: &store.Trust{}, LockFile: filepath.Join(UserDir(), store.LockName)}
	r, err := s.Install(context.Background(), a, store.InstallOptions{Unsigned: true})
	require.NoError(t, err)
	return r
}

// A plugin of several files sees a folder with checked copies of exactly these files, until it ends. A changed file is refused.
func TestPackageFolder(t *testing.T) {
	isolate(t)
	self, err := os.Executable()
	require.NoError(t, err)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	seen := filepath.Join(t.TempDir(), "seen")
	r := packaged(t, "script", Process, "#!/bin/sh\n(cat \"$BURN_PLUGIN_DIR/data\"; ls \"$BURN_PLUGIN_DIR\"; echo \"$BURN_PLUGIN_DIR\") > "+seen+"\nexec "+self+"\n")
	require.NoError(t, os.Chmod(r.Dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "planted"), nil, 0o644))
	t.Setenv(fake.Env, fake.Good)
	d, err := Open(context.Background(), "process:script", Options{Containment: ContainOff})
	require.NoError(t, err)
	text, err := os.ReadFile(seen)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Equal(t, []string{"good databurn-backend-script", "burn-backend-script.toml", "data"}, lines[:3])
	require.Len(t, lines, 4)
	folder := lines[3]
	require.NotEqual(t, r.Dir, folder)
	require.FileExists(t, filepath.Join(folder, "data"), "the folder exists as long as the plugin runs")
	require.NoError(t, d.Close())
	require.NoDirExists(t, folder)

	require.NoError(t, os.Chmod(filepath.Join(r.Dir, "data"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "data"), []byte("evil data"), 0o644))
	_, err = Open(context.Background(), "process:script", Options{Containment: ContainOff})
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, CauseChecksum, f.Cause)
	require.ErrorContains(t, err, filepath.Join(r.Dir, "data"))
}

// A shared object in this process keeps the copy of its package: a second Open uses the same copy, although the installed file has changed.
func TestPackageLoaded(t *testing.T) {
	isolate(t)
	r := packaged(t, "object", Shared, "good object")
	before := loader.Load()
	defer loader.Store(before)
	var paths []string
	RegisterLoader(func(path string, c core.Config) (core.Backend, error) {
		paths = append(paths, path)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "good object", string(content))
		return fake.New(c)
	})
	for range 2 {
		d, err := Open(context.Background(), "shared:object", Options{Containment: ContainOff})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.NoError(t, os.Chmod(filepath.Join(r.Dir, "data"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "data"), []byte("evil data"), 0o644))
	}
	require.Len(t, paths, 2)
	require.Equal(t, paths[0], paths[1])
	require.NotEqual(t, r.Dir, filepath.Dir(paths[0]))
	data, err := os.ReadFile(filepath.Join(filepath.Dir(paths[0]), "data"))
	require.NoError(t, err)
	require.Equal(t, "good data", string(data))
	placed.Lock()
	defer placed.Unlock()
	for key, f := range placed.by {
		require.NoError(t, f.Close())
		delete(placed.by, key)
	}
}
