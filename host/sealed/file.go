package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrMismatch is for content that is not the one asked for.
var ErrMismatch = errors.New("sha256 differs")

// File is checked content, ready to be executed or loaded.
type File struct {
	path    string
	release func() error
}

// Path is what to execute or load in place of the file. It holds until Close.
func (f *File) Path() string { return f.path }

// Close gives up what keeps the content. A process that was started before is not touched.
func (f *File) Close() error {
	if f.release == nil {
		return nil
	}
	r := f.release
	f.release = nil
	return r()
}

// How says what the content is for.
type How int

// The ways.
const (
	Execute How = iota
	Load        // by a dynamic loader, which wants a path of its own for each object
)

// Open reads the file at path once, and gives the content that was read if its sha256 is want (hex, any case); else the
// error wraps ErrMismatch. What is executed is
//
//   - on Linux a sealed copy in memory or, for a program that looks for libraries beside itself ($ORIGIN), the file itself
//     through the descriptor it was read by;
//   - on Windows the file itself, held open so that nobody can write, rename or remove it before Close;
//   - elsewhere, for scripts and for what a dynamic loader takes, a copy in a folder that is open to the user alone, read
//     again after it was written.
func Open(path, want string, how How) (*File, error) {
	want = strings.ToLower(want)
	src, err := openRead(path)
	if err != nil {
		return nil, err
	}
	f, err := open(src, path, want, how)
	if f == nil || f.release == nil {
		src.Close()
	}
	return f, err
}

// hash reads r to its end.
func hash(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func mismatch(path, got, want string) error {
	return fmt.Errorf("%s has sha256 %s, want %s: %w", path, got, want, ErrMismatch)
}

// private copies src into a folder of this user, and reads the copy again. src stays open.
func private(src *os.File, path, want string) (_ *File, err error) {
	dir, err := os.MkdirTemp("", "burn-exec-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	to := filepath.Join(dir, filepath.Base(path))
	if err := copyTo(to, src); err != nil {
		return nil, err
	}
	back, err := os.Open(to)
	if err != nil {
		return nil, err
	}
	defer back.Close()
	got, err := hash(back)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, mismatch(path, got, want)
	}
	return &File{to, func() error { return errors.Join(src.Close(), os.RemoveAll(dir)) }}, nil
}

func copyTo(to string, src *os.File) error {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// A process that is forked now would hold the file open for writing, which keeps it from being executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, src); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
