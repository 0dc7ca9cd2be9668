// Package tomlfile reads TOML that others wrote: manifests in searched folders, signatures, locks, indexes of mirrors, settings. It
// bounds what a file may be before a byte of it is parsed, so that none holds a command up or takes its memory. All packages that
// read TOML read it here; what has to be verified is verified over the bytes of Read, before Decode.
package tomlfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrRefused is for files and documents that exceed a bound or are no regular files.
var ErrRefused = errors.New("refused")

// Open opens a regular file for reading. A folder, device, socket or named pipe is an ErrRefused, and is not waited for.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err // some devices act when they are opened
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

// Read reads a regular file of at most limit bytes. A longer one is an ErrRefused.
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
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1)) // files of /proc tell no size
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("%s: %w: want at most %d bytes, got more", path, ErrRefused, limit)
	}
	return text, nil
}
