package vendor

import (
	"path/filepath"
	"slices"
	"strings"
)

// wheels returns the folders in which Python packages of the vendor keep libraries: the folders of an active environment, of the user, of
// the distribution and of the interpreters on PATH, in this order. No interpreter is started.
func (s *Search) wheels() []string {
	var sites []string
	add := func(patterns ...string) {
		for _, pattern := range patterns {
			found, _ := filepath.Glob(pattern) // patterns are valid unless a folder has odd characters; such a folder is not found
			slices.SortFunc(found, func(a, b string) int { return compareNumbers(b, a) })
			for _, f := range found {
				if !slices.Contains(sites, f) {
					sites = append(sites, f)
				}
			}
		}
	}
	prefix := func(p string) {
		add(filepath.Join(p, "lib", "python3*", "site-packages"), filepath.Join(p, "lib64", "python3*", "site-packages"))
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if p := s.env(name); p != "" {
			prefix(p)
		}
	}
	if home := s.env("HOME"); home != "" {
		prefix(filepath.Join(home, ".local"))
	}
	add(s.rooted("/usr/lib/python3/dist-packages"))
	for _, folder := range strings.Split(s.env("PATH"), string(filepath.ListSeparator)) {
		if !filepath.IsAbs(folder) {
			continue
		}
		python, err := filepath.EvalSymlinks(filepath.Join(folder, "python3"))
		if err != nil {
			continue
		}
		for _, bin := range []string{folder, filepath.Dir(python)} { // the python3 of a virtual environment is a link to a file outside of it
			p := filepath.Dir(bin)
			prefix(p)
			add(filepath.Join(p, "lib", "python3*", "dist-packages"), filepath.Join(p, "lib", "python3", "dist-packages"))
		}
	}
	var found []string
	for _, site := range sites {
		for _, pattern := range s.Wheels {
			folders, _ := filepath.Glob(filepath.Join(site, filepath.FromSlash(pattern)))
			for _, f := range folders {
				if !slices.Contains(found, f) {
					found = append(found, f)
				}
			}
		}
	}
	return found
}
