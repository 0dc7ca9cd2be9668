package store

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	partForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9 _.+@=,()~-]*$`)
	reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)
)

// names checks the entries of an archive, which must not collide on any file system.
type names struct {
	limits Limits
	seen   map[string]bool // whether an entry is a folder; keys: its name in lower case, and "=" followed by its exact name
	count  int
}

// add checks the name of an entry and returns it without a trailing slash.
func (n *names) add(name string, dir bool) (string, error) {
	clean := strings.TrimPrefix(name, "./")
	if dir {
		clean = strings.TrimSuffix(clean, "/")
	}
	if dir && (clean == "" || clean == ".") {
		return ".", nil
	}
	if len(clean) > 240 {
		return "", badArchive("archive: a name of %d characters, want at most 240", len(clean))
	}
	parts := strings.Split(clean, "/")
	if strings.HasPrefix(clean, "/") || slices.Contains(parts, "..") {
		return "", badArchive("archive: entry %q leads out of the folder", name)
	}
	for _, p := range parts {
		if !partForm.MatchString(p) || reserved.MatchString(p) || strings.HasSuffix(p, ".") || strings.HasSuffix(p, " ") {
			return "", badArchive("archive: entry %q, want names that every system can have: letters, digits and some of _ . + @ = , ( ) ~ -", name)
		}
	}
	if len(parts) > n.limits.Depth {
		return "", badArchive("archive: the path of entry %q has %d elements, want at most %d", name, len(parts), n.limits.Depth)
	}
	for i := 1; i < len(parts); i++ {
		parent := strings.Join(parts[:i], "/")
		if err := n.enter(parent, true); err != nil {
			return "", err
		}
	}
	return clean, n.enter(clean, dir)
}

// enter records a name, and returns an error if the name collides with an earlier name. Folders may occur repeatedly.
func (n *names) enter(name string, dir bool) error {
	key := strings.ToLower(name)
	was, ok := n.seen[key]
	switch {
	case ok && was && dir && n.seen["="+name]:
		return nil
	case ok && n.seen["="+name]:
		return badArchive("archive: entry %q is there twice", name)
	case ok:
		return badArchive("archive: entry %q differs from another by upper and lower case alone", name)
	}
	if n.count++; n.count > n.limits.Files {
		return badArchive("archive: more than %d files and folders", n.limits.Files)
	}
	n.seen[key], n.seen["="+name] = dir, true
	if base := path.Base(name); !dir && base != name && strings.HasPrefix(strings.ToLower(base), filePrefix) {
		return badArchive("archive: %q lies in a folder, want plugins and manifests at the top", name)
	}
	return nil
}
