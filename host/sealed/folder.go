package sealed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/host/internal/flock"
)

const (
	folderPrefix = "burn-exec-"
	lockName     = "lock"
	contentName  = "content"
	// sweepAge is the age below which the sweep keeps a folder, because another process may still be creating it.
	sweepAge = 10 * time.Second
)

// folder is a folder for checked copies that only this user may enter. It is locked while it is in use: if it can be locked by another
// process, its owner is dead.
type folder struct {
	dir  string
	lock *os.File
}

// newFolder returns a folder, and removes the folders that dead processes of this user left.
func newFolder() (*folder, error) {
	base, err := execBase()
	if err != nil {
		return nil, err
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, folderPrefix) // mode 0700
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir}
	ctx, cancel := context.WithTimeout(context.Background(), sweepAge)
	defer cancel()
	if f.lock, err = flock.Take(ctx, filepath.Join(dir, lockName), nil); err == nil {
		err = os.Mkdir(f.content(), 0o700)
	}
	if err != nil {
		_ = f.remove()
		return nil, fmt.Errorf("private folder for checked copies: %w", err)
	}
	return f, nil
}

func (f *folder) content() string { return filepath.Join(f.dir, contentName) }

// remove releases the lock first, because Windows does not remove open files.
func (f *folder) remove() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// execBase returns the folder for temporary files or, if programs cannot be executed from it, the folder for cached files.
func execBase() (string, error) {
	tried := []string{os.TempDir()}
	if !noExec(tried[0]) {
		return tried[0], nil
	}
	if cache, err := os.UserCacheDir(); err == nil {
		tried = append(tried, cache)
		if err := os.MkdirAll(cache, 0o700); err == nil && !noExec(cache) {
			return cache, nil
		}
	}
	return "", fmt.Errorf("checked copies of plugins need a folder that programs can be executed from, and %s is mounted noexec: set TMPDIR to another",
		strings.Join(tried, ", like "))
}

// sweep removes the folders of dead processes of this user. Files of other users in a shared folder are neither locked nor
// removed.
func sweep(base string) {
	dirs, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, d := range dirs {
		if !d.IsDir() || !strings.HasPrefix(d.Name(), folderPrefix) {
			continue
		}
		info, err := d.Info()
		if err != nil || !ownFile(info) || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		dir := filepath.Join(base, d.Name())
		f, err := flock.Open(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		free, err := flock.Try(f)
		f.Close()
		if free && err == nil {
			_ = os.RemoveAll(dir)
		}
	}
}
