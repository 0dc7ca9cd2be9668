package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// SignatureFile contains the signature of a report package. The manifest lists all files of a package except this one, DigestFile and
// itself.
const SignatureFile = "SIGNATURE"

// The errors of CheckSignature.
var (
	// ErrUnsigned: the package has no signature.
	ErrUnsigned = errors.New("report package is not signed")
	// ErrSignature: the signature does not match the package.
	ErrSignature = errors.New("signature of the report package is wrong")
)

// Signature is the ed25519 signature of a report package's Statement: the signer confirms that a run wrote the package.
type Signature struct {
	Key   string // id of the public key
	Value []byte
}

// Statement returns the text to sign for the package with a digest: the lines "burn conformance report signature 1" and "report
// sha256:HEX", each ended by a line feed. The digest is the SHA-256 of the manifest. The manifest contains the digests of all
// other files, the tested plugin, the time and the seeds.
func Statement(digest string) []byte {
	return fmt.Appendf(nil, "burn conformance report signature 1\nreport sha256:%s\n", digest)
}

func (s Signature) encode() []byte {
	return fmt.Appendf(nil, "key %s\nsignature %s\n", s.Key, base64.StdEncoding.EncodeToString(s.Value))
}

// parseSignature is the inverse of encode.
func parseSignature(text []byte) (*Signature, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 || lines[2] != "" {
		return nil, tampered("%s has %d lines, want 2", SignatureFile, len(lines)-1)
	}
	key, okKey := strings.CutPrefix(lines[0], "key ")
	value, okValue := strings.CutPrefix(lines[1], "signature ")
	data, err := base64.StdEncoding.DecodeString(value)
	if !okKey || !okValue || err != nil {
		return nil, tampered("%s, want a line with the key and one with the signature in base64", SignatureFile)
	}
	return &Signature{key, data}, nil
}

// CheckSignature checks the signature of a package that Verify has read, with verify, which looks up the public key of an id. It returns
// ErrUnsigned, or ErrSignature around the error of verify.
func (m *Manifest) CheckSignature(verify func(key string, statement, signature []byte) error) error {
	if m.Signature == nil {
		return fmt.Errorf("conformance: %w: nothing shows who made it", ErrUnsigned)
	}
	if err := verify(m.Signature.Key, Statement(m.Digest), m.Signature.Value); err != nil {
		return fmt.Errorf("conformance: %w: %w", ErrSignature, err)
	}
	return nil
}
