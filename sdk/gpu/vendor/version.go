package vendor

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loaderFolders are the folders that the loader searches on most systems, besides those in LD_LIBRARY_PATH.
var loaderFolders = []string{"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}

// newestFirst orders candidates by the versions in their file names, within each major version. Bare names come first, files whose version
// is not known last.
func (s *Search) newestFirst(candidates []string, k *Library) {
	type ranked struct {
		path, version string
		major, known  int
	}
	all := make([]ranked, len(candidates))
	for i, path := range candidates {
		r := ranked{path: path, version: s.version(path, k), major: slices.Index(k.Sonames, filepath.Base(path)), known: 1}
		switch {
		case r.version == "" && filepath.IsAbs(path):
			r.known = 2
		case r.version == "":
			r.known = 0
		}
		all[i] = r
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.known, b.known), compareNumbers(b.version, a.version))
	})
	for i := range all {
		candidates[i] = all[i].path
	}
}

// version returns the version of a library as far as it is visible without loading the library: in the name of the file behind a link, as
// in libcudnn.so.9.14.0, or in the name of its Python package, as in nvidia_cudnn_cu13-9.19.0.56.dist-info.
func (s *Search) version(path string, k *Library) string {
	if !filepath.IsAbs(path) {
		if path = s.loaderFinds(path); path == "" {
			return ""
		}
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if _, version, _ := strings.Cut(filepath.Base(file), ".so."); strings.Contains(version, ".") {
		return version
	}
	site := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path)))) // SITE/nvidia/PART/lib/FILE
	packages, _ := filepath.Glob(filepath.Join(site, k.Wheel+"*.dist-info"))
	newest := ""
	for _, p := range packages {
		_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(p), ".dist-info"), "-")
		if compareNumbers(version, newest) > 0 {
			newest = version
		}
	}
	return newest
}

// loaderFinds returns the file that the loader opens for a name, or "" if the file is not in loaderFolders, or if LD_LIBRARY_PATH has a
// file of that name.
func (s *Search) loaderFinds(name string) string {
	for _, f := range filepath.SplitList(s.env("LD_LIBRARY_PATH")) {
		if isFile(filepath.Join(f, name)) {
			return ""
		}
	}
	for _, f := range loaderFolders {
		if path := filepath.Join(s.rooted(f), name); isFile(path) {
			return path
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
