package store

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/goburn/burn/internal/tomlfile"
)

// The first words of key files, which hold one line: the word and the key in base64.
const (
	privateWord = "burn-private-key-1"
	publicWord  = "burn-public-key-1"
)

// PrivateKey signs archives.
type PrivateKey struct{ key ed25519.PrivateKey }

// PublicKey checks signatures.
type PublicKey struct{ key ed25519.PublicKey }

// GenerateKey returns a key from the system's random numbers.
func GenerateKey() (PrivateKey, error) {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	return PrivateKey{k}, err
}

// Public returns the public key.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.key.Public().(ed25519.PublicKey)} }

// ID returns the short name of a key: the first 16 hex digits of the sha256 of its bytes.
func (k PublicKey) ID() string {
	h := sha256.Sum256(k.key)
	return hex.EncodeToString(h[:8])
}

// String returns the content of a public key file, without the end of line.
func (k PublicKey) String() string {
	return publicWord + " " + base64.StdEncoding.EncodeToString(k.key)
}

// ParsePublicKey parses the result of String, or only the base64.
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, privateWord) {
		return PublicKey{}, fmt.Errorf("public key: this is a private key, want the file with .pub: %w", ErrFormat)
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, publicWord))
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return PublicKey{}, fmt.Errorf("public key: got %.60q, want %q and %d bytes in base64: %w", text, publicWord, ed25519.PublicKeySize, ErrFormat)
	}
	return PublicKey{b}, nil
}

// ReadPublicKey reads a public key file.
func ReadPublicKey(path string) (PublicKey, error) {
	b, err := read(tomlfile.Signature, path)
	if err != nil {
		return PublicKey{}, err
	}
	k, err := ParsePublicKey(string(b))
	if err != nil {
		return k, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// ReadPrivateKey reads a private key file, which must not be readable by other users.
func ReadPrivateKey(path string) (PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return PrivateKey{}, err
	}
	if _, err := ReadPublicKey(path); err == nil {
		return PrivateKey{}, refuse(ErrFormat, "name the file of the private key: burn plugin keygen writes the two as NAME and NAME.pub", "private key %s: it holds a public key", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return PrivateKey{}, refuse(ErrFormat, "run chmod 600 "+path, "private key %s: mode %v lets others read it, want 0600", path, info.Mode().Perm())
	}
	b, err := read(tomlfile.Signature, path)
	if err != nil {
		return PrivateKey{}, err
	}
	word, text, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if word != privateWord || err != nil || len(seed) != ed25519.SeedSize {
		return PrivateKey{}, fmt.Errorf("private key %s: want %q and %d bytes in base64: %w", path, privateWord, ed25519.SeedSize, ErrFormat)
	}
	return PrivateKey{ed25519.NewKeyFromSeed(seed)}, nil
}

// Write creates path and path.pub. It overwrites no file.
func (k PrivateKey) Write(path string) error {
	line := privateWord + " " + base64.StdEncoding.EncodeToString(k.key.Seed()) + "\n"
	if err := writeNew(path, line, 0o600); err != nil {
		return err
	}
	if err := writeNew(path+".pub", k.Public().String()+"\n", 0o644); err != nil {
		_ = os.Remove(path)
		return err
	}
	return nil
}

func writeNew(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		_ = os.Remove(path)
		return err
	}
	return f.Close()
}
