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
	"github.com/goburn/burn/sdk/wire"
)

// TestAdmitted installs plugins and checks them again after each kind of tampering that lock, trust file, signature and receipt must
// detect.
func TestAdmitted(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	key, err := store.GenerateKey()
	require.NoError(t, err)
	maker := store.Key{ID: key.Public().ID(), Public: key.Public().String(), Owner: "ACME", Namespaces: []string{"example.org/acme"}}
	trust := &store.Trust{File: filepath.Join(dir, "trust.toml"), Keys: []store.Key{maker}}
	require.NoError(t, trust.Write())
	s := &store.Store{Dir: filepath.Join(dir, "store"), Trust: trust, LockFile: filepath.Join(dir, store.LockName)}
	self, err := os.Executable()
	require.NoError(t, err)
	whole, needs := program(t)
	small := filepath.Join(dir, "small")
	require.NoError(t, os.WriteFile(small, []byte("#!/bin/sh\n"), 0o755))
	archive := func(version, program string, signed bool) string {
		path := filepath.Join(dir, version+".tar.gz")
		p, err := store.Pack(path, store.Content{Executable: program, Manifest: manifest.Manifest{Name: "fake", Namespace: "example.org/acme",
			Version: version, Needs: needs, Kind: Process, OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: manifest.Protocol{Min: wire.Oldest, Max: wire.Version}}})
		require.NoError(t, err)
		if signed {
			require.NoError(t, key.SignFile(path, p))
		}
		return path
	}
	install := func(path string, o store.InstallOptions) *store.Result {
		a, err := (&store.Fetcher{}).File(path)
		require.NoError(t, err)
		defer a.Close()
		r, err := s.Install(context.Background(), a, o)
		require.NoError(t, err)
		return r
	}
	o := Options{Dirs: []string{s.Dir}, LockFile: s.LockFile, TrustFile: trust.File}
	open := func(o Options) error {
		d, err := Open(context.Background(), "process:fake", o)
		if err == nil {
			err = d.Close()
		}
		return err
	}
	opens := func(version string) {
		t.Helper()
		found, _ := Find(o)
		require.Nil(t, found[0].Check())
		require.Equal(t, version, filepath.Base(filepath.Dir(filepath.Dir(found[0].Path))))
	}
	refused := func(reason error, remedy string) {
		t.Helper()
		err := open(o)
		require.ErrorIs(t, err, reason)
		require.ErrorIs(t, err, core.ErrProtocol)
		require.ErrorContains(t, err, remedy)
		found, _ := Find(o)
		require.Equal(t, CauseRefused, found[0].Check().Cause)
	}
	one := install(archive("1.0.0", small, true), store.InstallOptions{})
	opens("1.0.0")

	edit := func(path string, change func([]byte) []byte) (undo func()) {
		t.Helper()
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		if text := change(old); text != nil {
			require.NoError(t, os.WriteFile(path, text, 0o644))
		}
		return func() { require.NoError(t, os.WriteFile(path, old, 0o644)) }
	}
	gone := func([]byte) []byte { return nil }

	undo := edit(trust.File, gone)
	refused(store.ErrUntrusted, "burn plugin trust")
	undo()
	revoked := *trust
	revoked.Keys = []store.Key{maker}
	revoked.Keys[0].Revoked = "it leaked"
	require.NoError(t, revoked.Write())
	refused(store.ErrUntrusted, "signed with another key")
	require.NoError(t, (&store.Trust{File: trust.File, Keys: []store.Key{maker}}).Write())
	opens("1.0.0")

	// The manifest was changed after the installation, and the receipt is gone.
	undo = edit(filepath.Join(one.Dir, "burn-backend-fake.toml"), func(b []byte) []byte { return append(b, "# more\n"...) })
	refused(store.ErrExists, "--force")
	undo()
	undo = edit(filepath.Join(one.Dir, ".burn-receipt.toml"), gone)
	refused(store.ErrLocked, "--force")
	undo()

	// The lock holds another build or another version.
	lock, err := store.ReadLock(s.LockFile)
	require.NoError(t, err)
	h := lock.Plugins[0].Platforms[store.Native()]
	good := h
	h.Tree = h.Archive
	lock.Plugins[0].Platforms[store.Native()] = h
	require.NoError(t, lock.Write())
	refused(store.ErrLocked, "--force")
	lock.Plugins[0].Platforms[store.Native()] = good
	lock.Plugins[0].Version = "0.9.0"
	require.NoError(t, lock.Write())
	refused(store.ErrLocked, "burn plugin upgrade")
	lock.Plugins[0].Version = "1.0.0"
	require.NoError(t, lock.Write())
	opens("1.0.0")

	// Of two versions, the locked one is used. Installing with Upgrade locks the new one.
	install(archive("1.1.0", small, true), store.InstallOptions{Upgrade: true, Keep: true})
	opens("1.1.0")
	require.NoError(t, lock.Write())
	opens("1.0.0")

	// An archive without a signature, which the user has allowed, is checked against the lock alone.
	install(archive("2.0.0", whole, false), store.InstallOptions{Upgrade: true, Unsigned: true})
	opens("2.0.0")
	require.NoError(t, open(o))

	// A development override is not checked.
	require.NoError(t, os.WriteFile(s.LockFile, []byte("broken"), 0o644))
	require.Error(t, open(o))
	o.Development = map[string]string{"fake": self}
	require.NoError(t, open(o))
}
