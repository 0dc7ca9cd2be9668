package sealed

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// ErrMismatch is the error for content whose hash is not the requested hash.
var ErrMismatch = errors.New("sha256 differs")

// File is checked content, ready to be executed or loaded.
type File struct {
	path    string
	dir     string
	release func() error
}

// Path returns the path to execute or load instead of the file. It is valid until Close.
func (f *File) Path() string { return f.path }

// Dir returns the folder with the copies of the files that belong to the file. It must exist while the content is in use. It is empty for a
// file that was sealed alone; such a File may be closed as soon as it was started or loaded.
func (f *File) Dir() string { return f.dir }

// Close removes the copies. A process that was started before continues to run, but Dir no longer exists.
func (f *File) Close() error {
	if f.release == nil {
		return nil
	}
	return f.release()
}

func newFile(path, dir string, release func() error) *File {
	return &File{path, dir, sync.OnceValue(release)}
}

// How says how the content is used.
type How int

// The ways.
const (
	Execute How = iota
	Load        // by a dynamic loader, which needs a separate path for each object
)

// Open reads the file at path once, and returns that content if its sha256 is want (hex, any case); else the error wraps
// ErrMismatch. The executed file is
//
//   - on Linux a sealed copy in memory or, for scripts and for objects of a dynamic loader, a copy in a folder that is open to the user
//     alone; a program or object that looks for libraries beside itself ($ORIGIN) is copied with the files there, which are not checked
//     because their hashes are unknown (Tree checks them);
//   - on Windows the file itself, held open so that nobody can write, rename or remove it before Close;
//   - elsewhere a copy in a folder that is open to the user alone.
func Open(path, want string, how How) (*File, error) { return openFile(path, want, how, true) }

// Alone is like Open, for a file that needs no files beside it: they are not copied.
func Alone(path, want string, how How) (*File, error) { return openFile(path, want, how, false) }

func openFile(path, want string, how How, beside bool) (*File, error) {
	want = strings.ToLower(want)
	src, err := openRead(path)
	if err != nil {
		return nil, err
	}
	f, err := open(src, path, want, how, beside)
	if err != nil || f.path != path { // keep a file that is used in place open
		src.Close()
	}
	return f, err
}

func mismatch(path, got, want string) error {
	return fmt.Errorf("%s has sha256 %s, want %s: %w", path, got, want, ErrMismatch)
}
