package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// project returns a bench with the same store and the lock of another project.
func (b *bench) project(name string) *bench {
	b.t.Helper()
	dir := filepath.Join(b.dir, name)
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	s := *b.store
	s.LockFile = filepath.Join(dir, LockName)
	other := *b
	other.store = &s
	return &other
}

func (b *bench) sorted() []string {
	v := b.versions()
	slices.Sort(v)
	return v
}

// admits requires that the project's lock holds version and that this version is admitted.
func (b *bench) admits(version string) {
	b.t.Helper()
	a := Admission{Dir: b.store.Dir, LockFile: b.store.LockFile, TrustFile: b.store.Trust.File, Now: moment}
	require.Equal(b.t, version, a.Locked("example.org/acme/demo"))
	got, err := a.Admit(ID{Address{"example.org", "acme", "demo"}, version, Native()})
	require.NoError(b.t, err)
	require.Equal(b.t, version, got.Manifest.Version)
}

// Two projects can lock different versions of a plugin: an installation for one keeps the version of the other.
func TestTwoProjects(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Trust.Write())
	one, two := b.archive("demo", "1.0.0", Native(), "one", true), b.archive("demo", "2.0.0", Native(), "two", true)
	three := b.archive("demo", "3.0.0", Native(), "three", true)
	x, y := b.project("x"), b.project("y")
	_, err := x.install(one, InstallOptions{})
	require.NoError(t, err)
	r, err := y.install(two, InstallOptions{})
	require.NoError(t, err)
	require.Empty(t, r.Removed)
	require.Equal(t, []Kept{{"1.0.0", x.store.LockFile}}, r.Kept)
	require.Equal(t, []string{"1.0.0", "2.0.0"}, b.sorted())
	x.admits("1.0.0")
	y.admits("2.0.0")
	for p, want := range map[*bench]string{x: "1.0.0", y: "2.0.0"} {
		all, err := p.store.List()
		require.NoError(t, err)
		for _, i := range all {
			require.Equal(t, i.Version == want, i.Active, i.Version)
		}
		p.sound()
	}

	// The user's own lock can hold a third version.
	own := *b.store
	own.LockFile = filepath.Join(own.Dir, LockName)
	u := *b
	u.store = &own
	_, err = u.install(three, InstallOptions{Upgrade: true})
	require.NoError(t, err)
	require.Equal(t, []string{"1.0.0", "2.0.0", "3.0.0"}, b.sorted())

	// An upgrade of a project removes its old version, because no other lock holds it.
	r, err = y.install(three, InstallOptions{Upgrade: true})
	require.NoError(t, err)
	require.Equal(t, []string{"2.0.0"}, r.Removed)
	x.admits("1.0.0")
	y.admits("3.0.0")

	// HeldElsewhere returns the other locks that hold a version.
	found, err := y.store.Select("demo@1.0.0")
	require.NoError(t, err)
	kept, err := y.store.HeldElsewhere(found)
	require.NoError(t, err)
	require.Equal(t, []Kept{{"1.0.0", x.store.LockFile}}, kept)

	// A lock that was removed holds no versions.
	require.NoError(t, os.Remove(x.store.LockFile))
	r, err = y.install(three, InstallOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"1.0.0"}, r.Removed)
	require.Equal(t, []string{"3.0.0"}, b.sorted())
}

// A lock keeps its version even if the project only ran the plugin and did not install it.
func TestLockOfARun(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Trust.Write())
	x, y, z := b.project("x"), b.project("y"), b.project("z")
	_, err := x.install(b.archive("demo", "1.0.0", Native(), "one", true), InstallOptions{})
	require.NoError(t, err)
	text, err := os.ReadFile(x.store.LockFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(y.store.LockFile, text, 0o644))
	y.admits("1.0.0")
	require.NoError(t, os.Remove(x.store.LockFile))
	r, err := z.install(b.archive("demo", "2.0.0", Native(), "two", true), InstallOptions{})
	require.NoError(t, err)
	require.Equal(t, []Kept{{"1.0.0", y.store.LockFile}}, r.Kept)
}

