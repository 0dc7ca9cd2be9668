package store

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/internal/tomlfile"
)

// IndexSignature is the signature of a mirror's index by the mirror's maintainer, with a counter and a date of expiry. It is in the file
// index.toml.sig.
type IndexSignature struct {
	Key     string    `toml:"key"`     // PublicKey.ID
	Index   string    `toml:"index"`   // sha256:HEX of the file's bytes
	Counter int64     `toml:"counter"` // greater with each index
	Expires time.Time `toml:"expires"`
	Value   string    `toml:"signature"`
}

// statement returns the signed text.
func (s *IndexSignature) statement() []byte {
	return fmt.Appendf(nil, "burn index signature 1\nindex %s\ncounter %d\nexpires %s\n", s.Index, s.Counter, s.Expires.UTC().Format(time.RFC3339))
}

func parseIndexSignature(text []byte) (*IndexSignature, error) {
	s := &IndexSignature{}
	if err := decode(tomlfile.Signature, text, s); err != nil {
		return nil, fmt.Errorf("signature of the index: %w", err)
	}
	if !digestForm.MatchString(s.Index) || s.Counter < 1 || s.Expires.IsZero() {
		return nil, fmt.Errorf("signature of the index: want the digest of an index, a counter from 1 and a date of expiry: %w", ErrFormat)
	}
	return s, nil
}

// SignIndex signs the bytes of an index.
func (k PrivateKey) SignIndex(text []byte, counter int64, expires time.Time) *IndexSignature {
	s := &IndexSignature{Key: k.Public().ID(), Index: digestBytes(text), Counter: counter, Expires: expires.UTC().Truncate(time.Second)}
	s.Value = base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, s.statement()))
	return s
}

// Encode returns the content of the file.
func (s *IndexSignature) Encode() []byte {
	var b bytes.Buffer
	_ = toml.NewEncoder(&b).Encode(s) // encoding strings in memory cannot fail
	return b.Bytes()
}

// IndexPolicy decides whether the index of a mirror is accepted.
type IndexPolicy struct {
	Trust *Trust
	Dir   string           // folder of the store, which records the newest index of each mirror
	Stale bool             // accept an index that is expired, older than an index seen before, or no longer signed: for an offline mirror
	Now   func() time.Time // nil: time.Now
}

// staleRemedy is the remedy in refusals that Stale lifts.
const staleRemedy = "; for a mirror that is old on purpose, such as an offline copy, use --allow-stale or set mirror_stale"

