package sealed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of the files that are copied with a program that searches libraries beside itself.
const (
	maxBeside      = 1024
	maxBesideBytes = 8 << 30
)

// beside copies src with the regular files of its folder and of the folders below it that origins name. The hashes of these files
// are not known.
func beside(src *os.File, path, want string, origins []string) (*File, error) {
	dir, base := filepath.Split(path)
	items := []Item{{Path: base, SHA256: want, Size: -1, Executable: true}}
	total := int64(0)
	for _, o := range append([]string{""}, origins...) {
		local := filepath.Clean(filepath.FromSlash(o))
		if !filepath.IsLocal(local) {
			return nil, fmt.Errorf("%s: %w: $ORIGIN/%s", path, ErrOutside, o)
		}
		entries, err := os.ReadDir(filepath.Join(dir, local))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(local, e.Name()))
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(items, func(it Item) bool { return it.Path == name }) ||
				local == "." && strings.HasPrefix(name, "burn-backend-") { // another plugin
				continue
			}
			items = append(items, Item{Path: name, Size: info.Size(), Executable: info.Mode()&0o100 != 0})
			if total += info.Size(); len(items) > maxBeside || total > maxBesideBytes {
				return nil, fmt.Errorf("%s looks for libraries beside itself, and its folder has more than %d files or %d bytes: give it a folder of its own",
					path, maxBeside, int64(maxBesideBytes))
			}
		}
	}
	return Tree(dir, base, items)
}
