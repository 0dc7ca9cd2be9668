package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/internal/tomlfile"
)

// LockFileOf returns the path of the lock that chooses versions from a store: ./burn.lock if it exists, else the lock of the store.
func LockFileOf(dir string) string {
	if _, err := os.Stat(LockName); err == nil {
		return LockName
	}
	return ownLock(dir)
}

// Admission decides whether an installed plugin may be started. Empty paths mean the defaults.
type Admission struct {
	Dir       string // folder of the store
	LockFile  string
	TrustFile string
	Now       time.Time // time at which signatures are checked; zero: the current time
}

// Admitted is an installed plugin that may be started.
type Admitted struct {
	Manifest *manifest.Manifest // the manifest that was installed
	Files    []File             // all files of the plugin; the caller must check their content
	Archive  string             // digest of the archive that contained the files
}

func (a Admission) lockFile() string {
	if a.LockFile != "" {
		return a.LockFile
	}
	return LockFileOf(a.Dir)
}

// Locked returns the version of a plugin in the lock in force, or else in the lock of the store. It returns "" if neither lock contains the
// plugin, or if a lock that it searches cannot be read. The lock in force is LockFile, or by default the lock that LockFileOf names.
func (a Admission) Locked(plugin string) string {
	address, err := ParseAddress(plugin)
	if err != nil {
		return ""
	}
	for _, path := range []string{a.lockFile(), ownLock(a.Dir)} {
		l, err := ReadLock(path)
		if err != nil {
			return ""
		}
		if e := l.Find(address); e != nil {
			return e.Version
		}
	}
	return ""
}

// LockedName searches the lock in force and the lock of the store for a plugin with a name, from any author. It returns the path of the
// lock and the address of the plugin, or "" if neither lock contains such a plugin. A lock that cannot be read counts as containing every
// name.
func (a Admission) LockedName(name string) (lock, plugin string) {
	for _, path := range []string{a.lockFile(), ownLock(a.Dir)} {
		l, err := ReadLock(path)
		if err != nil {
			return path, name
		}
		for _, e := range l.Plugins {
			if address, err := ParseAddress(e.Plugin); err == nil && address.Name == name {
				return path, e.Plugin
			}
		}
	}
	return "", ""
}

// managed reports whether burn installs into the folder. If so, every plugin in it has a receipt and is in a lock.
func (a Admission) managed() bool {
	return exists(filepath.Join(a.Dir, lockName)) || samePath(a.Dir, UserDir())
}

