package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/wire"
)

// file writes a file in a new folder.
func file(t *testing.T, name, content string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
	return path
}

func TestWrite(t *testing.T) {
	for _, name := range []string{"burn-backend-mine", "burn-backend-mine.exe"} {
		exe := file(t, name, "an executable")
		require.NoError(t, write(exe, "example.com/me", "1.2.3", "plan9", "mips", ""))
		var m host.Manifest
		found, err := toml.DecodeFile(filepath.Join(filepath.Dir(exe), "burn-backend-mine.toml"), &m)
		require.NoError(t, err)
		require.Empty(t, found.Undecoded())
		sum := sha256.Sum256([]byte("an executable"))
		require.Equal(t, host.Manifest{Name: "mine", Namespace: "example.com/me", Version: "1.2.3", Kind: host.Process, OS: "plan9", Arch: "mips",
			SHA256: hex.EncodeToString(sum[:]), Protocol: host.Protocol{Min: wire.Oldest, Max: wire.Version}}, m)
	}
}

func TestWriteNeeds(t *testing.T) {
	exe := file(t, "burn-backend-mine", "x")
	require.NoError(t, write(exe, "example.com/me", "1.2.3", "linux", "amd64", file(t, "needs.toml", "devices = ['/dev/mine*']\nenv = ['MINE_*']\n")))
	var m host.Manifest
	_, err := toml.DecodeFile(exe+".toml", &m)
	require.NoError(t, err)
	require.Equal(t, []string{"/dev/mine*"}, m.Needs.Devices)
	require.Equal(t, []string{"MINE_*"}, m.Needs.Env)
}

// TestRefused checks that a plugin with an invalid name or invalid needs leaves no manifest behind.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, exe, needs string }{
		{"another name", "backend-mine", ""},
		{"no name", "burn-backend-", ""},
		{"needs that are no TOML", "burn-backend-mine", "devices = ["},
		{"needs that are not allowed", "burn-backend-mine", "devices = ['/etc/passwd']"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe, needs := file(t, c.exe, "x"), ""
			if c.needs != "" {
				needs = file(t, "needs.toml", c.needs)
			}
			require.Error(t, write(exe, "example.com/me", "1.2.3", "linux", "amd64", needs))
			left, err := filepath.Glob(filepath.Join(filepath.Dir(exe), "*.toml"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	require.ErrorIs(t, write(filepath.Join(t.TempDir(), "burn-backend-mine"), "a", "1", "b", "c", ""), os.ErrNotExist)
}

// The needs of every plugin of this repository can be written into its manifest.
func TestNeedsOfPlugins(t *testing.T) {
	all, err := filepath.Glob("../../plugins/*/needs.toml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 4)
	for _, needs := range all {
		exe := file(t, "burn-backend-mine", "x")
		require.NoError(t, write(exe, "example.com/me", "1.2.3", "linux", "amd64", needs), needs)
		text, err := os.ReadFile(needs)
		require.NoError(t, err)
		var read, written host.Manifest
		_, err = toml.Decode("[needs]\n"+string(text), &read)
		require.NoError(t, err)
		found, err := toml.DecodeFile(exe+".toml", &written)
		require.NoError(t, err)
		require.Empty(t, found.Undecoded())
		require.Equal(t, read.Needs, written.Needs, needs)
	}
}
