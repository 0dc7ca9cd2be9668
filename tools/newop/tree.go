package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// built lists folders of the root that hold build results, and no source.
var built = []string{".git", "bin", "dist", "burn_plugins", "runs"}

// copyTree copies the regular files of root to dir, without the folders in built.
func copyTree(dir, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(built, rel) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), data, 0o644)
	})
}

// snapshot maps the paths of the files of a tree, with slashes, to their contents.
type snapshot map[string][]byte

func read(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		s[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	return s, err
}

// changes returns the files that differ between two snapshots, in order.
func changes(before, after snapshot) []string {
	var l []string
	for name, data := range after {
		if old, ok := before[name]; !ok || !bytes.Equal(old, data) {
			l = append(l, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			l = append(l, name)
		}
	}
	slices.Sort(l)
	return l
}

// edit inserts text after the first occurrence of anchor in a file.
type edit struct {
	file, anchor, text string
}

func (e edit) apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(e.file))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	i := strings.Index(string(data), e.anchor)
	if i < 0 {
		return fmt.Errorf("%s has no %q", e.file, e.anchor)
	}
	i += len(e.anchor)
	return os.WriteFile(path, slices.Concat(data[:i], []byte(e.text), data[i:]), 0o644)
}
