package torch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Search describes where to search for torch.
type Search struct {
	Env  func(string) string // returns an environment variable
	Root string              // prefix of absolute paths of the system, for tests; "" is /
}

// DefaultSearch returns the search in the environment of this process.
func DefaultSearch() Search { return Search{Env: os.Getenv} }

// Place is a folder that contains libtorch_cpu, and the rule by which it was found.
type Place struct {
	Folder string
	By     string // the rule: LIBTORCH, VIRTUAL_ENV, CONDA_PREFIX, user or system
}

// Places returns the folders that contain torch, the preferred one first, and the folders that were searched without success. If the
// environment variable LIBTORCH is set, only the folder that it names is searched: an unpacked libtorch, its folder lib, or the folder
// torch of a Python package. No Python interpreter is started.
func (s Search) Places() (found []Place, looked []string) {
	try := func(folder, by string) {
		if !slices.Contains(looked, folder) {
			looked = append(looked, folder)
			if isFile(cpuLibrary(folder)) {
				found = append(found, Place{folder, by})
			}
		}
	}
	if p := s.Env("LIBTORCH"); p != "" {
		for _, sub := range []string{"lib", ".", "torch/lib", multiarch} {
			try(filepath.Join(p, filepath.FromSlash(sub)), "LIBTORCH")
		}
		for _, site := range sites(p) {
			try(filepath.Join(site, "torch", "lib"), "LIBTORCH")
		}
		return found, looked
	}
	prefix := func(p, by string) {
		for _, site := range sites(p) {
			try(filepath.Join(site, "torch", "lib"), by)
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if p := s.Env(name); p != "" {
			prefix(p, name)
			try(filepath.Join(p, "lib"), name) // conda-forge's libtorch
		}
	}
	if home := s.Env("HOME"); home != "" {
		prefix(filepath.Join(home, ".local"), "user")
	}
	for _, folder := range strings.Split(s.Env("PATH"), string(filepath.ListSeparator)) {
		if filepath.IsAbs(folder) && isFile(filepath.Join(folder, "python3")) {
			prefix(filepath.Dir(folder), "system")
		}
	}
	for _, p := range []string{"/usr", "/usr/local", "/opt/conda"} {
		prefix(filepath.Join(s.Root, p), "system")
	}
	for _, p := range []string{"/usr/local/libtorch/lib", "/opt/libtorch/lib", "/usr/" + multiarch} {
		try(filepath.Join(s.Root, p), "system")
	}
	return found, looked
}

// multiarch is the folder of libraries below a prefix on Debian.
var multiarch = "lib/" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "-linux-gnu"

// sites returns the folders of Python packages below a prefix. For each kind of folder, the newest Python comes first.
func sites(prefix string) []string {
	var all []string
	for _, pattern := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages"} {
		found, _ := filepath.Glob(filepath.Join(prefix, filepath.FromSlash(pattern))) // finds nothing below a prefix with special characters
		slices.SortFunc(found, func(a, b string) int {
			if len(a) != len(b) {
				return len(b) - len(a)
			}
			return strings.Compare(b, a)
		})
		all = append(all, found...)
	}
	return all
}

func isFile(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.Mode().IsRegular()
}

// Find returns the preferred place. If torch is in no folder, Find returns ErrMissing with a remedy.
func (s Search) Find() (Place, error) {
	found, looked := s.Places()
	if len(found) > 0 {
		return found[0], nil
	}
	if p := s.Env("LIBTORCH"); p != "" {
		return Place{}, fmt.Errorf("%w: LIBTORCH is %s, and there is no %s in it or in its lib", ErrMissing, p, libraries[0])
	}
	return Place{}, fmt.Errorf("%w: no %s in a Python environment or in %d folders that were looked at; pip install torch, "+
		"or set LIBTORCH to a folder of torch", ErrMissing, libraries[0], len(looked))
}
