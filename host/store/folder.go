package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of a folder of plugins that is not a store.
const (
	maxFolderFiles = 4096
	maxFolderBytes = 8 << 30
)

// HashFolder hashes the regular files in and below dir, including links to files. It ignores other entries, and returns an error if the
// folder is too large.
func HashFolder(dir string) ([]File, error) {
	var files []File
	total := int64(0)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a broken link or a pipe
		}
		if total += info.Size(); len(files) >= maxFolderFiles || total > maxFolderBytes {
			return fmt.Errorf("%s: more than %d files or %d bytes: %w", dir, maxFolderFiles, int64(maxFolderBytes), ErrFormat)
		}
		f, err := HashFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		f.Path = filepath.ToSlash(rel)
		files = append(files, f)
		return err
	})
	return files, err
}

// HashFile hashes a regular file. Its path in the result is its name.
func HashFile(path string) (File, error) {
	f, err := openRegular(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	sum, n, err := digest(f)
	return File{filepath.Base(path), n, sum, info.Mode()&0o100 != 0}, err
}

// AllowedFolder returns the files of a folder of plugins that the user allowed, or nil if the folder is not allowed. changed means that the
// user allowed it, but its content has changed since.
func AllowedFolder(dir string) (files []File, changed bool, err error) {
	st, err := ReadState(UserDir())
	if err != nil {
		return nil, false, err
	}
	real, err := realPath(dir)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(st.Folders, func(k KnownFolder) bool { return k.Path == real })
	if i < 0 {
		return nil, false, nil
	}
	if files, err = HashFolder(real); err != nil {
		return nil, false, err
	}
	if Tree(files) != st.Folders[i].Tree {
		return nil, true, nil
	}
	return files, false, nil
}

// AllowFolder records that the user allows the plugins in a folder, with the content whose digest is tree (see Tree). It removes the
// records of folders that no longer exist.
func AllowFolder(ctx context.Context, dir, tree string) error {
	real, err := realPath(dir)
	if err != nil {
		return err
	}
	return UpdateState(ctx, UserDir(), func(st *State) {
		st.Folders = slices.DeleteFunc(st.Folders, func(k KnownFolder) bool {
			_, err := os.Stat(k.Path)
			return k.Path == real || errors.Is(err, os.ErrNotExist)
		})
		st.Folders = append(st.Folders, KnownFolder{real, tree})
	})
}

// ForgetFolder revokes the permission for a folder, and reports whether the folder was allowed.
func ForgetFolder(ctx context.Context, dir string) (was bool, err error) {
	real, err := realPath(dir)
	if errors.Is(err, os.ErrNotExist) {
		real, err = filepath.Abs(dir)
	}
	if err != nil {
		return false, err
	}
	err = UpdateState(ctx, UserDir(), func(st *State) {
		n := len(st.Folders)
		st.Folders = slices.DeleteFunc(st.Folders, func(k KnownFolder) bool { return k.Path == real })
		was = len(st.Folders) < n
	})
	return was, err
}

func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
