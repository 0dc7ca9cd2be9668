package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/host/internal/flock"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/internal/tomlfile"
)

// Store is a folder of installed plugins. Methods may be called concurrently, also from several processes.
type Store struct {
	Dir      string
	Trust    *Trust
	LockFile string           // path of the burn.lock that applies to the store
	Limits   Limits           // limits of archives
	Waiting  func()           // called once if another process has locked the store; nil: no call
	Now      func() time.Time // nil: time.Now
}

const (
	lockName   = ".lock"
	stagingDir = ".staging"
)

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// acquire locks the store for this process, and removes files that killed processes have left.
func (s *Store) acquire(ctx context.Context) (release func(), err error) {
	if s.Dir == "" {
		return nil, fmt.Errorf("plugin store: no folder is known for it, name one: %w", ErrNotFound)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	f, err := flock.Take(ctx, filepath.Join(s.Dir, lockName), s.Waiting)
	if errors.Is(err, flock.ErrNotRegular) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(s.Dir, stagingDir)); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		_ = os.Remove(filepath.Join(s.Dir, stagingDir)) // if it is empty
		f.Close()
	}, nil
}

// stage returns an empty folder on the file system of the store. The caller holds the store.
func (s *Store) stage() (string, error) {
	parent := filepath.Join(s.Dir, stagingDir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// Installed is a build in the store.
type Installed struct {
	ID       ID                `json:"-"`
	Plugin   string            `json:"plugin"`
	Version  string            `json:"version"`
	Platform string            `json:"platform"`
	Dir      string            `json:"dir"`
	Active   bool              `json:"active"` // package host uses this build: it is for this platform, and of the locked version or else of the newest version
	Manifest manifest.Manifest `json:"manifest"`
	Receipt  *Receipt          `json:"receipt,omitempty"`
	Err      error             `json:"-"` // why manifest or receipt cannot be read
}

// List returns the installed plugins, in order of address, newest version first.
func (s *Store) List() ([]Installed, error) {
	dirs, err := platformDirs(s.Dir)
	if err != nil {
		return nil, err
	}
	var all []Installed
	for _, rel := range dirs {
		parts := strings.Split(filepath.ToSlash(rel), "/")
		id := ID{Address{parts[0], parts[1], parts[2]}, parts[3], parts[4]}
		i := Installed{ID: id, Plugin: id.Address.String(), Version: id.Version, Platform: id.Platform, Dir: filepath.Join(s.Dir, rel)}
		if i.Err = id.check(); i.Err == nil {
			i.Receipt, i.Err = readReceipt(i.Dir)
		}
		if i.Err == nil {
			var text []byte
			if text, i.Err = read(tomlfile.Manifest, filepath.Join(i.Dir, filePrefix+id.Name+manifestExt)); i.Err == nil {
				i.Err = decode(tomlfile.Manifest, text, &i.Manifest)
			}
		}
		all = append(all, i)
	}
	slices.SortStableFunc(all, func(a, b Installed) int {
		if c := strings.Compare(a.Plugin, b.Plugin); c != 0 {
			return c
		}
		if c := manifest.CompareVersions(b.Version, a.Version); c != 0 {
			return c
		}
		return strings.Compare(a.Platform, b.Platform)
	})
	used := map[string]*Installed{}
	chosen := Admission{Dir: s.Dir, LockFile: s.LockFile}
	for i := range all {
		p := &all[i]
		if p.Platform != Native() {
			continue
		}
		if first := used[p.Plugin]; first == nil {
			used[p.Plugin] = p
		} else if chosen.Locked(p.Plugin) == p.Version {
			used[p.Plugin] = p
		}
	}
	for _, p := range used {
		p.Active = true
	}
	return all, nil
}

// platformDirs lists the folders five levels deep.
func platformDirs(root string) ([]string, error) {
	level := []string{"."}
	for range 5 {
		var next []string
		for _, dir := range level {
			entries, err := os.ReadDir(filepath.Join(root, dir))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		level = next
	}
	return level, nil
}

// Select returns the builds that text names: NAME, NAMESPACE/NAME or HOST/NAMESPACE/NAME, with @CONSTRAINT. If text matches several
// plugins, it returns an error.
func (s *Store) Select(text string) ([]Installed, error) {
	name, c, err := ParseName(text)
	if err != nil {
		return nil, err
	}
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	var found []Installed
	for _, i := range all {
		if i.ID.Matches(name) && c.Allows(i.Version) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		return nil, refuse(ErrNotFound, "see `burn plugin list`", "plugin %s is not installed in %s", text, s.Dir)
	case slices.ContainsFunc(found, func(i Installed) bool { return i.Plugin != found[0].Plugin }):
		return nil, refuse(ErrNotFound, "name it in full: HOST/NAMESPACE/NAME", "plugin %s may be %s or %s", text, found[0].Plugin, found[len(found)-1].Plugin)
	}
	return found, nil
}

// ParseName reads NAME[@CONSTRAINT], where NAME may be preceded by a namespace, or by a host and a namespace.
func ParseName(text string) (string, Constraint, error) {
	name, version, _ := strings.Cut(text, "@")
	c, err := ParseConstraint(version)
	if err != nil {
		return "", c, err
	}
	parts := strings.Split(name, "/")
	ok := len(parts) <= 3 && nameForm.MatchString(parts[len(parts)-1])
	if len(parts) > 1 {
		ok = ok && nameForm.MatchString(parts[len(parts)-2])
	}
	if len(parts) > 2 {
		ok = ok && hostForm.MatchString(parts[0])
	}
	if !ok {
		return "", c, fmt.Errorf("plugin: got %q, want NAME[@VERSION] in lower case, with HOST/NAMESPACE/ before it if need be: %w", name, ErrFormat)
	}
	return name, c, nil
}
