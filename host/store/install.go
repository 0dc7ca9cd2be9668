package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/sdk/wire"
)

// Archive is an archive to install. The caller must close it.
type Archive struct {
	File      *os.File
	Source    string     // origin, for the lock and messages
	Signature *Signature // nil: none
	want      *ID        // the required build; nil: any
	digest    string     // the required digest; empty: any
	temporary bool       // Close removes the file
}

// Close closes the file.
func (a *Archive) Close() error {
	err := a.File.Close()
	if a.temporary {
		err = errors.Join(err, os.Remove(a.File.Name()))
	}
	return err
}

// InstallOptions configure an installation.
type InstallOptions struct {
	Platform string               // platform to install for; empty: Native
	Want     string               // NAME[@CONSTRAINT] that the archive must match; empty: any
	Unsigned bool                 // allow an archive without signature
	Upgrade  bool                 // the lock may be changed
	Older    bool                 // allow a version that is older than the version in use
	Force    bool                 // replace an installed build of the same version
	Keep     bool                 // keep other versions of the plugin
	Extra    map[string]Hashes    // hashes for other platforms, to be locked too
	Checked  func(*Package, *Key) // called before the store is changed; the key is nil for an unsigned archive
}

// Result is the result of an installation.
type Result struct {
	Package *Package
	Key     *Key // nil: unsigned
	Dir     string
	Already bool     // the build was installed before
	Removed []string // removed versions
	Kept    []Kept   // other versions, which are in locks
}

// Install checks an archive (its signature, the lock, its content) and puts the plugin into the store. If it fails, the store is
// unchanged.
func (s *Store) Install(ctx context.Context, a *Archive, o InstallOptions) (*Result, error) {
	platform := orText(o.Platform, Native())
	if err := checkPlatform(platform); err != nil {
		return nil, err
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	lock, err := ReadLock(s.LockFile)
	if err != nil {
		return nil, err
	}
	checkpoint("store taken")
	dir, err := s.stage()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, key, err := s.check(ctx, a, dir, platform, lock, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Source, err)
	}
	if o.Checked != nil {
		o.Checked(p, key)
	}
	r := &Result{Package: p, Key: key, Dir: filepath.Join(s.Dir, p.ID.Dir())}
	before, err := lock.Encode()
	if err != nil {
		return nil, err
	}
	signer := ""
	if key != nil {
		signer = key.ID
	}
	lock.Put(p.ID, a.Source, signer, Hashes{p.Archive, p.Tree})
	for other, h := range o.Extra {
		if other != platform {
			id := p.ID
			id.Platform = other
			lock.Put(id, a.Source, signer, h)
		}
	}
	if err := KnowLock(ctx, s.Dir, s.LockFile, true); err != nil { // beforehand, so that a kill leaves no build that is in no known lock
		return nil, err
	}
	if r.Already, err = s.place(dir, a, p, o.Force, lock, before); err != nil {
		return nil, err
	}
	checkpoint("in place")
	if err := KnowLock(ctx, s.Dir, s.LockFile, true); err != nil { // again: another process may have run before the lock existed
		return r, err
	}
	if !o.Keep {
		r.Removed, r.Kept, err = s.removeOthers(p.ID)
	}
	return r, err
}

// check unpacks the archive into dir and returns an error if the archive may not be installed.
func (s *Store) check(ctx context.Context, a *Archive, dir, platform string, lock *Lock, o InstallOptions) (*Package, *Key, error) {
	info, err := a.File.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, badArchive("archive: %v, want a regular file", info.Mode().Type())
	}
	if l := s.Limits.complete(); info.Size() > l.Archive {
		return nil, nil, badArchive("archive: %d bytes, want at most %d", info.Size(), l.Archive)
	}
	if _, err := a.File.Seek(0, 0); err != nil {
		return nil, nil, err
	}
	sum, _, err := digest(a.File)
	if err != nil {
		return nil, nil, err
	}
	if a.digest != "" && sum != a.digest {
		return nil, nil, refuse(ErrSignature, "download it again, and report it to the owner of the mirror if it persists", "archive has %s, the index says %s", sum, a.digest)
	}
	// The signature is checked before a byte of the archive is unpacked.
	var key *Key
	if a.Signature != nil {
		if err := s.Trust.Check(a.Signature, s.now()); err != nil {
			return nil, nil, err
		}
		if a.Signature.Archive != sum {
			return nil, nil, refuse(ErrSignature, "get archive and signature again, from the same source", "archive has %s, the signature is of %s", sum, a.Signature.Archive)
		}
		key = s.Trust.Find(a.Signature.Key)
	} else if !o.Unsigned {
		return nil, nil, refuse(ErrUnsigned, "get the archive with its "+SignatureExt+" file in the same folder; if you made the archive yourself or trust it anyway, use --allow-unsigned", "archive")
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	p, err := unpack(a.File, info.Size(), dir, s.Limits)
	if err != nil {
		return nil, nil, err
	}
	p.Archive = sum
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	return p, key, s.allowed(p, a, platform, lock, o)
}

