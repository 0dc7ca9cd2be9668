package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client/contain"
	"github.com/goburn/burn/sdk/wire"
)

// marker writes a plugin into dir that creates a file when it is executed. executed reports whether it was executed since the last call.
func marker(t *testing.T, dir, name string) (executed func() bool) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	file := filepath.Join(t.TempDir(), "executed")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, exe(name)), []byte("#!/bin/sh\ntouch "+file+"\nexit 3\n"), 0o755))
	return func() bool {
		_, err := os.Stat(file)
		_ = os.Remove(file)
		return err == nil
	}
}

func statusOf(t *testing.T, o Options, name string) Status {
	t.Helper()
	for _, s := range Devices(context.Background(), o) {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no %s", name)
	return Status{}
}

// TestWorkingFolder checks that plugins in ./burn_plugins are executed only after the user has allowed the folder, and only with the
// content that was allowed.
func TestWorkingFolder(t *testing.T) {
	isolate(t)
	ctx := context.Background()
	executed := marker(t, localDir, "mine")
	refused := func(o Options, detail string) {
		t.Helper()
		_, err := Open(ctx, "mine", o)
		require.ErrorIs(t, err, core.ErrProtocol)
		require.ErrorContains(t, err, "burn plugin allow "+abs(t, localDir))
		require.ErrorContains(t, err, detail)
		s := statusOf(t, o, "mine")
		require.Equal(t, Failed, s.State)
		require.Equal(t, CauseNotAllowed, s.Failure.Cause)
		require.False(t, executed())
	}
	refused(Options{Containment: ContainOff}, "you have not allowed them")

	// Each call asks the user once, with the names of the plugins. The answer no refuses the plugin.
	var asked []LocalFolder
	answer := false
	o := Options{Containment: ContainOff, Ask: func(l LocalFolder) bool { asked = append(asked, l); return answer }}
	refused(o, "you have not allowed them")
	require.Len(t, asked, 2)
	require.Equal(t, []string{"mine"}, asked[0].Plugins)
	require.False(t, asked[0].Changed)
	_, err := Open(ctx, "other", o)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.Len(t, asked, 2, "another plugin must not cause a question")
	answer, asked = true, nil
	statusOf(t, o, "mine")
	require.True(t, executed())
	_, err = Open(ctx, "mine", o)
	require.Error(t, err)
	require.True(t, executed())
	require.Len(t, asked, 1)
	_, err = Open(ctx, "mine", Options{Containment: ContainOff})
	require.Error(t, err)
	require.True(t, executed(), "the answer is remembered")

	// Changed content requires a new permission, and so does the same content in another folder.
	require.NoError(t, os.WriteFile(filepath.Join(localDir, "data"), []byte("x"), 0o644))
	refused(Options{Containment: ContainOff}, "other content than when you allowed it")
	l, err := Local(localDir)
	require.NoError(t, err)
	require.True(t, l.Changed)
	require.NoError(t, os.Remove(filepath.Join(localDir, "data")))
	require.Equal(t, Failed, statusOf(t, Options{Containment: ContainOff}, "mine").State)
	require.True(t, executed())
	here := abs(t, localDir)
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS(localDir, os.DirFS(here)))
	refused(Options{Containment: ContainOff}, "you have not allowed them")

	// A folder that the user names needs no permission.
	for name, o := range map[string]Options{"option": {Containment: ContainOff, Dirs: []string{localDir}}, "variable": {Containment: ContainOff}} {
		if name == "variable" {
			t.Setenv(EnvPath, abs(t, localDir))
		}
		_, err = Open(ctx, "mine", o)
		require.Error(t, err)
		require.True(t, executed(), name)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	require.NoError(t, err)
	return p
}

// program writes a script that executes this test binary, and returns it with the needs of the script. Packing the script takes less time
// than packing the binary, above all with the race detector.
func program(t *testing.T) (file string, needs *contain.Needs) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	if runtime.GOOS == "windows" {
		return self, nil
	}
	file = filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\nexec '"+self+"'\n"), 0o755))
	return file, &contain.Needs{Read: []string{self}}
}

// installed installs a plugin, whose program executes this test binary, into the store of the user.
func installed(t *testing.T, name string) *store.Store {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("HOME", dir)
	file, needs := program(t)
	s := &store.Store{Dir: UserDir(), Trust: &store.Trust{}, LockFile: filepath.Join(UserDir(), store.LockName)}
	path := filepath.Join(dir, "a.tar.gz")
	_, err := store.Pack(path, store.Content{Executable: file, Manifest: manifest.Manifest{Name: name, Namespace: "example.org/acme",
		Version: "1.0.0", Needs: needs, Kind: Process, OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: manifest.Protocol{Min: wire.Oldest, Max: wire.Version}}})
	require.NoError(t, err)
	a, err := (&store.Fetcher{}).File(path)
	require.NoError(t, err)
	defer a.Close()
	_, err = s.Install(context.Background(), a, store.InstallOptions{Unsigned: true})
	require.NoError(t, err)
	return s
}

// A plugin in the working folder, or directly in the store folder, does not replace an installed or locked plugin.
func TestNothingHidesAnInstallation(t *testing.T) {
	isolate(t)
	ctx := context.Background()
	s := installed(t, "fake")
	local, flat := marker(t, localDir, "fake"), marker(t, UserDir(), "fake")
	none := func() {
		t.Helper()
		require.False(t, local(), "the plugin in the working folder was executed")
		require.False(t, flat(), "the file in the store folder was executed")
	}
	opens := func() {
		t.Helper()
		d, err := Open(ctx, "process:fake", Options{Containment: ContainOff})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.Equal(t, Ready, statusOf(t, Options{Containment: ContainOff}, "fake").State)
		none()
	}
	opens()
	l, err := Local(localDir)
	require.NoError(t, err)
	require.NoError(t, l.Allow(ctx))
	opens()
	r, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Len(t, r.Problems, 1)
	require.Contains(t, r.Problems[0].What, "was not installed")

	// Without the installation, the lock still reserves the name, and the error names the remedy.
	_, shadowed := Find(Options{Containment: ContainOff})
	require.Len(t, shadowed, 2)
	require.NoError(t, os.RemoveAll(filepath.Join(UserDir(), "example.org")))
	_, err = Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.ErrorContains(t, err, "burn plugin install fake")
	require.ErrorContains(t, err, "holds example.org/acme/fake")
	none()

	// Without the lock, the allowed plugin of the working folder is executed.
	require.NoError(t, os.Remove(s.LockFile))
	_, err = Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.Error(t, err)
	require.True(t, local())
}

// A plugin that other users can change is not executed, unless the lock vouches for its content. The lock itself must be writable only by
// the user.
func TestWritableByOthers(t *testing.T) {
	dir := isolate(t)
	ctx := context.Background()
	executed := marker(t, dir, "open")
	require.NoError(t, os.Chmod(filepath.Join(dir, exe("open")), 0o757))
	_, err := Open(ctx, "open", Options{Containment: ContainOff})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "chmod go-w")
	require.False(t, executed())
	require.NoError(t, os.Chmod(filepath.Join(dir, exe("open")), 0o755))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.Equal(t, CauseForeign, statusOf(t, Options{Containment: ContainOff}, "open").Failure.Cause)
	require.False(t, executed())

	s := installed(t, "fake")
	found, err := s.Select("fake")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(found[0].Dir, 0o777))
	d, err := Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, os.Chmod(s.LockFile, 0o666))
	_, err = Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.ErrorIs(t, err, store.ErrForeign)
}
