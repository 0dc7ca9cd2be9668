package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConstraint(t *testing.T) {
	for text, c := range map[string]struct{ yes, no string }{
		"":             {"0.0.1 1.2.3 9.0.0", "1.0.0-rc.1"},
		"latest":       {"0.0.1", "1.0.0-rc.1"},
		"1.2.3":        {"1.2.3", "1.2.4 1.2.2 1.2.3-rc.1"},
		"v1.2.3":       {"1.2.3", "1.2.4"},
		"1.2":          {"1.2.0 1.2.9", "1.3.0 1.1.9 2.2.0"},
		"1":            {"1.0.0 1.9.9", "2.0.0 0.9.0"},
		">=1.2":        {"1.2.0 1.3.0 2.0.0", "1.1.9"},
		">1.2":         {"1.3.0 2.0.0", "1.2.0 1.2.9 1.1.0"},
		"<=1.2":        {"1.2.0 1.2.9 0.1.0", "1.3.0"},
		"<1.2":         {"1.1.9 0.1.0", "1.2.0 2.0.0"},
		"!=1.2":        {"1.1.0 1.3.0", "1.2.0 1.2.5"},
		">=1.0, <2.0":  {"1.0.0 1.9.9", "0.9.9 2.0.0"},
		"~1.2.3":       {"1.2.3 1.2.9", "1.2.2 1.3.0"},
		"~1":           {"1.0.0 1.9.0", "2.0.0"},
		"^1.2.3":       {"1.2.3 1.9.0", "1.2.2 2.0.0"},
		"^0.2.3":       {"0.2.3 0.2.9", "0.3.0 0.2.2 1.0.0"},
		"^0.0.3":       {"0.0.3", "0.0.4 0.1.0"},
		">=1.0.0-rc.1": {"1.0.0-rc.1 1.0.0-rc.2 1.0.0 1.1.0", "1.0.0-beta 1.1.0-rc.1"},
		"1.0.0-rc.1":   {"1.0.0-rc.1", "1.0.0 1.0.0-rc.2"},
	} {
		got, err := ParseConstraint(text)
		require.NoError(t, err, text)
		for _, v := range strings.Fields(c.yes) {
			require.True(t, got.Allows(v), "%s allows %s", text, v)
		}
		for _, v := range strings.Fields(c.no) {
			require.False(t, got.Allows(v), "%s does not allow %s", text, v)
		}
	}
	for _, text := range []string{"x", "1.2.3.4", ">=", "1..2", "=>1", "1.2-rc", ",", "-1", "99999999999"} {
		_, err := ParseConstraint(text)
		require.ErrorIs(t, err, ErrFormat, text)
	}
}

