package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/internal/tomlfile"
)

// LockName is the name of lock files.
const LockName = "burn.lock"

// Hashes are the hashes of one build.
type Hashes struct {
	Archive string `toml:"archive" json:"archive"`
	Tree    string `toml:"tree" json:"tree"`
}

// Locked is the entry of a plugin in a lock file.
type Locked struct {
	Plugin    string            `toml:"plugin" json:"plugin"` // HOST/NAMESPACE/NAME
	Version   string            `toml:"version" json:"version"`
	Source    string            `toml:"source" json:"source"`                     // source of the first installation
	Signer    string            `toml:"signer,omitempty" json:"signer,omitempty"` // id of the key; empty: unsigned
	Platforms map[string]Hashes `toml:"platforms" json:"platforms"`               // by OS_ARCH
}

// Lock is the content of a lock file: the versions and hashes of the plugins that may be installed, on every platform.
type Lock struct {
	File    string   `toml:"-" json:"file"`
	Format  int      `toml:"format" json:"format"`
	Plugins []Locked `toml:"plugin" json:"plugins"`
}

const lockFormat = 1

// ReadLock reads a lock file. If the file does not exist, the lock is empty.
func ReadLock(path string) (*Lock, error) {
	l := &Lock{File: path, Format: lockFormat}
	text, err := read(tomlfile.Lock, path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if err := decode(tomlfile.Lock, text, l); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if l.Format != lockFormat {
		return nil, refuse(ErrFormat, "upgrade burn, or rewrite the lock with `burn plugin lock`", "lock %s: format %d, want %d", path, l.Format, lockFormat)
	}
	for i := range l.Plugins {
		if err := l.Plugins[i].check(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if slices.ContainsFunc(l.Plugins[:i], func(p Locked) bool { return p.Plugin == l.Plugins[i].Plugin }) {
			return nil, fmt.Errorf("lock %s: %s is listed twice: %w", path, l.Plugins[i].Plugin, ErrFormat)
		}
	}
	return l, nil
}

func (p *Locked) check() error {
	a, err := ParseAddress(p.Plugin)
	if err != nil {
		return err
	}
	for platform, h := range p.Platforms {
		if err := (ID{a, p.Version, platform}).check(); err != nil {
			return err
		}
		if !digestForm.MatchString(h.Archive) || !digestForm.MatchString(h.Tree) {
			return fmt.Errorf("%s %s: hashes want sha256: and 64 hex digits: %w", p.Plugin, platform, ErrFormat)
		}
	}
	return nil
}

// Find returns the entry of a plugin, or nil if the lock does not contain the plugin.
func (l *Lock) Find(a Address) *Locked {
	for i := range l.Plugins {
		if l.Plugins[i].Plugin == a.String() {
			return &l.Plugins[i]
		}
	}
	return nil
}

// Check returns an error if the lock contains the plugin of a package and the package does not match the entry.
func (l *Lock) Check(p *Package, signer string) error {
	e := l.Find(p.ID.Address)
	if e == nil {
		return nil
	}
	name := p.ID.Name
	if e.Version != p.ID.Version {
		return refuse(ErrLocked, "if the change is intended, run `burn plugin upgrade "+name+"@"+p.ID.Version+"` (or `burn plugin upgrade SOURCE`), which changes the lock",
			"%s: version %s, %s has %s", p.ID.Address, p.ID.Version, l.File, e.Version)
	}
	if e.Signer != signer {
		return refuse(ErrLocked, "find out why the signer changed; if that is right, run `burn plugin upgrade SOURCE`",
			"%s %s: signer %s, %s has %s", p.ID.Address, p.ID.Version, orText(signer, "none"), l.File, orText(e.Signer, "none"))
	}
	if h, ok := e.Platforms[p.ID.Platform]; ok && (h.Archive != p.Archive || h.Tree != p.Tree) {
		return refuse(ErrLocked, "a release never changes: get the archive again from "+e.Source+"; if you trust this one, run `burn plugin upgrade SOURCE`",
			"%s: archive %s, %s has %s", p.ID, p.Archive, l.File, h.Archive)
	}
	return nil
}

// Put records a build. Builds of the same version and signer on other platforms stay.
func (l *Lock) Put(id ID, source, signer string, h Hashes) {
	e := l.Find(id.Address)
	if e == nil {
		l.Plugins = append(l.Plugins, Locked{Plugin: id.Address.String()})
		e = &l.Plugins[len(l.Plugins)-1]
	}
	if e.Version != id.Version || e.Signer != signer || e.Platforms == nil {
		*e = Locked{Plugin: e.Plugin, Version: id.Version, Source: source, Signer: signer, Platforms: map[string]Hashes{}}
	}
	e.Platforms[id.Platform] = h
}

// Remove removes a plugin.
func (l *Lock) Remove(a Address) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(p Locked) bool { return p.Plugin == a.String() })
}

// Encode returns the content of the file.
func (l *Lock) Encode() ([]byte, error) {
	slices.SortFunc(l.Plugins, func(a, b Locked) int { return strings.Compare(a.Plugin, b.Plugin) })
	var b bytes.Buffer
	b.WriteString("# Written by burn plugin. Keep it with your project: only what has these hashes is installed.\n\n")
	err := toml.NewEncoder(&b).Encode(l)
	return b.Bytes(), err
}

// Write replaces the file, if its content changes.
func (l *Lock) Write() error {
	b, err := l.Encode()
	if err != nil {
		return err
	}
	if old, err := read(tomlfile.Lock, l.File); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.File), 0o755); err != nil {
		return err
	}
	return writeFile(l.File, b, 0o644)
}

func newest(a, b string) bool { return manifest.CompareVersions(a, b) > 0 }
