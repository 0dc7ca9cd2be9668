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

	"github.com/goburn/burn/internal/tomlfile"
)

// openRead opens a regular file; a named pipe or device is an error.
func openRead(path string) (*os.File, error) { return tomlfile.Open(path) }

func open(src *os.File, path, want string, how How, takeBeside bool) (*File, error) {
	program, origins := inspect(src)
	switch {
	case len(origins) > 0 && takeBeside:
		return beside(src, path, want, origins)
	case how == Load || !program || len(origins) > 0: // the interpreter of a script opens its path after the descriptor is closed
		return private(src, path, want)
	}
	f, err := inMemory(src, path, want)
	if err == nil || errors.Is(err, ErrMismatch) {
		return f, err
	}
	return private(src, path, want) // the kernel does not support sealed memory
}

// inspect reports whether f is an ELF file. It also returns those folders of its library search path (RUNPATH, RPATH) that are relative to
// the folder of f; "" is that folder itself.
func inspect(f *os.File) (program bool, origins []string) {
	e, err := elf.NewFile(f)
	if err != nil {
		return false, nil
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		lists, err := e.DynString(tag)
		if err != nil {
			continue
		}
		for _, list := range lists {
			for _, p := range strings.Split(list, ":") {
				for _, origin := range []string{"$ORIGIN", "${ORIGIN}"} {
					if rest, ok := strings.CutPrefix(p, origin); ok {
						origins = append(origins, strings.Trim(rest, "/"))
					}
				}
			}
		}
	}
	return true, origins
}

const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// inMemory copies src into sealed memory, to which no process can write, and hashes the bytes as they are copied.
func inMemory(src *os.File, path, want string) (*File, error) {
	const name = "burn-backend"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all such memory is executable, and the flag is unknown
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
	if _, err := copyHashed(mem, h, src); err != nil {
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
	return newFile(fmt.Sprintf("/proc/self/fd/%d", mem.Fd()), "", mem.Close), nil
}
