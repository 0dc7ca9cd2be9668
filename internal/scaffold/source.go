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

// ErrNoSource reports that neither a version of burn that can be fetched nor a checkout was found.
var ErrNoSource = errors.New("no released version and no checkout of " + Module + " was found")

// Source is the source of the burn module for a plugin in Go. Exactly one field is set.
type Source struct {
	Version string // a version that the go command can fetch
	Dir     string // absolute path of a checkout
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module[ \t]+"?` + regexp.QuoteMeta(Module) + `"?[ \t]*(?://.*)?\r?$`)
	replaceLine = regexp.MustCompile(`(?m)^[ \t]*(?:replace[ \t]+)?` + regexp.QuoteMeta(Module) + `(?:[ \t]+v\S+)?[ \t]+=>[ \t]+(?:"([^"\n]+)"|(\S+))[ \t]*(?://.*)?\r?$`)
)

// FindSource returns the source of the burn module that this program was built from. A program built from a fetched module records
// the version. The version of a program built from a checkout cannot be fetched. Then FindSource looks for the checkout above the
// executable, above the source files that the program was compiled from, and above the working folder. A go.mod there may also
// replace the module by a folder. If there is no source, the error is ErrNoSource.
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

// find implements FindSource for the build info b, and looks above places in order.
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

// fetched returns the version of burn in b, or "" if burn was built from a folder. Only modules that the go command fetched have
// a checksum.
func fetched(b *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&b.Main}, b.Deps...) {
		if m.Path == Module && m.Replace == nil && m.Sum != "" {
			return m.Version
		}
	}
	return ""
}

// Checkout returns the absolute path of dir, if it is the root of burn's module.
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

// checkoutAbove returns the nearest of these: a checkout that contains dir, or a checkout by which a go.mod in or above dir replaces
// burn's module. It returns "" if there is none.
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

// quoted returns a path as it is written in go.mod.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`(),;") || strings.Contains(path, "//") {
		return `"` + strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), `"`, `\"`) + `"`
	}
	return path
}