func TestAddresses(t *testing.T) {
	a, err := ParseAddress("example.org/acme/npu")
	require.NoError(t, err)
	for _, name := range []string{"npu", "acme/npu", "example.org/acme/npu"} {
		require.True(t, a.Matches(name))
	}
	for _, name := range []string{"acme", "pu", "org/acme/npu", "example.org/acme"} {
		require.False(t, a.Matches(name))
	}
	for _, text := range []string{"", "a/b", "a/b/c/d", "../b/c", "a/../c", "a/b/..", "A/b/c", "a/b/C", ".staging/b/c", "a/b/c d", "a//c", "a/b/", "é/b/c"} {
		_, err := ParseAddress(text)
		require.ErrorIs(t, err, ErrFormat, text)
	}
	for _, version := range []string{"", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3+x", "../1.2.3", "1.2.3-a/b", "v1.2.3"} {
		require.Error(t, ID{a, version, "linux_amd64"}.check(), version)
	}
	for _, text := range []string{"npu@", "npu@1.2", "acme/npu@^1", "example.org/acme/npu"} {
		_, _, err := ParseName(text)
		require.NoError(t, err, text)
	}
	for _, text := range []string{"", "@1", "a/b/c/d", "../x", "NPU", "npu@x"} {
		_, _, err := ParseName(text)
		require.ErrorIs(t, err, ErrFormat, text)
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	k, err := GenerateKey()
	require.NoError(t, err)
	path := filepath.Join(dir, "k")
	require.NoError(t, k.Write(path))
	require.ErrorIs(t, k.Write(path), os.ErrExist)
	got, err := ReadPrivateKey(path)
	require.NoError(t, err)
	require.Equal(t, k, got)
	p, err := ReadPublicKey(path + ".pub")
	require.NoError(t, err)
	require.Equal(t, k.Public(), p)
	require.Len(t, p.ID(), 16)
	_, err = ReadPublicKey(path)
	require.ErrorContains(t, err, "private key")
	_, err = ReadPrivateKey(path + ".pub")
	require.ErrorIs(t, err, ErrFormat)
	for _, text := range []string{"", "burn-public-key-1", "burn-public-key-1 AAAA", "burn-public-key-1 !"} {
		_, err := ParsePublicKey(text)
		require.ErrorIs(t, err, ErrFormat, text)
	}
}

func TestTrustFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "trust.toml")
	tr, err := ReadTrust(path)
	require.NoError(t, err)
	require.Empty(t, tr.Keys)
	k, err := GenerateKey()
	require.NoError(t, err)
	require.NoError(t, tr.Add(trusted(k, "example.org/acme")))
	more := trusted(k, "example.org/other", "example.org/acme")
	more.Expires = moment
	require.NoError(t, tr.Add(more))
	tr.Keys[0].Revoked = "lost"
	require.NoError(t, tr.Write())
	back, err := ReadTrust(path)
	require.NoError(t, err)
	require.Len(t, back.Keys, 1)
	require.Equal(t, []string{"example.org/acme", "example.org/other"}, back.Keys[0].Namespaces)
	require.True(t, back.Keys[0].Expires.Equal(moment))
	require.Equal(t, "revoked", back.Keys[0].State(moment.Add(-time.Hour)))
	require.NoError(t, back.Add(trusted(k, "example.org/acme")))
	require.Equal(t, "revoked", back.Keys[0].State(moment), "a key that is added again stays revoked")

	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, text := range map[string]string{"no TOML": "[[key", "unknown key": "keys = 1", "other id": strings.Replace(string(good), k.Public().ID(), "0000000000000000", 1),
		"namespace": strings.Replace(string(good), "example.org/other", "nonsense", 1), "twice": string(good) + string(good)} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadTrust(path)
		require.ErrorIs(t, err, ErrFormat, name)
		require.ErrorContains(t, err, path)
	}
	require.Error(t, tr.Add(Key{ID: "x", Public: k.Public().String()}))
	require.Error(t, tr.Add(trusted(k, "nonsense")))
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", LockName)
	l, err := ReadLock(path)
	require.NoError(t, err)
	h := Hashes{digestBytes([]byte("a")), digestBytes([]byte("b"))}
	id := ID{Address{"example.org", "acme", "npu"}, "1.0.0", "linux_amd64"}
	l.Put(id, "here", "key", h)
	win := id
	win.Platform = "windows_arm64"
	l.Put(win, "there", "key", h)
	l.Put(ID{Address{"example.org", "acme", "a"}, "0.1.0", "linux_amd64"}, "here", "", h)
	require.NoError(t, l.Write())
	back, err := ReadLock(path)
	require.NoError(t, err)
	require.Equal(t, "example.org/acme/a", back.Plugins[0].Plugin, "in order")
	require.Equal(t, Locked{"example.org/acme/npu", "1.0.0", "here", "key", map[string]Hashes{"linux_amd64": h, "windows_arm64": h}}, *back.Find(id.Address))
	newer := id
	newer.Version = "1.1.0"
	back.Put(newer, "here", "key", h)
	require.Len(t, back.Find(id.Address).Platforms, 1, "hashes of another version are not kept")

	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, text := range map[string]string{"no TOML": "x", "format": strings.Replace(string(good), "format = 1", "format = 9", 1),
		"digest": strings.Replace(string(good), "sha256:", "md5:", 1), "address": strings.Replace(string(good), "example.org/acme/a", "../../a", 1),
		"version": strings.Replace(string(good), "0.1.0", "../x", 1), "platform": strings.Replace(string(good), "windows_arm64", "amiga", 1),
		"twice": strings.Replace(string(good), "acme/npu", "acme/a", 1), "unknown key": string(good) + "\nsudo = true\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadLock(path)
		require.ErrorIs(t, err, ErrFormat, name)
	}
}

// FuzzFormats checks that the parsers of foreign files do not panic, and that each parsed value passes its own checks.
func FuzzFormats(f *testing.F) {
	k, err := GenerateKey()
	require.NoError(f, err)
	f.Add(k.Sign(&Package{ID: ID{Address{"a", "b", "c"}, "1.0.0", "linux_amd64"}, Archive: digestBytes(nil), ManifestDigest: digestBytes(nil), Tree: digestBytes(nil)}).Encode())
	f.Add([]byte("format = 1\n[[plugin]]\nplugin = \"a/b/c\"\n[[plugin.version]]\nversion = \"1.0.0\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ParseSignature(text); err == nil {
			id, err := s.ID()
			require.NoError(t, err)
			require.True(t, filepath.IsLocal(id.Dir()))
			require.NotContains(t, strings.TrimSuffix(string(s.statement()), "\n"), "\n\n")
			_ = k.Public().Verify(s)
		}
		if x, err := ParseIndex(text); err == nil {
			_, err := x.Encode()
			require.NoError(t, err)
		}
		_, _ = ParseConstraint(string(text))
	})
}
