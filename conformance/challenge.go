package conformance

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Challenge determines the seeds of a certification. A backend cannot contain a table of the expected results: the examiner chooses the
// nonce after the backend was built, and a backend with such a table added has another content digest and therefore other seeds.
type Challenge struct {
	// Nonce is one line of text that the examiner chooses anew for each certification; see NewNonce.
	Nonce string `json:"nonce"`
	// Content is the digest of all code that runs, sha256:HEX: Plugin.Content.
	Content string `json:"content"`
	// Seeds is the number of seeds; 0 means 3.
	Seeds int `json:"seeds"`
}

const (
	defaultSeeds = 3
	maxSeeds     = 64
	maxNonce     = 200 // bytes
)

// NewNonce returns 32 random hex digits.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}

// check sets defaults in c and returns an error if it is invalid.
func (c *Challenge) check() error {
	if c.Seeds == 0 {
		c.Seeds = defaultSeeds
	}
	switch {
	case c.Nonce == "" || len(c.Nonce) > maxNonce || strings.ContainsAny(c.Nonce, "\r\n"):
		return fmt.Errorf("conformance: challenge: nonce %q, want one line of 1 to %d bytes", c.Nonce, maxNonce)
	case c.Content == "" || strings.ContainsAny(c.Content, "\r\n"):
		return errors.New("conformance: challenge: the content of the backend is not known")
	case c.Seeds < 1 || c.Seeds > maxSeeds:
		return fmt.Errorf("conformance: challenge: %d seeds, want 1 to %d", c.Seeds, maxSeeds)
	}
	return nil
}

// Derive returns the seeds: number i, counted from 1, is the first 8 bytes (big endian) of the SHA-256 of the lines "burn conformance
// challenge 1", "nonce NONCE", "content CONTENT" and "seed I", each ended by a line feed. A seed of 0 is replaced by 1.
func (c Challenge) Derive() []uint64 {
	seeds := make([]uint64, c.Seeds)
	for i := range seeds {
		h := sha256.Sum256(fmt.Appendf(nil, "burn conformance challenge 1\nnonce %s\ncontent %s\nseed %d\n", c.Nonce, c.Content, i+1))
		seeds[i] = max(1, binary.BigEndian.Uint64(h[:]))
	}
	return seeds
}

// seedsOf returns the seeds of a run: the seeds derived from o.Challenge, or o.Seed. It replaces o.Challenge by a copy with its defaults set.
func (o *Options) seedsOf() ([]uint64, error) {
	if o.seeds != nil {
		return o.seeds, nil
	}
	if o.Challenge == nil {
		return []uint64{max(1, o.Seed)}, nil
	}
	if o.Seed != 0 {
		return nil, errors.New("conformance: a seed and a challenge are given, want one of the two")
	}
	c := *o.Challenge
	if err := c.check(); err != nil {
		return nil, err
	}
	o.Challenge = &c
	return c.Derive(), nil
}
