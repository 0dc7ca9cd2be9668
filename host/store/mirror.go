package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/internal/tomlfile"
)

// Mirror opens a mirror: a folder, or an address that names a folder. If f.Index is set, the index must be accepted by this policy.
func (f *Fetcher) Mirror(ctx context.Context, base string) (*Mirror, error) {
	m := &Mirror{base: strings.TrimSuffix(base, "/"), fetch: f}
	text, err := m.small(ctx, tomlfile.Index, IndexName)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotFound) {
			return nil, refuse(ErrNotFound, "name a folder or address with an "+IndexName+", or make one with `burn plugin index DIR`", "mirror %s: no %s", base, IndexName)
		}
		return nil, fmt.Errorf("mirror %s: %w", base, err)
	}
	accept := func(context.Context, *Index) error { return nil }
	if f.Index != nil {
		sig, err := m.small(ctx, tomlfile.Signature, IndexName+SignatureExt)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("mirror %s: %w", base, err)
		}
		if accept, err = f.Index.check(m.place(), text, sig); err != nil {
			return nil, fmt.Errorf("mirror %s: %w", base, err)
		}
	}
	if m.Index, err = ParseIndex(text); err != nil {
		return nil, fmt.Errorf("mirror %s: %w", base, err)
	}
	if err := accept(ctx, m.Index); err != nil {
		return nil, fmt.Errorf("mirror %s: %w", base, err)
	}
	return m, nil
}

// IsMirror reports whether a source on disk is a mirror.
func IsMirror(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && isMirror(path)
}

// Mirror is a folder of archives, on disk or behind a web server. The index only lists the archives; signatures authenticate the archives.
type Mirror struct {
	Index *Index
	base  string
	fetch *Fetcher
}

// String returns the path or address of the mirror.
func (m *Mirror) String() string { return m.base }

func (m *Mirror) path(slashed string) string {
	if IsURL(m.base) {
		return m.base + "/" + slashed
	}
	return filepath.Join(m.base, filepath.FromSlash(slashed))
}

func (m *Mirror) small(ctx context.Context, k tomlfile.Kind, slashed string) ([]byte, error) {
	if IsURL(m.base) {
		return m.fetch.small(ctx, k, m.path(slashed))
	}
	return read(k, m.path(slashed))
}

// Archive opens the archive of a build.
func (m *Mirror) Archive(ctx context.Context, id ID) (*Archive, error) {
	var a *Archive
	var err error
	if p := m.path(id.MirrorPath()); IsURL(p) {
		a, err = m.fetch.URL(ctx, p)
	} else {
		a, err = m.fetch.File(p)
	}
	if err != nil {
		return nil, err
	}
	a.want = &id
	if b, ok := m.build(id); ok {
		a.digest = b.Archive
	}
	return a, nil
}

func (m *Mirror) build(id ID) (IndexBuild, bool) {
	p, err := m.Index.Find(id.Address.String())
	if err != nil {
		return IndexBuild{}, false
	}
	for _, v := range p.Versions {
		if b, ok := v.Platforms[id.Platform]; ok && v.Version == id.Version {
			return b, true
		}
	}
	return IndexBuild{}, false
}

// Hashes returns the hashes of all builds of a version with one signer: from signatures that t trusts or, for an unsigned plugin (signer
// ""), from the index.
func (m *Mirror) Hashes(ctx context.Context, t *Trust, id ID, v *IndexVersion, signer string, now time.Time) (map[string]Hashes, error) {
	all := map[string]Hashes{}
	for platform, b := range v.Platforms {
		other := ID{id.Address, v.Version, platform}
		text, err := m.small(ctx, tomlfile.Signature, other.MirrorPath()+SignatureExt)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotFound) {
			if signer == "" {
				all[platform] = b.Hashes
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := ParseSignature(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", other, err)
		}
		if signer == "" || s.Key != signer {
			continue // a lock entry has a single signer
		}
		if err := t.Check(s, now); err != nil {
			return nil, err
		}
		if got, err := s.ID(); err != nil || got != other {
			return nil, refuse(ErrSignature, "report it to the owner of the mirror", "%s: the signature is of %s", other, got)
		}
		all[platform] = Hashes{s.Archive, s.Tree}
	}
	return all, nil
}
