package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host/internal/flock"
	"github.com/goburn/burn/host/internal/owner"
	"github.com/goburn/burn/internal/tomlfile"
)

// State contains burn's records in a store, which later commands use to detect changes and rollbacks. Locks and Mirrors belong to the
// store; Trusts and Folders belong to the user and are kept in UserDir.
type State struct {
	Locks   []KnownLock   `toml:"lock"`
	Mirrors []KnownMirror `toml:"mirror"`
	Trusts  []KnownTrust  `toml:"trust"`
	Folders []KnownFolder `toml:"folder"`
}

// KnownLock is a lock of a project that was used with the store.
type KnownLock struct {
	Path string `toml:"path"` // absolute
	// Installed means that the lock was used for an installation. The lock then admits its builds; otherwise it only protects versions from
	// removal.
	Installed bool `toml:"installed,omitempty"`
}

// KnownMirror describes the newest index of a mirror that was seen, signed with a key that is trusted for a namespace.
type KnownMirror struct {
	Base    string `toml:"base"`
	Space   string `toml:"namespace"` // HOST/NAMESPACE
	Counter int64  `toml:"counter"`
	Digest  string `toml:"digest"` // digest of the index
	Key     string `toml:"key"`    // id of the key that signed it
}

// KnownTrust is a trust file as `burn plugin trust` left it.
type KnownTrust struct {
	File   string `toml:"file"` // absolute
	Digest string `toml:"digest"`
}

// KnownFolder is a folder of plugins that the user allowed, with the content that it had then.
type KnownFolder struct {
	Path string `toml:"path"` // absolute, without links
	Tree string `toml:"tree"`
}

const (
	stateName     = ".state.toml"
	stateLockName = ".state.lock"
)

// ReadState reads the state of a store, which is empty if there is no file. It returns an error if other users can change the file.
func ReadState(dir string) (*State, error) {
	st := &State{}
	if dir == "" {
		return st, nil
	}
	path := filepath.Join(dir, stateName)
	text, err := read(tomlfile.State, path)
	if errors.Is(err, os.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	if err := guarded(path); err != nil {
		return nil, err
	}
	if err := decode(tomlfile.State, text, st); err != nil {
		return nil, refuse(ErrFormat, "remove the file; burn then asks again for the permissions in it", "state %s: %v", path, err)
	}
	return st, nil
}

// guarded returns an error if other users can change a file that decides which plugins may run.
func guarded(path string) error {
	err := owner.Check(path)
	if errors.Is(err, owner.ErrForeign) {
		return refuse(ErrForeign, "check its content, then make yourself the only owner: chown and chmod go-w, for the file and its folder", "%v", err)
	}
	return err
}

// UpdateState changes the state of a store. Concurrent updates wait for each other.
func UpdateState(ctx context.Context, dir string, change func(*State)) error {
	if dir == "" {
		return fmt.Errorf("state: the system names no folder for data of this user: %w", ErrNotFound)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	l, err := flock.Take(ctx, filepath.Join(dir, stateLockName), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	st, err := ReadState(dir)
	if err != nil {
		return err
	}
	before, err := st.encode()
	if err != nil {
		return err
	}
	change(st)
	after, err := st.encode()
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return writeFile(filepath.Join(dir, stateName), after, 0o644) // in a store of the administrator, other users read it too
}

func (st *State) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# What burn remembers. Written by burn.\n\n")
	err := toml.NewEncoder(&b).Encode(st)
	return b.Bytes(), err
}
