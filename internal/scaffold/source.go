package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Module is the path of burn's module.
const Module = "github.com/goburn/burn"

// ErrNoSource: neither a version of burn that can be fetched nor a checkout was found.
var ErrNoSource = errors.New("no released version and no checkout of " + Module + " was found")

// Source is where a plugin in Go gets burn from. One of the two is set.
type Source struct {
	Version string // that the go command fetches
	Dir     string // of a checkout: an absolute path
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module[ \t]+"?` + regexp.QuoteMeta(Module) + `"?[ \t]*(?://.*)?\r?$`)
	replaceLine = regexp.MustCompile(`(?m)^[ \t]*(?:replace[ \t]+)?` + regexp.QuoteMeta(Module) + `(?:[ \t]+v\S+)?[ \t]+=>[ \t]+(?:"([^"\n]+)"|(\S+))[ \t]*(?://.*)?\r?$`)
)

// FindSource returns where this program's own burn is from. A program that was built from a fetched module names its version. One
// that was built from a checkout has a version that nobody can fetch, if any: then the checkout is looked for above the
// executable, above the source files that the program was compiled from, and above the working folder, whose go.mod may also replace the
// module by a folder.
func FindSource() (Source, error) {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		b = &debug.BuildInfo{}
	}
	var places []string
	if exe, err := os.Executable(); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			places = append(places, filepath.Dir(exe))
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		places = append(places, filepath.Dir(file))
	}
	if dir, err := os.Getwd(); err == nil {
		places = append(places, dir)
	}
	return find(b, places)
}

// find is FindSource for a program that was built as b says, looking above places in order.
func find(b *debug.BuildInfo, places []string) (Source, error) {
	if v := fetched(b); v != "" {
		return Source{Version: v}, nil
	}
	for _, p := range places {
		if dir := checkoutAbove(p); dir != "" {
			return Source{Dir: dir}, nil
		}
	}
	return Source{}, ErrNoSource
}

// fetched returns the version of burn that b was built with, or nothing if it was built from a folder. Only what the go command
// fetched has a checksum.
func fetched(b *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&b.Main}, b.Deps...) {
		if m.Path == Module && m.Replace == nil && m.Sum != "" {
			return m.Version
		}
	}
	return ""
}

// Checkout returns dir as an absolute path, if it is the root of burn's module.
func Checkout(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	if !moduleLine.Match(text) {
		return "", fmt.Errorf("%s: want the module %s, got another one", filepath.Join(dir, "go.mod"), Module)
	}
	return dir, nil
}

// checkoutAbove returns the checkout that dir lies in, or that the nearest go.mod replaces burn's module by.
func checkoutAbove(dir string) string {
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			if moduleLine.Match(text) {
				return dir
			}
			if m := replaceLine.FindSubmatch(text); m != nil {
				to := filepath.FromSlash(string(m[1]) + string(m[2]))
				if !filepath.IsAbs(to) {
					to = filepath.Join(dir, to)
				}
				if to, err = Checkout(to); err == nil {
					return to
				}
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// quoted returns a path as go.mod has it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`(),;") || strings.Contains(path, "//") {
		return `"` + strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), `"`, `\"`) + `"`
	}
	return path
}
