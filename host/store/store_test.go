package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/sdk/wire"
)

// With STORE_TEST_KILL set, this test binary is the process that TestKilled kills.
func TestMain(m *testing.M) {
	if at := os.Getenv("STORE_TEST_KILL"); at != "" {
		installAndDie(at)
	}
	home, err := os.MkdirTemp("", "burn-store-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_DATA_HOME", home) // burn stores the hashes of trust files there
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

var moment = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// bench has the key of a plugin maker and the store of a user who trusts it.
type bench struct {
	t     *testing.T
	dir   string
	key   PrivateKey
	store *Store
}

func newBench(t *testing.T) *bench {
	dir := t.TempDir()
	key, err := GenerateKey()
	require.NoError(t, err)
	trust := &Trust{File: filepath.Join(dir, "trust.toml"), Keys: []Key{trusted(key, "example.org/acme")}}
	return &bench{t, dir, key, &Store{Dir: filepath.Join(dir, "store"), Trust: trust, LockFile: filepath.Join(dir, LockName),
		Now: func() time.Time { return moment }}}
}

func trusted(k PrivateKey, namespaces ...string) Key {
	return Key{ID: k.Public().ID(), Public: k.Public().String(), Owner: "ACME", Namespaces: namespaces}
}

func manifestOf(name, version, platform string) manifest.Manifest {
	goos, arch, _ := strings.Cut(platform, "_")
	return manifest.Manifest{Name: name, Namespace: "example.org/acme", Version: version, Kind: "process", OS: goos, Arch: arch,
		Protocol: manifest.Protocol(wire.Speaks())}
}

// archive packs a plugin whose program has the content text, signs it with the bench's key if sign is set, and returns its path in the
// mirror.
func (b *bench) archive(name, version, platform, text string, sign bool) string {
	b.t.Helper()
	exe := filepath.Join(b.t.TempDir(), "program")
	require.NoError(b.t, os.WriteFile(exe, []byte(text), 0o755))
	license := filepath.Join(b.t.TempDir(), "LICENSE")
	require.NoError(b.t, os.WriteFile(license, []byte("free"), 0o644))
	path := filepath.Join(b.dir, "mirror", filepath.FromSlash(ID{Address{"example.org", "acme", name}, version, platform}.MirrorPath()))
	p, err := Pack(path, Content{Executable: exe, Manifest: manifestOf(name, version, platform), Extra: map[string]string{"doc/LICENSE": license}})
	require.NoError(b.t, err)
	if sign {
		require.NoError(b.t, os.WriteFile(path+SignatureExt, b.key.Sign(p).Encode(), 0o644))
	}
	return path
}

func (b *bench) install(path string, o InstallOptions) (*Result, error) {
	b.t.Helper()
	a, err := (&Fetcher{}).File(path)
	require.NoError(b.t, err)
	defer a.Close()
	return b.store.Install(context.Background(), a, o)
}

// sound requires that Verify finds no problems, and returns its report.
func (b *bench) sound() *Report {
	b.t.Helper()
	r, err := b.store.Verify(context.Background())
	require.NoError(b.t, err)
	require.Empty(b.t, r.Problems)
	return r
}

func (b *bench) versions() []string {
	b.t.Helper()
	all, err := b.store.List()
	require.NoError(b.t, err)
	v := []string{}
	for _, i := range all {
		require.NoError(b.t, i.Err)
		v = append(v, i.Version)
	}
	return v
}

func TestInstall(t *testing.T) {
	b := newBench(t)
	one := b.archive("demo", "1.0.0", Native(), "one", true)
	r, err := b.install(one, InstallOptions{})
	require.NoError(t, err)
	require.False(t, r.Already)
	require.Equal(t, "ACME", r.Key.Owner)
	content, err := os.ReadFile(filepath.Join(r.Dir, Executable("demo", "process", Native())))
	require.NoError(t, err)
	require.Equal(t, "one", string(content))
	require.FileExists(t, filepath.Join(r.Dir, "doc", "LICENSE"))
	require.Len(t, b.sound().Checked, 1)

	r, err = b.install(one, InstallOptions{})
	require.NoError(t, err)
	require.True(t, r.Already)

	// The lock holds the version until an upgrade.
	two := b.archive("demo", "1.1.0", Native(), "two", true)
	_, err = b.install(two, InstallOptions{})
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "burn plugin upgrade demo@1.1.0")
	require.Equal(t, []string{"1.0.0"}, b.versions())
	r, err = b.install(two, InstallOptions{Upgrade: true})
	require.NoError(t, err)
	require.Equal(t, []string{"1.0.0"}, r.Removed)
	require.Equal(t, []string{"1.1.0"}, b.versions())
	b.sound()

	// The same version with other content and a valid signature.
	forged := b.archive("demo", "1.1.0", Native(), "other", true)
	_, err = b.install(forged, InstallOptions{})
	require.ErrorIs(t, err, ErrLocked)
	_, err = b.install(forged, InstallOptions{Upgrade: true})
	require.ErrorIs(t, err, ErrExists)
	r, err = b.install(forged, InstallOptions{Upgrade: true, Force: true})
	require.NoError(t, err)
	require.False(t, r.Already)
	b.sound()

	found, err := b.store.Select("acme/demo@^1")
	require.NoError(t, err)
	require.NoError(t, b.store.Remove(context.Background(), found))
	require.Empty(t, b.versions())
	l, err := ReadLock(b.store.LockFile)
	require.NoError(t, err)
	require.Empty(t, l.Plugins)
	left, err := os.ReadDir(b.store.Dir)
	require.NoError(t, err)
	for _, f := range left {
		require.Contains(t, []string{lockName, stateName, stateLockName}, f.Name())
	}
	_, err = b.store.Select("demo")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestRefused(t *testing.T) {
	other, err := GenerateKey()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		prepare func(b *bench, path string)
		options InstallOptions
		is      error
		remedy  string
	}{
		"unsigned":                      {func(b *bench, path string) { os.Remove(path + SignatureExt) }, InstallOptions{}, ErrUnsigned, "--allow-unsigned"},
		"unsigned, allowed":             {func(b *bench, path string) { os.Remove(path + SignatureExt) }, InstallOptions{Unsigned: true}, nil, ""},
		"unknown key":                   {func(b *bench, path string) { b.store.Trust.Keys = nil }, InstallOptions{}, ErrUntrusted, "burn plugin trust FILE.pub --namespace example.org/acme"},
		"unknown key, unsigned allowed": {func(b *bench, path string) { b.store.Trust.Keys = nil }, InstallOptions{Unsigned: true}, ErrUntrusted, "burn plugin trust"},
		"expired":                       {func(b *bench, path string) { b.store.Trust.Keys[0].Expires = moment.Add(-time.Hour) }, InstallOptions{}, ErrUntrusted, "ask ACME for a new key"},
		"not yet":                       {func(b *bench, path string) { b.store.Trust.Keys[0].Expires = moment.Add(time.Hour) }, InstallOptions{}, nil, ""},
		"revoked":                       {func(b *bench, path string) { b.store.Trust.Keys[0].Revoked = "stolen" }, InstallOptions{}, ErrUntrusted, "another key"},
		"other namespace":               {func(b *bench, path string) { b.store.Trust.Keys[0].Namespaces = []string{"example.org/other"} }, InstallOptions{}, ErrUntrusted, "--namespace example.org/acme"},
		"whole host":                    {func(b *bench, path string) { b.store.Trust.Keys[0].Namespaces = []string{"example.org/*"} }, InstallOptions{}, nil, ""},
		"forged with the right id": {func(b *bench, path string) {
			p, err := Inspect(path, Limits{})
			require.NoError(b.t, err)
			s := other.Sign(p)
			s.Key = b.key.Public().ID()
			require.NoError(b.t, os.WriteFile(path+SignatureExt, s.Encode(), 0o644))
		}, InstallOptions{}, ErrSignature, "from their maker"},
		"changed statement": {func(b *bench, path string) {
			s, err := ReadSignature(path)
			require.NoError(b.t, err)
			s.Version = "1.0.1"
			require.NoError(b.t, os.WriteFile(path+SignatureExt, s.Encode(), 0o644))
		}, InstallOptions{}, ErrSignature, "from their maker"},
		"changed archive": {func(b *bench, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(b.t, err)
			_, err = f.Write([]byte{0})
			require.NoError(b.t, errors.Join(err, f.Close()))
		}, InstallOptions{}, ErrSignature, "get archive and signature again"},
		"signature of another archive": {func(b *bench, path string) {
			text, err := os.ReadFile(b.archive("demo", "2.0.0", Native(), "x", true) + SignatureExt)
			require.NoError(b.t, errors.Join(err, os.WriteFile(path+SignatureExt, text, 0o644)))
		}, InstallOptions{}, ErrSignature, "get archive and signature again"},
		"other platform": {func(b *bench, path string) {}, InstallOptions{Platform: "windows_arm64"}, ErrPlatform, "--platform " + Native()},
		"other plugin":   {func(b *bench, path string) {}, InstallOptions{Want: "cuda"}, ErrNotFound, ""},
		"other version":  {func(b *bench, path string) {}, InstallOptions{Want: "demo@>=2"}, ErrNotFound, ""},
		"as wanted":      {func(b *bench, path string) {}, InstallOptions{Want: "example.org/acme/demo@~1.0"}, nil, ""},
		"locked by another": {func(b *bench, path string) {
			l, _ := ReadLock(b.store.LockFile)
			l.Put(ID{Address{"example.org", "acme", "demo"}, "1.0.0", Native()}, "there", other.Public().ID(), Hashes{digestBytes(nil), digestBytes(nil)})
			require.NoError(b.t, l.Write())
		}, InstallOptions{}, ErrLocked, "signer"},
		"too large": {func(b *bench, path string) { b.store.Limits.Archive = 100 }, InstallOptions{}, ErrArchive, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.archive("demo", "1.0.0", Native(), "text", true)
			c.prepare(b, path)
			_, err := b.install(path, c.options)
			if c.is == nil {
				require.NoError(t, err)
				b.sound()
				return
			}
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.remedy)
			require.ErrorContains(t, err, path)
			require.Empty(t, b.versions())
			require.NoDirExists(t, filepath.Join(b.store.Dir, stagingDir))
		})
	}
}

