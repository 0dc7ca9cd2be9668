package store

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// File is one of the files of an installed plugin.
type File struct {
	Path       string `toml:"path" json:"path"` // with slashes
	Size       int64  `toml:"size" json:"size"`
	Digest     string `toml:"digest" json:"digest"`
	Executable bool   `toml:"executable,omitempty" json:"executable,omitempty"`
}

// Tree returns the digest of files, which does not depend on the format of the archive. It is the sha256 of one line per file, in order of
// path: "x" if the file is executable or else "-", its digest, and its path.
func Tree(files []File) string {
	h := sha256.New()
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
		x := "-"
		if f.Executable {
			x = "x"
		}
		fmt.Fprintf(h, "%s %s %s\n", x, f.Digest, f.Path)
	}
	return digestOf(h.Sum(nil))
}

// scan hashes the regular files below dir, except the receipt. It returns an error for entries that are neither files nor folders.
// executable says which files are executable; nil: by their mode.
func scan(dir string, executable map[string]bool) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir(), rel == receiptName:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: %v, want a regular file: %w", p, d.Type(), ErrArchive)
		}
		f, err := openRegular(p)
		if err != nil {
			return err
		}
		defer f.Close()
		sum, n, err := digest(f)
		if err != nil {
			return err
		}
		x := executable[rel]
		if executable == nil {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			x = info.Mode()&0o100 != 0
		}
		files = append(files, File{rel, n, sum, x})
		return nil
	})
	return files, err
}
