//go:build unix

package client

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

func listenAt(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// TestOwnSocket checks that the host connects only to sockets that a plugin created for it.
func TestOwnSocket(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "burn-own-")
	require.NoError(t, err)
	defer os.RemoveAll(base)
	dir, other, open := filepath.Join(base, "own"), filepath.Join(base, "other"), filepath.Join(base, "own", "open")
	for _, d := range []string{dir, other, open} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	require.NoError(t, os.Chmod(open, 0o777))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "way")))
	require.NoError(t, os.Symlink(filepath.Join(other, "s"), filepath.Join(dir, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "s"), filepath.Join(other, "s"), filepath.Join(open, "s")} {
		listenAt(t, path)
	}
	require.NoError(t, ownSocket(dir, filepath.Join(dir, "s")))
	require.NoError(t, ownSocket("", filepath.Join(other, "s")))
	for path, want := range map[string]string{
		filepath.Join(other, "s"):      "in the plugin's folder",
		dir + "/../other/s":            "in the plugin's folder",
		filepath.Join(dir, "way", "s"): "in the plugin's folder",
		filepath.Join(dir, "link"):     "want a socket",
		filepath.Join(dir, "file"):     "want a socket",
		filepath.Join(dir, "none"):     "no such file",
		filepath.Join(open, "s"):       "that the user alone may enter",
		"s":                            "in the plugin's folder",
		"\x00abstract":                 "in the plugin's folder",
	} {
		require.ErrorContains(t, ownSocket(dir, path), want, path)
	}

	p := newProcess("x", "x")
	p.dir = dir
	_, _, err = p.PluginToHost("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	_, _, err = p.PluginToHost("unix", filepath.Join(other, "s"))
	require.Error(t, err)
	_, _, err = p.PluginToHost("tcp", "127.0.0.1:1234")
	require.NoError(t, err)
	_, _, err = p.PluginToHost("tcp", "192.0.2.1:1234")
	require.ErrorContains(t, err, "loopback")

	// A plugin that names a socket of another program gets streams over gRPC, and the other program gets no connection.
	l := listenAt(t, filepath.Join(other, "victim"))
	w := &wire.Welcome{Features: []string{wire.FeatureSocket}, Socket: filepath.Join(other, "victim"), Token: make([]byte, wire.TokenSize)}
	c, _ := carrier(w, p, &Options{})
	require.Nil(t, c)
	require.NoError(t, l.SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestKilledStart checks that a plugin that a signal kills before its handshake is reported as a crash, without the advice to remove it.
func TestKilledStart(t *testing.T) {
	for signal, want := range map[string]string{"KILL": "SIGKILL", "TERM": "SIGTERM"} {
		for when, before := range map[string]string{"silent": "", "in the handshake": "printf '1|1'; ", "later": "sleep 0.3; "} {
			path := filepath.Join(t.TempDir(), "burn-backend-x")
			require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+before+"kill -"+signal+" $$\n"), 0o700))
			_, err := Start(context.Background(), path, Options{})
			var e *StartError
			require.ErrorAs(t, err, &e)
			require.Equal(t, CauseCrash, e.Cause, "%s: %v", when, err)
			require.ErrorIs(t, err, core.ErrBackendLost)
			require.ErrorContains(t, err, "it was killed before the handshake, by signal "+want)
			require.NotContains(t, e.Remedy(), "remove")
		}
	}
}

// TestSweepForeign checks that sweep leaves folders whose lock is a link or a pipe that another user planted.
func TestSweepForeign(t *testing.T) {
	base := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for name, plant := range map[string]func(lock string) error{
		"link": func(lock string) error { return os.Symlink(filepath.Join(base, "victim"), lock) },
		"pipe": func(lock string) error { return syscall.Mkfifo(lock, 0o600) },
	} {
		dir := filepath.Join(base, dirPrefix+name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(base, "victim"), nil, 0o600))
		require.NoError(t, plant(filepath.Join(dir, lockName)))
		require.NoError(t, os.Chtimes(dir, old, old))
	}
	sweep(base)
	require.DirExists(t, filepath.Join(base, dirPrefix+"link"))
	require.DirExists(t, filepath.Join(base, dirPrefix+"pipe"))
}
