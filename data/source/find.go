package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotFound is wrapped by the error for a data set that is not on this machine and cannot be downloaded.
var ErrNotFound = errors.New("data set not found")

// ErrChecksum is wrapped by the error for a file whose content differs from the published one.
var ErrChecksum = errors.New("wrong checksum")

// set describes a data set.
type set struct {
	name  string   // name of its folder
	files []file   // all of its files
	urls  []string // folders to download from, each ending in a slash, in order
	// system lists the folders where packages of the system install the set
	system []string
	npm    string // folder below node_modules
	remedy string // command that installs it without burn
}

// file is one file of a set.
type file struct {
	name   string // name of the unpacked file
	packed string // name of the file as downloaded, compressed by gzip; empty if it is not compressed
	sum    string // sha256 of the unpacked file; empty if unknown, and then wire is set
	wire   string // sha256 of the packed file as published; empty if it is not packed
	size   int64  // size of the published file, in bytes
}

func (f file) download() (name, sum string) {
	if f.packed == "" {
		return f.name, f.sum
	}
	return f.packed, f.wire
}

// open returns the contents of one of s's files, unpacked and checked, from the first place that has it.
func (s *set) open(ctx context.Context, o Options, f file) ([]byte, error) {
	if o.Only && o.Dir == "" {
		return nil, fmt.Errorf("source: %s: Only without Dir, want the folder to look in", s.name)
	}
	var notes []string
	for _, dir := range s.places(o) {
		tried := false
		for _, name := range []string{f.name, f.packed} {
			if name == "" {
				continue
			}
			p := filepath.Join(dir, name)
			b, err := load(p, f)
			switch {
			case err == nil:
				return b, nil
			case errors.Is(err, fs.ErrNotExist):
				continue
			case dir == o.Dir:
				return nil, fmt.Errorf("source: %s: %w", s.name, err)
			}
			notes, tried = append(notes, fmt.Sprintf("%s: %v", p, reason(err, p))), true
		}
		if !tried {
			notes = append(notes, dir+": "+lacks(dir))
		}
	}
	if o.offline() || len(s.urls) == 0 {
		return nil, s.missing(o, f, notes, nil)
	}
	dir, err := o.cache(s.name)
	if err != nil {
		return nil, s.missing(o, f, notes, err)
	}
	p, err := s.fetch(ctx, o, f, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("source: %s: %s: %w", s.name, f.name, err)
		}
		return nil, s.missing(o, f, notes, err)
	}
	b, err := load(p, f)
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", s.name, err)
	}
	return b, nil
}

// reason returns err without the path that precedes it.
func reason(err error, p string) string {
	return strings.TrimPrefix(err.Error(), p+": ")
}

// places returns the folders to search.
func (s *set) places(o Options) []string {
	var out []string
	if o.Dir != "" {
		out = append(out, o.Dir)
	}
	if o.Only {
		return out
	}
	if dir := os.Getenv(EnvDir); dir != "" {
		out = append(out, filepath.Join(dir, s.name), dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(dir, "burn", "data", s.name))
	}
	out = append(out, s.system...)
	if s.npm != "" {
		for _, root := range modules() {
			out = append(out, filepath.Join(root, filepath.FromSlash(s.npm)))
		}
	}
	return out
}

// modules returns the node_modules folders that a program in this folder would search, and the global ones.
func modules() []string {
	var out []string
	if dir, err := os.Getwd(); err == nil {
		for {
			if p := filepath.Join(dir, "node_modules"); isDir(p) {
				out = append(out, p)
			}
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	out = append(out, filepath.SplitList(os.Getenv("NODE_PATH"))...)
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, "node_modules"))
	}
	for _, p := range []string{"/usr/local/lib/node_modules", "/usr/lib/node_modules"} {
		if isDir(p) {
			out = append(out, p)
		}
	}
	return out
}

// lacks returns the reason why a folder has no usable file.
func lacks(dir string) string {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such folder"
	case err != nil:
		return "not a folder that can be read"
	case len(entries) == 0:
		return "the folder is empty"
	}
	return "the folder does not hold it"
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

// missing returns an error that tells where f was searched, why it was not downloaded, and what helps.
func (s *set) missing(o Options, f file, notes []string, cause error) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "source: %s: no %s; looked in", s.name, f.name)
	for _, n := range notes {
		fmt.Fprintf(b, "\n  %s", n)
	}
	switch {
	case cause != nil:
		fmt.Fprintf(b, "\nand the download failed: %v", cause)
	case len(s.urls) == 0:
		b.WriteString("\nand there is no address to download it from")
	case o.Only:
		b.WriteString("\nand nowhere else, because this folder was named")
	case o.Offline:
		b.WriteString("\nand downloads are off")
	default:
		fmt.Fprintf(b, "\nand downloads are off: %s is set", EnvOffline)
	}
	b.WriteString("\nwhat helps: ")
	if name, _ := f.download(); o.Only {
		fmt.Fprintf(b, "put %s into %s, or name no folder to look where the data are usually found", name, o.Dir)
		return &notFound{b.String(), cause}
	}
	if s.remedy != "" {
		fmt.Fprintf(b, "%s, or ", s.remedy)
	}
	name, _ := f.download()
	fmt.Fprintf(b, "put %s into a folder and set %s to it", name, EnvDir)
	return &notFound{b.String(), cause}
}

type notFound struct {
	text  string
	cause error
}

func (e *notFound) Error() string { return e.text }

func (e *notFound) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrNotFound}
	}
	return []error{ErrNotFound, e.cause}
}
