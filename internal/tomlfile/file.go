// Package tomlfile reads TOML from untrusted sources: manifests in searched folders, signatures, locks, indexes of mirrors,
// settings. It checks limits before it parses a byte, so that no file can consume excessive time or memory. All packages that
// read TOML must use it. Signatures are verified over the bytes of Read, before Decode.
package tomlfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrRefused is wrapped by errors for documents that exceed a limit and for files that are not regular.
var ErrRefused = errors.New("refused")

// Open opens a regular file for reading. For a folder, device, socket or named pipe it returns ErrRefused, without blocking.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err // opening has side effects on some devices
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info os.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&os.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&os.ModeSocket != 0:
		what = "a socket"
	case mode&os.ModeDevice != 0:
		what = "a device"
	default:
		what = "a special file"
	}
	return fmt.Errorf("%s: %w: want a regular file, got %s", path, ErrRefused, what)
}

// Read reads a regular file of at most limit bytes. For a longer one it returns ErrRefused.
func Read(path string, limit int) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > int64(limit) {
		return nil, fmt.Errorf("%s: %w: want at most %d bytes, got %d", path, ErrRefused, limit, info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1)) // files of /proc report no size
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("%s: %w: want at most %d bytes, got more", path, ErrRefused, limit)
	}
	return text, nil
}
