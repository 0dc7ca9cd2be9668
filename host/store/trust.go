package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/internal/tomlfile"
)

// Key is a public key that a user knows.
type Key struct {
	ID         string    `toml:"id" json:"id"`
	Public     string    `toml:"public" json:"public"` // in the format of a public key file
	Owner      string    `toml:"owner,omitempty" json:"owner,omitempty"`
	Namespaces []string  `toml:"namespaces" json:"namespaces"` // HOST/NAMESPACE, HOST/*, or *
	Expires    time.Time `toml:"expires,omitempty" json:"expires,omitzero"`
	Revoked    string    `toml:"revoked,omitempty" json:"revoked,omitempty"` // the reason
}

// Trust is the content of a trust file.
type Trust struct {
	File string `toml:"-" json:"file"`
	Keys []Key  `toml:"key" json:"keys"`
}

// TrustFile returns the path of this user's trust file: trust.toml in the folder burn of the configuration directory.
func TrustFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("trust file: %w", err)
	}
	return filepath.Join(dir, "burn", "trust.toml"), nil
}

// OpenTrust is like ReadTrust, for decisions about trust: it refuses a file that other users can change, and a file that is missing or
// differs from what Write or Accept recorded.
func OpenTrust(path string) (*Trust, error) {
	st, err := ReadState(UserDir())
	if err != nil {
		return nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	digest := noTrust
	switch text, err := read(tomlfile.Trust, path); {
	case err == nil:
		digest = digestBytes(text)
		if err := guarded(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	for _, k := range st.Trusts {
		if k.File != path || k.Digest == digest {
			continue
		}
		remedy := "see which keys it has now with `burn plugin trust`; if they are right, run `burn plugin trust --accept`"
		if digest == noTrust {
			return nil, refuse(ErrUntrusted, remedy, "trust file %s is missing", path)
		}
		return nil, refuse(ErrUntrusted, remedy, "trust file %s: %v", path, ErrChanged)
	}
	return ReadTrust(path)
}

// noTrust replaces the digest of a trust file that does not exist.
const noTrust = "none"

// Accept records the current trust file, so that OpenTrust accepts it.
func (t *Trust) Accept() error {
	path, err := filepath.Abs(t.File)
	if err != nil {
		return err
	}
	digest := noTrust
	switch text, err := read(tomlfile.Trust, path); {
	case err == nil:
		digest = digestBytes(text)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	dir := UserDir()
	if dir == "" { // a system without folders for data has no records
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return UpdateState(ctx, dir, func(st *State) {
		st.Trusts = slices.DeleteFunc(st.Trusts, func(k KnownTrust) bool { return k.File == path })
		st.Trusts = append(st.Trusts, KnownTrust{path, digest})
	})
}

// ReadTrust reads a trust file. If the file does not exist, no key is trusted.
func ReadTrust(path string) (*Trust, error) {
	t := &Trust{File: path}
	text, err := read(tomlfile.Trust, path)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	if err := decode(tomlfile.Trust, text, t); err != nil {
		return nil, fmt.Errorf("trust file %s: %w", path, err)
	}
	for i := range t.Keys {
		if err := t.Keys[i].check(); err != nil {
			return nil, fmt.Errorf("trust file %s: %w", path, err)
		}
		if slices.ContainsFunc(t.Keys[:i], func(k Key) bool { return k.ID == t.Keys[i].ID }) {
			return nil, fmt.Errorf("trust file %s: key %s is listed twice: %w", path, t.Keys[i].ID, ErrFormat)
		}
	}
	return t, nil
}

func (k *Key) check() error {
	p, err := ParsePublicKey(k.Public)
	if err != nil {
		return err
	}
	if k.ID != p.ID() {
		return fmt.Errorf("key %q: its public key has the id %s: %w", k.ID, p.ID(), ErrFormat)
	}
	for _, n := range k.Namespaces {
		if err := checkPattern(n); err != nil {
			return fmt.Errorf("key %s: %w", k.ID, err)
		}
	}
	return nil
}

func checkPattern(p string) error {
	h, ns, ok := strings.Cut(p, "/")
	if p == "*" || ok && hostForm.MatchString(h) && (ns == "*" || nameForm.MatchString(ns)) {
		return nil
	}
	return fmt.Errorf("namespace: got %q, want HOST/NAMESPACE, HOST/* or *: %w", p, ErrFormat)
}

func (k *Key) allows(a Address) bool {
	return slices.ContainsFunc(k.Namespaces, func(p string) bool {
		return p == "*" || p == a.Space() || p == a.Host+"/*"
	})
}

// State returns the state of a key: "trusted", "expired" or "revoked".
func (k *Key) State(now time.Time) string {
	switch {
	case k.Revoked != "":
		return "revoked"
	case !k.Expires.IsZero() && now.After(k.Expires):
		return "expired"
	}
	return "trusted"
}

// Find returns the key with an id, or nil if there is no such key.
func (t *Trust) Find(id string) *Key {
	for i := range t.Keys {
		if t.Keys[i].ID == id {
			return &t.Keys[i]
		}
	}
	return nil
}

// Check returns an error unless the signature was made with a key that is trusted for the plugin's namespace.
func (t *Trust) Check(s *Signature, now time.Time) error {
	id, err := s.ID()
	if err != nil {
		return err
	}
	p, err := t.Key(s.Key, id.Address, id.String(), now)
	if err != nil {
		return err
	}
	return p.Verify(s)
}

// Key returns the public key with an id, or an error unless it is trusted for the namespace of a. what names the signed object, for the
// message.
func (t *Trust) Key(key string, a Address, what string, now time.Time) (PublicKey, error) {
	k := t.Find(key)
	switch {
	case k == nil:
		return PublicKey{}, refuse(ErrUntrusted, "if you trust the maker, get the public key from a place you trust and run `burn plugin trust FILE.pub --namespace "+
			a.Space()+"`", "%s is signed with key %s, which is not in %s", what, key, t.File)
	case k.State(now) == "revoked":
		return PublicKey{}, refuse(ErrUntrusted, "install a version that is signed with another key", "%s is signed with key %s, which was revoked: %s", what, key, k.Revoked)
	case k.State(now) == "expired":
		return PublicKey{}, refuse(ErrUntrusted, "ask "+orText(k.Owner, "the maker")+" for a new key or signature, and add it with `burn plugin trust`",
			"%s is signed with key %s, which expired on %s", what, key, k.Expires.Format(time.DateOnly))
	case !k.allows(a):
		return PublicKey{}, refuse(ErrUntrusted, "if that is right, run `burn plugin trust FILE.pub --namespace "+a.Space()+"`",
			"%s is signed with key %s, which is trusted for %s", what, key, strings.Join(k.Namespaces, ", "))
	}
	return ParsePublicKey(k.Public)
}

// Add adds a key. If the key is known, Add adds the namespaces of k to it, and replaces its owner and date of expiry if k sets them. A
// revoked key stays revoked.
func (t *Trust) Add(k Key) error {
	if err := k.check(); err != nil {
		return err
	}
	old := t.Find(k.ID)
	if old == nil {
		t.Keys = append(t.Keys, k)
		return nil
	}
	for _, n := range k.Namespaces {
		if !slices.Contains(old.Namespaces, n) {
			old.Namespaces = append(old.Namespaces, n)
		}
	}
	old.Owner = orText(k.Owner, old.Owner)
	if !k.Expires.IsZero() {
		old.Expires = k.Expires
	}
	return nil
}

// Write replaces the trust file, and records it for OpenTrust.
func (t *Trust) Write() error {
	var b bytes.Buffer
	b.WriteString("# Keys whose plugins may be installed. See: burn plugin trust --help\n\n")
	if err := toml.NewEncoder(&b).Encode(t); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.File), 0o700); err != nil {
		return err
	}
	if err := writeFile(t.File, b.Bytes(), 0o600); err != nil {
		return err
	}
	return t.Accept()
}

func orText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
