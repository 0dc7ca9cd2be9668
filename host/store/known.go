package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ownLock returns the path of the lock of a store itself.
func ownLock(dir string) string { return filepath.Join(dir, LockName) }

// samePath reports whether two paths name the same file.
func samePath(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// KnowLock records that a lock is used with the store: its versions are not removed while it exists. It drops the records of locks that no
// longer exist. installed means that the lock was used for an installation.
func KnowLock(ctx context.Context, dir, path string, installed bool) error {
	path, err := filepath.Abs(path)
	if err != nil || samePath(path, ownLock(dir)) {
		return err
	}
	return UpdateState(ctx, dir, func(st *State) {
		st.Locks = slices.DeleteFunc(st.Locks, func(k KnownLock) bool {
			_, err := os.Stat(k.Path)
			return errors.Is(err, os.ErrNotExist)
		})
		i := slices.IndexFunc(st.Locks, func(k KnownLock) bool { return k.Path == path })
		if i < 0 {
			st.Locks = append(st.Locks, KnownLock{Path: path})
			i = len(st.Locks) - 1
		}
		st.Locks[i].Installed = st.Locks[i].Installed || installed
	})
}

// holders returns, for each version of a plugin, a lock that contains it: the lock of another project if such a lock contains it, else the
// lock of the store, else the lock in force. A lock of another project that does not exist or cannot be read counts as empty; the store's
// lock and the lock in force must be readable.
func (s *Store) holders(a Address) (map[string]string, error) {
	st, err := ReadState(s.Dir)
	if err != nil {
		return nil, err
	}
	own, err := ReadLock(ownLock(s.Dir))
	if err != nil {
		return nil, err
	}
	held := map[string]string{}
	add := func(l *Lock) {
		if e := l.Find(a); e != nil && held[e.Version] == "" {
			held[e.Version] = l.File
		}
	}
	for _, k := range st.Locks {
		if l, err := ReadLock(k.Path); err == nil && !samePath(k.Path, s.LockFile) {
			add(l)
		}
	}
	add(own)
	l, err := ReadLock(s.LockFile)
	if err != nil {
		return nil, err
	}
	add(l)
	return held, nil
}

// noted bounds the wait for the state when an update is optional.
const noted = time.Second
