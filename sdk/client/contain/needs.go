package contain

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Needs are the permissions that a plugin requests beyond the default rules: the section [needs] of its manifest.
type Needs struct {
	// Network allows the plugin to open and accept connections of all kinds, also to sockets of other programs of this user.
	Network bool `toml:"network,omitempty" json:"network,omitempty"`
	// Devices are patterns of path.Match for the device files below /dev that the plugin may use: "/dev/nvidia*".
	Devices []string `toml:"devices,omitempty" json:"devices,omitempty"`
	// Read lists files and folders that the plugin may read and execute. Write lists files and folders that it may read, change and create.
	// A folder includes everything below it. Each path is absolute or begins with "~/", the user's folder. A folder in Write whose name
	// ends in "/" is created if it is missing.
	Read  []string `toml:"read,omitempty" json:"read,omitempty"`
	Write []string `toml:"write,omitempty" json:"write,omitempty"`
	// Env lists further variables of the host's environment that the plugin sees, by name, or by a prefix followed by *: "ACME_*".
	Env []string `toml:"env,omitempty" json:"env,omitempty"`
}

// maxNeeds bounds each list.
const maxNeeds = 64

// variable matches an entry of Needs.Env. A pattern must have a prefix: * alone is not allowed.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$|^[A-Za-z_][A-Za-z0-9_]{2,}\*$`)

// Sees reports whether the plugin requests the variable with the given name.
func (n *Needs) Sees(name string) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.Env, func(e string) bool {
		prefix, pattern := strings.CutSuffix(e, "*")
		return e == name || pattern && strings.HasPrefix(name, prefix)
	})
}

// Check returns an error for a device that is not below /dev, for a path that is neither absolute nor begins with "~/", and
// for lists that are too long.
func (n *Needs) Check() error {
	if n == nil {
		return nil
	}
	if len(n.Env) > maxNeeds {
		return fmt.Errorf("contain: needs.env: want at most %d names, got %d", maxNeeds, len(n.Env))
	}
	for _, e := range n.Env {
		if !variable.MatchString(e) {
			return fmt.Errorf("contain: needs.env: want the name of a variable, or three characters of it and *, got %.100q", e)
		}
	}
	for _, l := range []struct {
		what  string
		paths []string
	}{{"devices", n.Devices}, {"read", n.Read}, {"write", n.Write}} {
		if len(l.paths) > maxNeeds {
			return fmt.Errorf("contain: needs.%s: want at most %d paths, got %d", l.what, maxNeeds, len(l.paths))
		}
		for _, p := range l.paths {
			if err := checkPath(l.what, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPath(what, p string) error {
	if _, err := filepath.Match(p, ""); what == "devices" && err != nil {
		return fmt.Errorf("contain: needs.devices: %.100q: %w", p, err)
	}
	rest, home := strings.CutPrefix(p, "~/")
	switch {
	case what == "devices" && (!strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/dev/fd/")):
		return fmt.Errorf("contain: needs.devices: want a path below /dev, got %.100q", p)
	case home && rest == "", !home && !strings.HasPrefix(p, "/"):
		return fmt.Errorf("contain: needs.%s: want an absolute path, or ~/ and a path, got %.100q", what, p)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return fmt.Errorf("contain: needs.%s: want a path without .., got %.100q", what, p)
	}
	return nil
}

// Lines returns a description of the needs, one per line.
func (n *Needs) Lines() []string {
	if n == nil {
		return nil
	}
	var lines []string
	if n.Network {
		lines = append(lines, "network, and the sockets of your other programs")
	}
	for _, l := range []struct {
		what  string
		paths []string
	}{{"devices", n.Devices}, {"to read", n.Read}, {"to read and write", n.Write}, {"variables", n.Env}} {
		if len(l.paths) > 0 {
			lines = append(lines, l.what+" "+strings.Join(l.paths, " "))
		}
	}
	return lines
}

// expand replaces ~ by the user's folder. It omits such paths if the user has no folder.
func expand(paths []string) []string {
	var all []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			p = filepath.Join(home, rest)
		}
		all = append(all, p)
	}
	return all
}