// Verify detects each kind of change to an installation.
func TestVerifyFindsChanges(t *testing.T) {
	exe := Executable("demo", "process", Native())
	for name, c := range map[string]struct {
		change func(b *bench, dir string) error
		is     error
	}{
		"program": {func(b *bench, dir string) error { return overwrite(filepath.Join(dir, exe), "evil") }, ErrExists},
		"manifest": {func(b *bench, dir string) error {
			return overwrite(filepath.Join(dir, "burn-backend-demo.toml"), "name = \"demo\"")
		}, ErrExists},
		"file gone":  {func(b *bench, dir string) error { return os.Remove(filepath.Join(dir, "doc", "LICENSE")) }, ErrNotFound},
		"file added": {func(b *bench, dir string) error { return os.WriteFile(filepath.Join(dir, "lib.so"), nil, 0o644) }, ErrExists},
		"receipt":    {func(b *bench, dir string) error { return overwrite(filepath.Join(dir, receiptName), "x = 1") }, ErrFormat},
		"flat file": {func(b *bench, dir string) error {
			return os.WriteFile(filepath.Join(b.store.Dir, exe), []byte("evil"), 0o755)
		}, nil},
		"lock gone":   {func(b *bench, dir string) error { return os.Remove(b.store.LockFile) }, ErrLocked},
		"no receipt":  {func(b *bench, dir string) error { return os.Remove(filepath.Join(dir, receiptName)) }, ErrFormat},
		"key revoked": {func(b *bench, dir string) error { b.store.Trust.Keys[0].Revoked = "stolen"; return nil }, ErrUntrusted},
		"moved": {func(b *bench, dir string) error {
			to := filepath.Join(filepath.Dir(filepath.Dir(dir)), "9.0.0")
			return errors.Join(os.Mkdir(to, 0o755), os.Rename(dir, filepath.Join(to, Native())))
		}, ErrExists},
		// Program, manifest and receipt match each other, but not the signature.
		"all of it, receipt too": {func(b *bench, dir string) error {
			evil := newBench(b.t)
			r, err := evil.install(evil.archive("demo", "1.0.0", Native(), "evil", false), InstallOptions{Unsigned: true})
			require.NoError(b.t, err)
			was, err := readReceipt(dir)
			require.NoError(b.t, err)
			got, err := readReceipt(r.Dir)
			require.NoError(b.t, err)
			got.Signature = was.Signature
			require.NoError(b.t, got.write(r.Dir))
			return errors.Join(os.RemoveAll(dir), os.Rename(r.Dir, dir))
		}, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r, err := b.install(b.archive("demo", "1.0.0", Native(), "text", true), InstallOptions{})
			require.NoError(t, err)
			b.sound()
			require.NoError(t, c.change(b, r.Dir))
			report, err := b.store.Verify(context.Background())
			require.NoError(t, err)
			require.NotEmpty(t, report.Problems)
			if c.is != nil {
				require.ErrorIs(t, report.Problems[0].Err, c.is)
			}
			require.NotEmpty(t, report.Problems[0].Remedy)
		})
	}
}