// Admit checks a build before it is started, using its receipt. A lock must contain the build. If the build is signed, the key of the
// signature must still be trusted. The manifest must be the manifest that was installed. If burn never installed into the folder, Admit
// returns nil and no error for a build that has no receipt and is in no lock. If the build may not be started, it returns a *Refusal, which
// contains the remedy.
func (a Admission) Admit(id ID) (*Admitted, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	locks, err := a.locks()
	if err != nil {
		return nil, err
	}
	again := "install it again with `burn plugin install --force " + id.Name + "`"
	dir := filepath.Join(a.Dir, id.Host, id.Namespace, id.Name, id.Version, id.Platform)
	r, err := readReceipt(dir)
	if errors.Is(err, ErrFormat) && !exists(filepath.Join(dir, receiptName)) {
		if !a.managed() && locks.inForce.Find(id.Address) == nil && locks.own.Find(id.Address) == nil {
			return nil, nil
		}
		return nil, refuse(ErrLocked, again+", or remove the folder", "%s in %s: its receipt is gone", id.Address, dir)
	}
	if err != nil {
		return nil, err
	}
	if Tree(r.Files) != r.Tree {
		return nil, refuse(ErrExists, again, "the receipt in %s was changed", dir)
	}
	if err := locks.admit(&Installed{ID: id, Platform: id.Platform, Receipt: r}, a.managed(), again); err != nil {
		return nil, err
	}
	name := filePrefix + id.Name + manifestExt
	text, err := read(tomlfile.Manifest, filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	digest := digestBytes(text)
	if !slices.ContainsFunc(r.Files, func(f File) bool { return f.Path == name && f.Digest == digest }) {
		return nil, refuse(ErrExists, again, "%s is not the one that was installed", filepath.Join(dir, name))
	}
	if err := a.signed(id, r, digest, again); err != nil {
		return nil, err
	}
	locks.note(id)
	m := &manifest.Manifest{}
	return &Admitted{m, r.Files, r.Archive}, decode(tomlfile.Manifest, text, m)
}

// locks holds the locks that decide about a store.
type locks struct {
	dir          string
	inForce, own *Lock
	known        []*Lock // locks of projects that were used for an installation
	use          bool    // the lock in force was used for an installation, or the user named it
	noted        bool    // the state contains the lock in force
}

func (a Admission) locks() (*locks, error) {
	st, err := ReadState(a.Dir)
	if err != nil {
		return nil, err
	}
	l := &locks{dir: a.Dir, use: a.LockFile != ""}
	if l.inForce, err = ReadLock(a.lockFile()); err != nil {
		return nil, err
	}
	if l.own, err = ReadLock(ownLock(a.Dir)); err != nil {
		return nil, err
	}
	if exists(l.own.File) {
		if err := guarded(l.own.File); err != nil {
			return nil, err
		}
	}
	for _, k := range st.Locks {
		if samePath(k.Path, l.inForce.File) {
			l.noted, l.use = true, l.use || k.Installed
		}
		if !k.Installed {
			continue
		}
		if known, err := ReadLock(k.Path); err == nil {
			l.known = append(l.known, known)
		}
	}
	return l, nil
}

// admit returns an error if the lock that decides has another version of the plugin: the lock in force, or else the lock of the store. It
// returns an error if either has this version with other content. If managed, it also returns an error if no lock that was used for an
// installation contains the build. A lock of the working folder chooses the version, but admits nothing until it was used for an
// installation.
func (l *locks) admit(b *Installed, managed bool, again string) error {
	entry, chosen := l.inForce.Find(b.ID.Address), l.inForce
	if entry == nil {
		entry, chosen = l.own.Find(b.ID.Address), l.own
	}
	if entry != nil && entry.Version != b.ID.Version {
		return refuse(ErrLocked, "run `burn plugin install` for the version of the lock, or `burn plugin upgrade "+b.ID.Name+"` to change the lock",
			"%s: version %s is installed, %s has %s", b.ID.Address, b.ID.Version, chosen.File, entry.Version)
	}
	held := false
	for _, lock := range []*Lock{l.inForce, l.own} {
		e := lock.Find(b.ID.Address)
		if e == nil || e.Version != b.ID.Version {
			continue
		}
		if err := lock.checkInstalled(e, b); err != nil {
			return err
		}
		held = held || lock == l.own || l.use
	}
	if held || !managed {
		return nil
	}
	for _, lock := range l.known {
		if e := lock.Find(b.ID.Address); e != nil && e.Version == b.ID.Version && lock.checkInstalled(e, b) == nil {
			return nil
		}
	}
	return refuse(ErrLocked, again+", or remove it with `burn plugin remove "+b.ID.Name+"`",
		"%s is in the store %s, and no lock that it was installed with holds it: %s is gone or was changed", b.ID, l.dir, l.own.File)
}

// note records a lock that chose a version, so that an installation for another project does not remove that version.
func (l *locks) note(id ID) {
	if l.noted || l.inForce.Find(id.Address) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noted)
	defer cancel()
	_ = KnowLock(ctx, l.dir, l.inForce.File, false) // fails in a store that cannot be written, where no version can be removed either
}

// signed checks the signature of a receipt. A receipt without a signature is accepted.
func (a Admission) signed(id ID, r *Receipt, manifest, again string) error {
	s := r.Signature
	if s == nil {
		return nil
	}
	path, now := a.TrustFile, a.Now
	if path == "" {
		var err error
		if path, err = TrustFile(); err != nil {
			return err
		}
	}
	if now.IsZero() {
		now = time.Now()
	}
	trust, err := OpenTrust(path)
	if err != nil {
		return err
	}
	if err := trust.Check(s, now); err != nil {
		return err
	}
	if of, err := s.ID(); err != nil || of != id || s.Tree != r.Tree || s.Archive != r.Archive || s.Manifest != manifest {
		return refuse(ErrSignature, again, "%s: the receipt differs from the signature", id)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