// check returns an error if the index of a mirror is older than an index seen before, or if its signature is invalid. signature is nil for
// an unsigned index, which is accepted from a mirror that never had a signature. check is called before the index is parsed; the function
// that it returns is called with the parsed index, and records it.
func (p *IndexPolicy) check(base string, text, signature []byte) (accept func(context.Context, *Index) error, err error) {
	st, err := ReadState(p.Dir)
	if err != nil {
		return nil, err
	}
	var known []KnownMirror
	for _, k := range st.Mirrors {
		if k.Base == base {
			known = append(known, k)
		}
	}
	var sig *IndexSignature
	if signature != nil {
		if sig, err = parseIndexSignature(signature); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	if p.Now != nil {
		now = p.Now()
	}
	var key *Key
	if sig != nil {
		if k := p.Trust.Find(sig.Key); k != nil && k.State(now) == "trusted" {
			key = k
		}
	}
	for _, k := range known {
		if (key == nil || !key.trustedFor(k.Space)) && !p.Stale {
			return nil, refuse(ErrUnsigned, "report it to the owner of the mirror; if its key changed, trust the new one with `burn plugin trust`"+staleRemedy,
				"the index was signed for %s with key %s before, and is not signed now with a key that is trusted for it", k.Space, k.Key)
		}
	}
	if key == nil {
		return func(context.Context, *Index) error { return nil }, nil
	}
	if err := sig.verify(key, text); err != nil {
		return nil, err
	}
	if err := p.fresh(sig, known, now); err != nil && !p.Stale {
		return nil, err
	}
	return func(ctx context.Context, x *Index) error {
		if x.Counter != sig.Counter || !x.Expires.Equal(sig.Expires) {
			return refuse(ErrSignature, "report it to the owner of the mirror", "the index has counter %d and its signature %d, or they expire on different dates", x.Counter, sig.Counter)
		}
		return p.remember(ctx, base, x, key, sig)
	}, nil
}

func (s *IndexSignature) verify(k *Key, text []byte) error {
	p, err := ParsePublicKey(k.Public)
	if err != nil {
		return err
	}
	v, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil || !ed25519.Verify(p.key, s.statement(), v) {
		return refuse(ErrSignature, "report it to the owner of the mirror, and do not use it", "the signature of the index was not made with key %s", k.ID)
	}
	if got := digestBytes(text); got != s.Index {
		return refuse(ErrSignature, "the mirror may be changing: try again in a minute, and report it to the owner of the mirror if it persists",
			"the index has %s, its signature is of %s", got, s.Index)
	}
	return nil
}

// fresh returns an error if a signed index has expired, or is older than a known index.
func (p *IndexPolicy) fresh(sig *IndexSignature, known []KnownMirror, now time.Time) error {
	for _, k := range known {
		switch {
		case sig.Counter < k.Counter:
			return refuse(ErrRollback, "report it to the owner of the mirror: somebody may be hiding new versions from you"+staleRemedy,
				"the index has counter %d, this mirror has shown %d", sig.Counter, k.Counter)
		case sig.Counter == k.Counter && sig.Index != k.Digest:
			return refuse(ErrRollback, "report it to the owner of the mirror: two indexes have one counter"+staleRemedy,
				"the index with counter %d is another than the one seen before", sig.Counter)
		}
	}
	if now.After(sig.Expires) {
		return refuse(ErrExpired, "ask the owner of the mirror to rewrite its index with `burn plugin index`; somebody may be hiding new versions from you"+staleRemedy,
			"the index expired on %s", sig.Expires.UTC().Format(time.DateOnly))
	}
	return nil
}

// remember records the counter of an index for each of its namespaces for which the key of the index is trusted.
func (p *IndexPolicy) remember(ctx context.Context, base string, x *Index, key *Key, sig *IndexSignature) error {
	if p.Dir == "" {
		return nil
	}
	err := UpdateState(ctx, p.Dir, func(st *State) {
		for _, e := range x.Plugins {
			space := e.Plugin[:strings.LastIndex(e.Plugin, "/")]
			if !key.trustedFor(space) {
				continue
			}
			now := KnownMirror{base, space, sig.Counter, sig.Index, sig.Key}
			i := slices.IndexFunc(st.Mirrors, func(k KnownMirror) bool { return k.Base == base && k.Space == space })
			switch {
			case i < 0:
				st.Mirrors = append(st.Mirrors, now)
			case sig.Counter > st.Mirrors[i].Counter:
				st.Mirrors[i] = now
			}
		}
	})
	if errors.Is(err, fs.ErrPermission) { // this user may only read the store
		return nil
	}
	return err
}

// trustedFor reports whether a key is trusted for HOST/NAMESPACE.
func (k *Key) trustedFor(space string) bool {
	host, namespace, _ := strings.Cut(space, "/")
	return k.allows(Address{Host: host, Namespace: namespace})
}

// place returns the key of a mirror in the state: for a folder its absolute path.
func (m *Mirror) place() string {
	if IsURL(m.base) {
		return m.base
	}
	if abs, err := filepath.Abs(m.base); err == nil {
		return abs
	}
	return m.base
}

// IndexOptions configure how an index is written.
type IndexOptions struct {
	Limits  Limits
	Key     *PrivateKey // signs the index; nil: the index is not signed
	Expires time.Time   // zero: IndexLife after Now
	Now     time.Time   // zero: now
}

// IndexLife is the time for which an index is valid by default.
const IndexLife = 90 * 24 * time.Hour

// stamp sets the counter and the date of expiry of an index that replaces the one in dir. The counter is the old counter plus 1, and at
// least the time in seconds, so that it also increases if the mirror is rebuilt.
func (o IndexOptions) stamp(dir string, x *Index) error {
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	x.Counter, x.Expires = now.Unix(), o.Expires
	if x.Expires.IsZero() {
		x.Expires = now.Add(IndexLife)
	}
	x.Expires = x.Expires.UTC().Truncate(time.Second)
	if !now.Before(x.Expires) {
		return fmt.Errorf("index: it would expire on %s, want a date to come: %w", x.Expires.Format(time.DateOnly), ErrExpired)
	}
	if old, err := read(tomlfile.Index, filepath.Join(dir, IndexName)); err == nil {
		if before, err := ParseIndex(old); err == nil {
			x.Counter = max(x.Counter, before.Counter+1)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, IndexName+SignatureExt)); err == nil && o.Key == nil {
		return refuse(ErrUnsigned, "name the key that signs it with --key; without one, its users would refuse the mirror", "the index in %s is signed", dir)
	}
	return nil
}
