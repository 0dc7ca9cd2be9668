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

// marker returns a plugin that leaves a file when it is executed.
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

// TestWorkingFolder checks that plugins in ./burn_plugins are executed only once the user has allowed it, with the content that
// they had then.
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

	// The user is asked once, with the facts; no is no.
	var asked []LocalFolder
	answer := false
	o := Options{Containment: ContainOff, Ask: func(l LocalFolder) bool { asked = append(asked, l); return answer }}
	refused(o, "you have not allowed them")
	require.Len(t, asked, 2)
	require.Equal(t, []string{"mine"}, asked[0].Plugins)
	require.False(t, asked[0].Changed)
	_, err := Open(ctx, "other", o)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.Len(t, asked, 2, "another plugin is wanted")
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

	// Other content is another question. So is the same content elsewhere.
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

	// A folder that the user names is not asked about.
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

// program writes a plugin that becomes this binary, and what it needs for that. It is packed sooner than the binary, most of all
// with the race detector.
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

// installed puts a plugin with this binary as its program into the store of the user.
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

// Neither the working folder nor a file in the store itself takes the place of an installed or locked plugin.
func TestNothingHidesAnInstallation(t *testing.T) {
	isolate(t)
	ctx := context.Background()
	s := installed(t, "fake")
	local, flat := marker(t, localDir, "fake"), marker(t, UserDir(), "fake")
	none := func() {
		t.Helper()
		require.False(t, local(), "of the working folder")
		require.False(t, flat(), "of the store")
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

	// The lock holds the name when the installation is gone, and says what to do.
	_, shadowed := Find(Options{Containment: ContainOff})
	require.Len(t, shadowed, 2)
	require.NoError(t, os.RemoveAll(filepath.Join(UserDir(), "example.org")))
	_, err = Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.ErrorContains(t, err, "burn plugin install fake")
	require.ErrorContains(t, err, "holds example.org/acme/fake")
	none()

	// With the lock gone too, each may speak for itself: the file in the store, and what the user allowed.
	require.NoError(t, os.Remove(s.LockFile))
	_, err = Open(ctx, "process:fake", Options{Containment: ContainOff})
	require.Error(t, err)
	require.True(t, local())
}

// A file that others can change is not executed where nobody vouches for its content, and is where somebody does.
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
