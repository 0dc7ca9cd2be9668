package sealed

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func openRead(path string) (*os.File, error) { return os.Open(path) }

func open(src *os.File, path, want string, how How) (*File, error) {
	program, placed := inspect(src)
	switch {
	case placed && how == Load: // a loader finds the libraries beside the object by the object's path
		return unchanged(src, path, want)
	case placed:
		got, err := hash(src)
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, mismatch(path, got, want)
		}
		return &File{descriptor(src), src.Close}, nil
	case how == Load || !program: // an interpreter opens the path itself, when the descriptor is closed already
		return private(src, path, want)
	}
	f, err := inMemory(src, path, want)
	if err == nil || errors.Is(err, ErrMismatch) {
		return f, err
	}
	return private(src, path, want) // a kernel that lends no memory for it
}

func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// inspect says whether f is a program or object, and whether it looks for libraries beside itself.
func inspect(f *os.File) (program, placed bool) {
	e, err := elf.NewFile(f)
	if err != nil {
		return false, false
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := e.DynString(tag)
		if err != nil {
			continue
		}
		for _, p := range paths {
			placed = placed || strings.Contains(p, "$ORIGIN") || strings.Contains(p, "${ORIGIN}")
		}
	}
	return true, placed
}

// unchanged hashes src and requires that path still leads to it.
func unchanged(src *os.File, path, want string) (*File, error) {
	got, err := hash(src)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, mismatch(path, got, want)
	}
	a, errA := src.Stat()
	b, errB := os.Stat(path)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if !os.SameFile(a, b) {
		return nil, fmt.Errorf("%s was exchanged while it was read: %w", path, ErrMismatch)
	}
	return &File{path, src.Close}, nil
}

const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// inMemory copies src into memory that nobody can write to any more, and hashes the copy's bytes as they pass.
func inMemory(src *os.File, path, want string) (*File, error) {
	const name = "burn-backend"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all of it is executable, and the flag is unknown
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	mem := os.NewFile(uintptr(fd), name)
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		mem.Close()
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(mem, h), src); err != nil {
		mem.Close()
		return nil, err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		mem.Close()
		return nil, mismatch(path, got, want)
	}
	if _, err := unix.FcntlInt(mem.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		mem.Close()
		return nil, err
	}
	return &File{descriptor(mem), func() error { return errors.Join(src.Close(), mem.Close()) }}, nil
}
