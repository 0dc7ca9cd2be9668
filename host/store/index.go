package store

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/internal/tomlfile"
)

// IndexName is the name of the file at the top of a mirror that lists its plugins.
const IndexName = "index.toml"

// ArchiveExt is the file extension of archives in a mirror.
const ArchiveExt = ".tar.gz"

// Index lists the plugins of a mirror.
type Index struct {
	Format  int           `toml:"format" json:"format"`
	Counter int64         `toml:"counter,omitempty" json:"counter,omitempty"` // increases with each index of the mirror; 0: written by an older burn
	Expires time.Time     `toml:"expires,omitempty" json:"expires,omitzero"`
	Plugins []IndexPlugin `toml:"plugin" json:"plugins"`
}

// IndexPlugin is a plugin with its versions.
type IndexPlugin struct {
	Plugin   string         `toml:"plugin" json:"plugin"`
	Versions []IndexVersion `toml:"version" json:"versions"`
}

// IndexVersion is a version with its builds.
type IndexVersion struct {
	Version   string                `toml:"version" json:"version"`
	Protocol  manifest.Protocol     `toml:"protocol" json:"protocol"`
	Platforms map[string]IndexBuild `toml:"platforms" json:"platforms"` // by OS_ARCH
}

// IndexBuild is one archive.
type IndexBuild struct {
	Size   int64  `toml:"size" json:"size"`
	Signer string `toml:"signer,omitempty" json:"signer,omitempty"`
	Hashes
}

const indexFormat = 1

// ParseIndex reads an index.
func ParseIndex(text []byte) (*Index, error) {
	x := &Index{}
	if err := decode(tomlfile.Index, text, x); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if x.Format != indexFormat {
		return nil, refuse(ErrFormat, "upgrade burn", "index: format %d, want %d", x.Format, indexFormat)
	}
	for _, p := range x.Plugins {
		a, err := ParseAddress(p.Plugin)
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		for _, v := range p.Versions {
			for platform, b := range v.Platforms {
				if err := (ID{a, v.Version, platform}).check(); err != nil {
					return nil, fmt.Errorf("index: %w", err)
				}
				if !digestForm.MatchString(b.Archive) || !digestForm.MatchString(b.Tree) {
					return nil, fmt.Errorf("index: %s %s %s: hashes want sha256: and 64 hex digits: %w", p.Plugin, v.Version, platform, ErrFormat)
				}
			}
		}
	}
	return x, nil
}

// Encode returns the content of the file.
func (x *Index) Encode() ([]byte, error) {
	slices.SortFunc(x.Plugins, func(a, b IndexPlugin) int { return strings.Compare(a.Plugin, b.Plugin) })
	for _, p := range x.Plugins {
		slices.SortFunc(p.Versions, func(a, b IndexVersion) int { return manifest.CompareVersions(a.Version, b.Version) })
	}
	var b bytes.Buffer
	b.WriteString("# Written by burn plugin index.\n\n")
	err := toml.NewEncoder(&b).Encode(x)
	return b.Bytes(), err
}

// Find returns the plugin that name matches.
func (x *Index) Find(name string) (*IndexPlugin, error) {
	var found []*IndexPlugin
	var known []string
	for i := range x.Plugins {
		p := &x.Plugins[i]
		known = append(known, p.Plugin)
		if a, err := ParseAddress(p.Plugin); err == nil && a.Matches(name) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, refuse(ErrNotFound, "", "plugin %s: the mirror has %s", name, orText(strings.Join(known, ", "), "nothing"))
	case 1:
		return found[0], nil
	}
	return nil, refuse(ErrNotFound, "name it in full: HOST/NAMESPACE/NAME", "plugin %s may be %s or %s", name, found[0].Plugin, found[1].Plugin)
}

// Choose returns the newest version that c allows and that is built for a platform.
func (p *IndexPlugin) Choose(c Constraint, platform string) (ID, *IndexVersion, error) {
	a, err := ParseAddress(p.Plugin)
	if err != nil {
		return ID{}, nil, err
	}
	var best *IndexVersion
	var all, here []string
	for i := range p.Versions {
		v := &p.Versions[i]
		all = append(all, v.Version)
		if _, ok := v.Platforms[platform]; !ok {
			continue
		}
		here = append(here, v.Version)
		if c.Allows(v.Version) && (best == nil || newest(v.Version, best.Version)) {
			best = v
		}
	}
	switch {
	case best != nil:
		return ID{a, best.Version, platform}, best, nil
	case len(here) == 0:
		return ID{}, nil, refuse(ErrPlatform, "ask its maker for a build, or build it from source", "plugin %s: no build for %s among versions %s", p.Plugin, platform, strings.Join(all, ", "))
	}
	return ID{}, nil, refuse(ErrNotFound, "", "plugin %s: version %s, the mirror has %s for %s", p.Plugin, c, strings.Join(here, ", "), platform)
}

// MirrorPath returns the path of an archive in a mirror: HOST/NAMESPACE/NAME/VERSION/OS_ARCH.tar.gz, with slashes.
func (id ID) MirrorPath() string { return id.slashed() + ArchiveExt }

// WriteIndex rebuilds the index of the mirror in dir from the archives there. Each archive is opened and checked, and must be in the right
// folder. Signatures are read but not checked; users of the mirror check them. With a key the index is signed, in index.toml.sig.
func WriteIndex(dir string, o IndexOptions) (*Index, error) {
	x := &Index{Format: indexFormat}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ArchiveExt) {
			return err
		}
		p, err := Inspect(file, o.Limits)
		if err != nil {
			return err
		}
		if want := filepath.Join(dir, filepath.FromSlash(p.ID.MirrorPath())); want != file {
			return fmt.Errorf("mirror: %s is %s, want it at %s: %w", file, p.ID, want, ErrFormat)
		}
		sig, err := ReadSignature(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		x.put(p, sig)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := o.stamp(dir, x); err != nil {
		return nil, err
	}
	text, err := x.Encode()
	if err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, IndexName), text, 0o644); err != nil || o.Key == nil {
		return x, err
	}
	return x, writeFile(filepath.Join(dir, IndexName+SignatureExt), o.Key.SignIndex(text, x.Counter, x.Expires).Encode(), 0o644)
}

func (x *Index) put(p *Package, sig *Signature) {
	b := IndexBuild{Size: p.Size, Hashes: Hashes{p.Archive, p.Tree}}
	if sig != nil {
		b.Signer = sig.Key
	}
	i := slices.IndexFunc(x.Plugins, func(e IndexPlugin) bool { return e.Plugin == p.ID.Address.String() })
	if i < 0 {
		i = len(x.Plugins)
		x.Plugins = append(x.Plugins, IndexPlugin{Plugin: p.ID.Address.String()})
	}
	e := &x.Plugins[i]
	k := slices.IndexFunc(e.Versions, func(v IndexVersion) bool { return v.Version == p.ID.Version })
	if k < 0 {
		k = len(e.Versions)
		e.Versions = append(e.Versions, IndexVersion{Version: p.ID.Version, Protocol: p.Manifest.Protocol, Platforms: map[string]IndexBuild{}})
	}
	e.Versions[k].Platforms[p.ID.Platform] = b
}

// isMirror reports whether a folder has an index.
func isMirror(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IndexName))
	return err == nil
}