func overwrite(path, text string) error {
	return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte(text), 0o644))
}

// Concurrent installations wait for each other. Afterwards each plugin is installed once.
func TestConcurrent(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		path := b.archive(fmt.Sprintf("demo%d", i%4), "1.0.0", Native(), "text", true)
		wg.Go(func() {
			a, err := (&Fetcher{}).File(path)
			if err == nil {
				s := *b.store // another process has its own Store
				_, err = s.Install(context.Background(), a, InstallOptions{})
				a.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, b.sound().Checked, 4)
	l, err := ReadLock(b.store.LockFile)
	require.NoError(t, err)
	require.Len(t, l.Plugins, 4)
}

func TestWaiting(t *testing.T) {
	b := newBench(t)
	release, err := b.store.acquire(context.Background())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := *b.store
	s.Waiting = cancel
	_, err = s.acquire(ctx)
	require.ErrorIs(t, err, context.Canceled)
	release()
	release, err = s.acquire(context.Background())
	require.NoError(t, err)
	release()
}

// installAndDie installs an archive and ends the process at the nth checkpoint, as kill -9 does.
func installAndDie(at string) {
	n := 0
	fmt.Sscan(at, &n)
	checkpoint = func(string) {
		if n--; n == 0 {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	}
	trust, err := ReadTrust(os.Getenv("STORE_TEST_TRUST"))
	if err != nil {
		panic(err)
	}
	s := &Store{Dir: os.Getenv("STORE_TEST_DIR"), Trust: trust, LockFile: os.Getenv("STORE_TEST_LOCK")}
	a, err := (&Fetcher{}).File(os.Getenv("STORE_TEST_ARCHIVE"))
	if err != nil {
		panic(err)
	}
	if _, err := s.Install(context.Background(), a, InstallOptions{Upgrade: true, Force: true}); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// A kill at any step of a first installation, an upgrade or a replacement leaves a sound store, in which the next installation succeeds.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, first := range map[string]string{"first": "", "upgrade": "0.9.0", "replacement": "1.0.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				b := newBench(t)
				b.store.Now = nil
				require.NoError(t, b.store.Trust.Write())
				if first != "" {
					_, err := b.install(b.archive("demo", first, Native(), "old", true), InstallOptions{})
					require.NoError(t, err)
				}
				path := b.archive("demo", "1.0.0", Native(), "new", true)
				cmd := exec.Command(self)
				cmd.Env = append(os.Environ(), "STORE_TEST_KILL="+fmt.Sprint(n), "STORE_TEST_DIR="+b.store.Dir, "STORE_TEST_LOCK="+b.store.LockFile,
					"STORE_TEST_TRUST="+b.store.Trust.File, "STORE_TEST_ARCHIVE="+path)
				out, err := cmd.CombinedOutput()
				require.NotContains(t, string(out), "panic")
				b.sound()
				_, again := b.install(path, InstallOptions{Upgrade: true, Force: true})
				require.NoError(t, again)
				b.sound()
				require.Equal(t, []string{"1.0.0"}, b.versions())
				require.NoDirExists(t, filepath.Join(b.store.Dir, stagingDir))
				if err == nil { // the installation has ended: all steps were tried
					require.Greater(t, n, 8)
					return
				}
			}
		})
	}
}

