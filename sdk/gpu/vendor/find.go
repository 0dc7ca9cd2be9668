package vendor

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Find loads the first candidate that try accepts, and sets row to the result. If try returns a version together with an error, the
// library works but there is no hardware for it: the search ends, and the row contains both.
func (s *Search) Find(k *Library, row *Row, try func(handle uintptr) (version string, err error)) {
	*row = Row{Key: k.Key, Library: k.Name, Lost: k.Lost, Install: k.Install}
	if s.hidden(k.Key) {
		row.Err = fmt.Errorf("%w: hidden by %s", ErrMissing, s.HideBy)
		return
	}
	for _, candidate := range s.Candidates(k) {
		if s.Trying != nil {
			if why := s.Trying(candidate); why != "" {
				row.Refused = append(row.Refused, fmt.Sprintf("%s: %s", candidate, why))
				continue
			}
		}
		handle, err := Load(candidate)
		if err != nil {
			if filepath.IsAbs(candidate) {
				row.Refused = append(row.Refused, fmt.Sprintf("%s: %v", candidate, err))
			}
			continue
		}
		path := candidate
		if !filepath.IsAbs(path) {
			path = loadedPath(candidate)
		}
		version, err := try(handle)
		if err == nil {
			row.Path, row.Version = path, version
			return
		}
		if version != "" { // the library works, but the hardware for it is missing
			row.Path, row.Version, row.Err = path, version, err
			return
		}
		row.Refused = append(row.Refused, fmt.Sprintf("%s: %v", path, err))
		if !k.System && !k.Stays {
			Unload(handle)
		}
	}
	if row.Refused != nil {
		row.Err = fmt.Errorf("%w: %d found and none usable", ErrMissing, len(row.Refused))
		return
	}
	row.Err = fmt.Errorf("%w: no %s", ErrMissing, strings.Join(k.Sonames, " or "))
}

// loadedPath returns the path of a library that this process has mapped, or its name if the system does not report the path.
func loadedPath(name string) string {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return name
	}
	defer f.Close()
	stem, _, _ := strings.Cut(name, ".so")
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if _, path, ok := strings.Cut(lines.Text(), "/"); ok && strings.HasPrefix(filepath.Base(path), stem+".so") {
			return "/" + path
		}
	}
	return name
}
