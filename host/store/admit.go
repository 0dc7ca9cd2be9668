package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goburn/burn/host/manifest"
)

// LockFileOf is the path of the lock that holds for a store: ./burn.lock where there is one, else that of the store.
func LockFileOf(dir string) string {
	if _, err := os.Stat(LockName); err == nil {
		return LockName
	}
	return filepath.Join(dir, LockName)
}

// Admission is what decides whether an installed plugin may be started. Empty paths are the usual.
type Admission struct {
	Dir       string // of the store
	LockFile  string
	TrustFile string
	Now       time.Time // zero: now
}

func (a Admission) lockFile() string {
	if a.LockFile != "" {
		return a.LockFile
	}
	return LockFileOf(a.Dir)
}

// Locked is the version of a plugin that the lock holds, empty when it holds none or cannot be read.
func (a Admission) Locked(plugin string) string {
	l, err := ReadLock(a.lockFile())
	if err != nil {
		return ""
	}
	for _, e := range l.Plugins {
		if e.Plugin == plugin {
			return e.Version
		}
	}
	return ""
}

// Admit checks a build before it is started, by its receipt: the lock holds it, or nothing of that plugin; its signature is of a
// key that is still trusted; and the manifest is the one that was signed or locked. That manifest is given: its hash is
// that of the executable, whose content is the caller's to check. It is nil for a folder that was not made by an installation and
// that no lock knows of. A *Refusal says what to do.
func (a Admission) Admit(id ID) (*manifest.Manifest, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	lock, err := ReadLock(a.lockFile())
	if err != nil {
		return nil, err
	}
	entry := lock.Find(id.Address)
	again := "install it again with `burn plugin install --force " + id.Name + "`"
	dir := filepath.Join(a.Dir, id.Host, id.Namespace, id.Name, id.Version, id.Platform)
	r, err := readReceipt(dir)
	if errors.Is(err, ErrFormat) && !exists(filepath.Join(dir, receiptName)) {
		own, e := ReadLock(filepath.Join(a.Dir, LockName))
		if e == nil && entry == nil && own.Find(id.Address) == nil {
			return nil, nil
		}
		return nil, refuse(ErrLocked, again, "%s is in %s, and its receipt is gone", id.Address, orText(lock.File, LockName))
	}
	if err != nil {
		return nil, err
	}
	if Tree(r.Files) != r.Tree {
		return nil, refuse(ErrExists, again, "the receipt in %s was changed", dir)
	}
	if entry != nil {
		if entry.Version != id.Version {
			return nil, refuse(ErrLocked, "run `burn plugin install` for the version of the lock, or `burn plugin upgrade "+id.Name+"` to change the lock",
				"%s: version %s is installed, %s has %s", id.Address, id.Version, lock.File, entry.Version)
		}
		if err := lock.checkInstalled(entry, &Installed{ID: id, Platform: id.Platform, Receipt: r}); err != nil {
			return nil, err
		}
	}
	name := filePrefix + id.Name + manifestExt
	text, err := readSmall(filepath.Join(dir, name))
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
	m := &manifest.Manifest{}
	return m, decode(text, m)
}

// signed checks the signature of a receipt, if it has one.
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
	trust, err := ReadTrust(path)
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