type full struct {
	w    io.Writer
	left int
}

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n, _ := f.w.Write(p[:f.left])
		f.left = 0
		return n, &os.PathError{Op: "write", Path: "disk", Err: syscall.ENOSPC}
	}
	f.left -= len(p)
	return f.w.Write(p)
}

func TestFullDisk(t *testing.T) {
	b := newBench(t)
	_, err := b.install(b.archive("demo", "1.0.0", Native(), "old", true), InstallOptions{})
	require.NoError(t, err)
	path := b.archive("demo", "1.1.0", Native(), strings.Repeat("new", 10000), true)
	disk = func(f *os.File) io.Writer { return &full{f, 1000} }
	defer func() { disk = func(f *os.File) io.Writer { return f } }()
	_, err = b.install(path, InstallOptions{Upgrade: true})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotErrorIs(t, err, ErrArchive)
	require.Equal(t, []string{"1.0.0"}, b.versions())
	require.NoDirExists(t, filepath.Join(b.store.Dir, stagingDir))
	b.sound()
}

// A replacement that fails at the last step restores the previous installation and the lock.
func TestUndone(t *testing.T) {
	b := newBench(t)
	_, err := b.install(b.archive("demo", "1.0.0", Native(), "old", true), InstallOptions{})
	require.NoError(t, err)
	lock, err := os.ReadFile(b.store.LockFile)
	require.NoError(t, err)
	path := b.archive("demo", "1.0.0", Native(), "new", true)
	checkpoint = func(at string) {
		if at != "locked" {
			return
		}
		staged, err := filepath.Glob(filepath.Join(b.store.Dir, stagingDir, "*", "doc"))
		require.NoError(t, err)
		require.Len(t, staged, 1)
		require.NoError(t, os.RemoveAll(filepath.Dir(staged[0])))
	}
	defer func() { checkpoint = func(string) {} }()
	_, err = b.install(path, InstallOptions{Upgrade: true, Force: true})
	require.ErrorIs(t, err, os.ErrNotExist)
	now, err := os.ReadFile(b.store.LockFile)
	require.NoError(t, err)
	require.Equal(t, string(lock), string(now))
	require.Len(t, b.sound().Checked, 1)
}

