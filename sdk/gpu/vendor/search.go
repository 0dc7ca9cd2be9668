package vendor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Library describes one of a vendor's libraries.
type Library struct {
	Key, Name string   // Row.Key and Row.Library
	Sonames   []string // the newest major version first
	System    bool     // part of the driver: only the loader and Places.System are searched, and the library stays loaded, because it has started threads
	Stays     bool     // stays loaded once it was loaded
	Wheel     string   // prefix of the names of Python packages that contain the library; set if the newest version is tried first
	Lost      string   // as in Row
	Install   string   // as in Row
}

// Places lists where a vendor's libraries are installed.
type Places struct {
	HideBy    string   // the variable of the environment that lists libraries to treat as missing
	Homes     []string // variables of the environment that name the folder of an installation
	Folders   []string // folders of libraries below the folders that Homes name
	Installed []string // patterns of folders of libraries in installations of the system
	System    []string // folders that are searched besides the folders of the loader, for libraries for which Library.System is set
	Wheels    []string // patterns of folders of libraries in folders of Python packages
}

// Search describes where to search for libraries. With the zero value, only the loader searches; DefaultSearch reads the environment.
type Search struct {
	Places
	Env  func(string) string // the environment; nil is empty
	Root string              // put before absolute paths of the system, for tests; "" is /
	Data string              // burn's own folder of libraries, searched last
	Hide []string            // keys of libraries that are treated as missing
	// Closed excludes the loader: Candidates returns only paths of files. With Root as well, a search finds only the files of another
	// system.
	Closed bool
	// Only, if not empty, is the only folder that is searched; the loader is not used.
	Only string
	// Trying, if it is set, is called before a candidate is loaded. If it returns a text that is not empty, the candidate is not loaded,
	// and the text is the reason.
	Trying func(candidate string) (refused string)
}

// DefaultSearch returns the search in the environment of this process.
func DefaultSearch(p Places) Search {
	s := Search{Places: p, Env: os.Getenv, Data: dataFolder(os.Getenv)}
	for _, name := range strings.Split(os.Getenv(p.HideBy), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			s.Hide = append(s.Hide, name)
		}
	}
	return s
}

// dataFolder returns the folder of this user in which burn keeps libraries.
func dataFolder(env func(string) string) string {
	if d := env("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "burn", "lib")
	}
	if h := env("HOME"); filepath.IsAbs(h) {
		return filepath.Join(h, ".local", "share", "burn", "lib")
	}
	return ""
}

func (s *Search) env(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}

func (s *Search) rooted(path string) string {
	if s.Root == "" {
		return path
	}
	return filepath.Join(s.Root, path)
}

func (s *Search) hidden(key string) bool { return slices.Contains(s.Hide, key) }

// Candidates returns the files to try for a library, in order: absolute paths of files that exist, and bare names, which the loader
// resolves. Files in folders that the user names come first; for a library with Wheel set, the rest is sorted with the newest version
// first.
func (s *Search) Candidates(k *Library) (found []string) {
	names := k.Sonames
	in := func(folder string) {
		if folder == "" {
			return
		}
		for _, name := range names {
			path := filepath.Join(folder, name)
			if isFile(path) && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	if s.Only != "" {
		in(s.Only)
		return found
	}
	if s.Closed {
		defer func() { found = slices.DeleteFunc(found, func(c string) bool { return !filepath.IsAbs(c) }) }()
	}
	if k.System {
		found = append(found, names...)
		for _, folder := range append(slices.Clone(s.System), loaderFolders...) {
			in(s.rooted(folder))
		}
		return found
	}
	for _, name := range s.Homes {
		if home := s.env(name); home != "" {
			for _, folder := range s.Folders {
				in(filepath.Join(home, folder))
			}
		}
	}
	named := len(found)
	found = append(found, names...)
	for _, folder := range s.installed() {
		in(folder)
	}
	for _, folder := range s.wheels() {
		in(folder)
	}
	in(s.Data)
	if k.Wheel != "" {
		s.newestFirst(found[named:], k)
	}
	return found
}

// installed returns the folders of libraries of the system's installations: for each pattern, first the folder without a version, which
// links to the chosen version, then the folders with a version, the newest first.
func (s *Search) installed() []string {
	var all []string
	for _, pattern := range s.Installed {
		found, _ := filepath.Glob(s.rooted(pattern)) // the patterns are valid
		slices.SortFunc(found, func(a, b string) int { return compareNumbers(b, a) })
		all = append(all, found...)
	}
	return all
}

// compareNumbers orders strings as people do: numbers in them by their value.
func compareNumbers(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns the number of decimal digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