// A lock in the working folder only selects among installed versions. It does not vouch for content that the user did not install, and does
// not replace the hashes of the user's own lock.
func TestForeignLock(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Trust.Write())
	own := *b.store
	own.LockFile = filepath.Join(own.Dir, LockName)
	b.store = &own
	r, err := b.install(b.archive("demo", "1.0.0", Native(), "one", false), InstallOptions{Unsigned: true})
	require.NoError(t, err)
	id := r.Package.ID
	dir := t.TempDir()
	t.Chdir(dir)
	admit := func() error {
		_, err := Admission{Dir: own.Dir, TrustFile: own.Trust.File, Now: moment}.Admit(id)
		return err
	}
	require.NoError(t, admit())

	// With an empty lock in the working folder, the user's lock still applies.
	require.NoError(t, (&Lock{File: LockName, Format: lockFormat}).Write())
	require.NoError(t, admit())
	evil := newBench(t)
	e, err := evil.install(evil.archive("demo", "1.0.0", Native(), "evil", false), InstallOptions{Unsigned: true})
	require.NoError(t, err)
	require.NoError(t, os.Rename(r.Dir, r.Dir+"-away"))
	require.NoError(t, os.CopyFS(r.Dir, os.DirFS(e.Dir)))
	require.ErrorIs(t, admit(), ErrLocked)

	// A lock that holds the hashes of the changed content does not help either.
	foreign := &Lock{File: LockName, Format: lockFormat}
	foreign.Put(id, "there", "", Hashes{e.Package.Archive, e.Package.Tree})
	require.NoError(t, foreign.Write())
	require.ErrorIs(t, admit(), ErrLocked)
	require.NoError(t, os.Remove(own.LockFile))
	err = admit()
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "no lock that it was installed with holds it")
}

// If the lock, its entry, the receipt or the trust file is gone or was changed, the plugin is refused, with a remedy.
func TestMissingOrChangedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench, dir string) error
		is     error
		text   string
	}{
		"lock":             {func(b *bench, dir string) error { return os.Remove(b.store.LockFile) }, ErrLocked, "is gone or was changed"},
		"entry":            {func(b *bench, dir string) error { return os.WriteFile(b.store.LockFile, []byte("format = 1\n"), 0o644) }, ErrLocked, "is gone or was changed"},
		"receipt":          {func(b *bench, dir string) error { return os.Remove(filepath.Join(dir, receiptName)) }, ErrLocked, "receipt is gone"},
		"lock and receipt": {func(b *bench, dir string) error { return os.Remove(filepath.Join(dir, receiptName)) }, ErrLocked, "receipt is gone"},
		"trust file":       {func(b *bench, dir string) error { return os.Remove(b.store.Trust.File) }, ErrUntrusted, "burn plugin trust --accept"},
		"trust file changed": {func(b *bench, dir string) error {
			f, err := os.OpenFile(b.store.Trust.File, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("# more\n")
			return err
		}, ErrUntrusted, "changed by something other than burn"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			require.NoError(t, b.store.Trust.Write())
			own := *b.store
			own.LockFile = filepath.Join(own.Dir, LockName)
			b.store = &own
			r, err := b.install(b.archive("demo", "1.0.0", Native(), "one", true), InstallOptions{})
			require.NoError(t, err)
			admit := func() error {
				_, err := Admission{Dir: own.Dir, LockFile: own.LockFile, TrustFile: own.Trust.File, Now: moment}.Admit(r.Package.ID)
				return err
			}
			require.NoError(t, admit())
			require.NoError(t, c.change(b, r.Dir))
			if name == "lock and receipt" {
				require.NoError(t, os.Remove(own.LockFile))
			}
			err = admit()
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.text)
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, refusal.Remedy, "burn plugin ")
			if c.is == ErrUntrusted { // the user has checked the file
				trust, err := ReadTrust(own.Trust.File)
				require.NoError(t, err)
				require.NoError(t, trust.Accept())
				_, err = OpenTrust(own.Trust.File)
				require.NoError(t, err)
			}
		})
	}
}

// Installing an older version than the current one requires Older (--allow-downgrade).
func TestDowngrade(t *testing.T) {
	b := newBench(t)
	one, two := b.archive("demo", "1.0.0", Native(), "one", true), b.archive("demo", "1.1.0", Native(), "two", true)
	_, err := b.install(two, InstallOptions{})
	require.NoError(t, err)
	_, err = b.install(one, InstallOptions{Upgrade: true})
	require.ErrorIs(t, err, ErrDowngrade)
	require.ErrorContains(t, err, "--allow-downgrade")
	require.Equal(t, []string{"1.1.0"}, b.versions())
	b.sound()

	// The same holds without a lock, where only the installation shows the current version.
	own := *b.store
	own.LockFile = filepath.Join(own.Dir, LockName)
	x := *b
	x.store = &own
	_, err = x.install(one, InstallOptions{})
	require.ErrorIs(t, err, ErrDowngrade)
	_, err = b.install(one, InstallOptions{Upgrade: true, Older: true})
	require.NoError(t, err)
	require.Equal(t, []string{"1.0.0"}, b.versions())
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, UpdateState(context.Background(), dir, func(st *State) { st.Folders = []KnownFolder{{"/x", "y"}} }))
	st, err := ReadState(dir)
	require.NoError(t, err)
	require.Equal(t, []KnownFolder{{"/x", "y"}}, st.Folders)
	require.NoError(t, os.WriteFile(filepath.Join(dir, stateName), []byte("x = 1"), 0o600))
	_, err = ReadState(dir)
	require.ErrorIs(t, err, ErrFormat)
}
