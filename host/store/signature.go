package store

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/internal/tomlfile"
)

// Signature is a maker's signature of an archive's plugin, version, platform and content. It is in the file ARCHIVE.sig.
type Signature struct {
	Key      string `toml:"key" json:"key"` // PublicKey.ID
	Plugin   string `toml:"plugin" json:"plugin"`
	Version  string `toml:"version" json:"version"`
	Platform string `toml:"platform" json:"platform"`
	Archive  string `toml:"archive" json:"archive"`   // sha256:HEX of the archive's bytes
	Manifest string `toml:"manifest" json:"manifest"` // sha256:HEX of the manifest in the archive
	Tree     string `toml:"tree" json:"tree"`         // digest of the unpacked files: see Tree
	Value    string `toml:"signature" json:"signature"`
}

// SignatureExt is the file extension of detached signatures.
const SignatureExt = ".sig"

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// statement returns the signed text. Fields were checked to contain no end of line.
func (s *Signature) statement() []byte {
	return fmt.Appendf(nil, "burn plugin signature 1\nplugin %s\nversion %s\nplatform %s\narchive %s\nmanifest %s\ntree %s\n",
		s.Plugin, s.Version, s.Platform, s.Archive, s.Manifest, s.Tree)
}

// ID returns the ID of the archive according to the signature.
func (s *Signature) ID() (ID, error) {
	a, err := ParseAddress(s.Plugin)
	if err != nil {
		return ID{}, err
	}
	id := ID{a, s.Version, s.Platform}
	return id, id.check()
}

func (s *Signature) check() error {
	if _, err := s.ID(); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	for _, d := range []string{s.Archive, s.Manifest, s.Tree} {
		if !digestForm.MatchString(d) {
			return fmt.Errorf("signature: digest %.80q, want sha256: and 64 hex digits: %w", d, ErrFormat)
		}
	}
	return nil
}

// Sign signs the description of p.
func (k PrivateKey) Sign(p *Package) *Signature {
	s := &Signature{Key: k.Public().ID(), Plugin: p.ID.Address.String(), Version: p.ID.Version, Platform: p.ID.Platform,
		Archive: p.Archive, Manifest: p.ManifestDigest, Tree: p.Tree}
	s.Value = base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, s.statement()))
	return s
}

// Verify returns an ErrSignature unless the signature was made with k.
func (k PublicKey) Verify(s *Signature) error {
	v, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil || !ed25519.Verify(k.key, s.statement(), v) {
		return refuse(ErrSignature, "get the archive and its signature again from their maker, and do not use these",
			"the signature of %s %s %s was not made with key %s", s.Plugin, s.Version, s.Platform, k.ID())
	}
	return nil
}

// SignText returns the ed25519 signature of a text that does not describe an archive. The first line of the text must name its purpose.
func (k PrivateKey) SignText(text []byte) []byte { return ed25519.Sign(k.key, text) }

// VerifyText returns an ErrSignature unless signature is the result of SignText with k.
func (k PublicKey) VerifyText(text, signature []byte) error {
	if !ed25519.Verify(k.key, text, signature) {
		return refuse(ErrSignature, "get it again from its maker", "the signature was not made with key %s", k.ID())
	}
	return nil
}

// Encode returns the content of a signature file.
func (s *Signature) Encode() []byte {
	var b bytes.Buffer
	_ = toml.NewEncoder(&b).Encode(s) // encoding strings in memory cannot fail
	return b.Bytes()
}

// ParseSignature reads a signature file.
func ParseSignature(text []byte) (*Signature, error) {
	s := &Signature{}
	if err := decode(tomlfile.Signature, text, s); err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	return s, s.check()
}

// ReadSignature reads the signature beside an archive. It returns nil if there is no signature.
func ReadSignature(archive string) (*Signature, error) {
	text, err := read(tomlfile.Signature, archive+SignatureExt)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseSignature(text)
}

// SignFile writes the signature of the package in an archive beside it.
func (k PrivateKey) SignFile(archive string, p *Package) error {
	return writeFile(archive+SignatureExt, k.Sign(p).Encode(), 0o644)
}