// Packing the same content twice produces the same bytes, although the files have different times.
func TestPackIsReproducible(t *testing.T) {
	b := newBench(t)
	one, err := os.ReadFile(b.archive("demo", "1.0.0", Native(), "text", false))
	require.NoError(t, err)
	time.Sleep(10 * time.Millisecond)
	two, err := os.ReadFile(b.archive("demo", "1.0.0", Native(), "text", false))
	require.NoError(t, err)
	require.True(t, bytes.Equal(one, two))
	gz, err := gzip.NewReader(bytes.NewReader(one))
	require.NoError(t, err)
	require.True(t, gz.ModTime.IsZero())
	r := tar.NewReader(gz)
	var names []string
	for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
		require.NoError(t, err)
		names = append(names, h.Name)
		require.Equal(t, packedTime.Unix(), h.ModTime.Unix())
		require.Zero(t, h.Uid)
	}
	program := Executable("demo", "process", Native())
	require.Equal(t, []string{program, "burn-backend-demo.toml", "doc/LICENSE"}, names)
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Unix there")
	}
	b := newBench(t)
	r, err := b.install(b.archive("demo", "1.0.0", Native(), "text", true), InstallOptions{})
	require.NoError(t, err)
	for name, want := range map[string]os.FileMode{Executable("demo", "process", Native()): 0o555, "burn-backend-demo.toml": 0o444, ".": 0o755, receiptName: 0o444} {
		info, err := os.Stat(filepath.Join(r.Dir, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}
