package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Problem is a fault of an installed plugin.
type Problem struct {
	Plugin string `json:"plugin"` // ID, or the folder if it is not an ID
	What   string `json:"what"`
	Remedy string `json:"remedy"`
	Err    error  `json:"-"`
}

// Report is the result of Verify.
type Report struct {
	Checked  []Installed `json:"checked"`
	Problems []Problem   `json:"problems"`
	Notes    []string    `json:"notes"` // remarks that are not problems
}

// Verify hashes every file of the store again and compares it with receipts, manifests, signatures, trust and lock. The error is an
// error of the check itself; faults of plugins are in the report.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	r := &Report{}
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) {
		r.Notes = append(r.Notes, "no plugin was ever installed in "+s.Dir)
	} else if release, err := s.acquire(ctx); err == nil {
		defer release()
	} else if ctx.Err() != nil {
		return nil, err
	} // otherwise the store is read-only, which is enough to check it
	lock, err := ReadLock(s.LockFile)
	if err != nil {
		return nil, err
	}
	locks, err := Admission{Dir: s.Dir, LockFile: s.LockFile}.locks()
	if err != nil {
		return nil, err
	}
	r.unexpected(s.Dir)
	if r.Checked, err = s.List(); err != nil {
		return nil, err
	}
	for i := range r.Checked {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		b := &r.Checked[i]
		if b.Err != nil {
			r.add(b, fmt.Errorf("%s: %w", b.Dir, b.Err))
			continue
		}
		for _, err := range s.inspect(*b) {
			r.add(b, err)
		}
		e := lock.Find(b.ID.Address)
		switch {
		case e == nil:
			if err := locks.admit(b, true, "install it again with `burn plugin install --force "+b.ID.Name+"`"); err != nil {
				r.add(b, err)
			} else {
				r.Notes = append(r.Notes, fmt.Sprintf("%s is not in %s", b.ID, lock.File))
			}
		case e.Version != b.Version:
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s has version %s", b.ID, lock.File, e.Version))
		default:
			if err := lock.checkInstalled(e, b); err != nil {
				r.add(b, err)
			}
		}
	}
	for _, e := range lock.Plugins {
		if !slices.ContainsFunc(r.Checked, func(b Installed) bool {
			return b.Plugin == e.Plugin && b.Version == e.Version && b.Platform == Native()
		}) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s %s is in %s and not installed: `burn plugin install %s`", e.Plugin, e.Version, lock.File, e.Plugin))
		}
	}
	return r, nil
}

// unexpected finds plugins in the top folder of the store, where installations put no plugins.
func (r *Report) unexpected(dir string) {
	paths, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range paths {
		if e.IsDir() || !strings.HasPrefix(e.Name(), filePrefix) || strings.HasSuffix(e.Name(), manifestExt) {
			continue
		}
		err := fmt.Errorf("%s was not installed: it has no signature, no receipt and no entry in a lock", filepath.Join(dir, e.Name()))
		r.Problems = append(r.Problems, Problem{Plugin: e.Name(), What: err.Error(), Err: err,
			Remedy: "remove it; if it is yours, put it into a folder that you name with --plugin-path, or make an archive of it with `burn plugin pack`"})
	}
}

func (l *Lock) checkInstalled(e *Locked, b *Installed) error {
	h, ok := e.Platforms[b.Platform]
	if ok && (h.Tree != b.Receipt.Tree || h.Archive != b.Receipt.Archive) {
		return refuse(ErrLocked, "install it again with --force", "%s has tree %s, %s has %s", b.ID, b.Receipt.Tree, l.File, h.Tree)
	}
	if e.Signer != b.Receipt.Signer() {
		return refuse(ErrLocked, "install it again with --force", "%s has signer %s, %s has %s", b.ID, orText(b.Receipt.Signer(), "none"), l.File, orText(e.Signer, "none"))
	}
	return nil
}

func (r *Report) add(b *Installed, err error) {
	p := Problem{Plugin: b.ID.String(), What: err.Error(), Err: err, Remedy: "install it again with `burn plugin install --force`, or remove it"}
	var x *Refusal
	if errors.As(err, &x) && x.Remedy != "" {
		p.What, p.Remedy = strings.Replace(err.Error(), "; "+x.Remedy, "", 1), x.Remedy
	}
	r.Problems = append(r.Problems, p)
}

// inspect compares the files of a build with its receipt, its manifest and its signature.
func (s *Store) inspect(b Installed) (found []error) {
	r, err := readReceipt(b.Dir)
	if err != nil {
		return []error{err}
	}
	executable := map[string]bool{}
	want := map[string]File{}
	for _, f := range r.Files {
		executable[f.Path], want[f.Path] = f.Executable, f
	}
	if runtime.GOOS != "windows" {
		executable = nil // by the modes of the files
	}
	files, err := scan(b.Dir, executable)
	if err != nil {
		return []error{err}
	}
	again := "the file was changed or is damaged: run `burn plugin install --force " + b.ID.Name + "`"
	for _, f := range files {
		w, ok := want[f.Path]
		delete(want, f.Path)
		switch {
		case !ok:
			found = append(found, refuse(ErrExists, "remove it", "%s is not of the plugin", filepath.Join(b.Dir, f.Path)))
		case f.Digest != w.Digest:
			found = append(found, refuse(ErrExists, again, "%s has %s, want %s", filepath.Join(b.Dir, f.Path), f.Digest, w.Digest))
		case f.Executable != w.Executable:
			found = append(found, refuse(ErrExists, again, "%s: executable %t, want %t", filepath.Join(b.Dir, f.Path), f.Executable, w.Executable))
		}
	}
	for name := range want {
		found = append(found, refuse(ErrNotFound, again, "%s", filepath.Join(b.Dir, name)))
	}
	if len(found) > 0 {
		return found
	}
	if tree := Tree(files); tree != r.Tree {
		return []error{refuse(ErrExists, again, "%s has tree %s, its receipt %s", b.Dir, tree, r.Tree)}
	}
	p, err := describe(b.Dir, files)
	if err != nil {
		return []error{err}
	}
	if p.ID != b.ID {
		return []error{refuse(ErrExists, again, "%s: the manifest is of %s", b.Dir, p.ID)}
	}
	if sig := r.Signature; sig != nil {
		if err := s.Trust.Check(sig, s.now()); err != nil {
			return []error{err}
		}
		if id, err := sig.ID(); err != nil || id != p.ID || sig.Tree != r.Tree || sig.Archive != r.Archive || sig.Manifest != p.ManifestDigest {
			return []error{refuse(ErrSignature, again, "%s: the receipt differs from the signature", b.Dir)}
		}
	}
	return nil
}