// allowed returns an error unless a package matches the request, the trusted signature and the lock.
func (s *Store) allowed(p *Package, a *Archive, platform string, lock *Lock, o InstallOptions) error {
	if p.ID.Platform != platform {
		return refuse(ErrPlatform, "get the archive for "+platform+", or use --platform "+p.ID.Platform+" if it is for another machine", "%s: want %s", p.ID, platform)
	}
	if a.want != nil && p.ID != *a.want {
		return badArchive("archive: it is %s, want %s", p.ID, *a.want)
	}
	if o.Want != "" {
		name, c, err := ParseName(o.Want)
		if err != nil {
			return err
		}
		if !p.ID.Matches(name) || !c.Allows(p.ID.Version) {
			return refuse(ErrNotFound, "", "archive: it is %s, want %s", p.ID, o.Want)
		}
	}
	signer := ""
	if sig := a.Signature; sig != nil {
		signer = sig.Key
		id, err := sig.ID()
		if err != nil {
			return err
		}
		if id != p.ID || sig.Tree != p.Tree || sig.Manifest != p.ManifestDigest {
			return refuse(ErrSignature, "get archive and signature again, from the same source", "archive is %s with tree %s, the signature is of %s with tree %s", p.ID, p.Tree, id, sig.Tree)
		}
	}
	if r := (wire.Range{Min: p.Manifest.Protocol.Min, Max: p.Manifest.Protocol.Max}); r != (wire.Range{}) {
		if _, ok := wire.Speaks().Newest(r); !ok {
			return fmt.Errorf("%w: %w", ErrPlatform, wire.Mismatch(p.ID.Name, r, wire.Speaks()))
		}
	}
	if !o.Older {
		if err := s.newer(p.ID, lock, o.Upgrade); err != nil {
			return err
		}
	}
	if o.Upgrade {
		return nil
	}
	return lock.Check(p, signer)
}

// newer returns an error if a version is older than the version in use: the version of the lock or, if the lock of the store does not
// contain the plugin, the newest installed version.
func (s *Store) newer(id ID, lock *Lock, upgrade bool) error {
	used, where := "", lock.File
	if e := lock.Find(id.Address); e != nil {
		if upgrade { // otherwise Check requires the same version
			used = e.Version
		}
	} else if samePath(lock.File, ownLock(s.Dir)) || upgrade {
		all, err := s.List()
		if err != nil {
			return err
		}
		for _, i := range all {
			if i.ID.Address == id.Address && i.Platform == id.Platform && (used == "" || newest(i.Version, used)) {
				used, where = i.Version, s.Dir
			}
		}
	}
	if used == "" || !newest(used, id.Version) {
		return nil
	}
	return refuse(ErrDowngrade, "use --allow-downgrade to install the older version; otherwise the mirror may be hiding newer ones",
		"%s %s: version %s is in %s", id.Address, id.Version, used, where)
}

// place moves a checked folder to its final path, and writes the lock. An installed build of the same version is removed before the lock is
// written, so that the lock never has other hashes than the installed build. before is the old content of the lock.
func (s *Store) place(dir string, a *Archive, p *Package, force bool, lock *Lock, before []byte) (already bool, err error) {
	r := &Receipt{Source: a.Source, Archive: p.Archive, Tree: p.Tree, Installed: s.now().UTC().Truncate(1e9), Signature: a.Signature, Files: p.Files}
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	if err := errors.Join(r.write(dir), syncTree(dir)); err != nil {
		return false, err
	}
	to := filepath.Join(s.Dir, p.ID.Dir())
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	var undo []func() error
	old := ""
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				err = errors.Join(err, f())
			}
		}
		if old != "" {
			_ = os.RemoveAll(old) // the next process that acquires the store removes the rest
		}
	}()
	checkpoint("unpacked")
	if _, err := os.Lstat(to); err == nil {
		if s.same(to, p, r) {
			return true, lock.Write()
		}
		if !force {
			return false, refuse(ErrExists, "use --force to replace it, or `burn plugin verify` to see what differs", "%s in %s", p.ID, to)
		}
		if old, err = s.stage(); err != nil {
			return false, err
		}
		if err := os.Rename(to, filepath.Join(old, "old")); err != nil {
			return false, err
		}
		undo = append(undo, func() error { return os.Rename(filepath.Join(old, "old"), to) })
		checkpoint("old one away")
	}
	if err := lock.Write(); err != nil {
		return false, err
	}
	undo = append(undo, func() error { return writeFile(lock.File, before, 0o644) })
	checkpoint("locked")
	if err := os.Rename(dir, to); err != nil {
		return false, err
	}
	undo = nil
	for d := filepath.Dir(to); ; d = filepath.Dir(d) {
		if err := syncDir(d); err != nil || d == s.Dir || len(d) < len(s.Dir) {
			return false, err
		}
	}
}

// same reports whether the build at dir is complete and equals p.
func (s *Store) same(dir string, p *Package, r *Receipt) bool {
	if len(s.inspect(Installed{ID: p.ID, Dir: dir})) > 0 {
		return false
	}
	was, err := readReceipt(dir)
	return err == nil && was.Tree == r.Tree && was.Archive == r.Archive && was.Signer() == r.Signer()
}

// syncTree makes the folders below dir durable; files are synced when they are written.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(p)
	})
}
