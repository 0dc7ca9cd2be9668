package wire

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/goburn/burn/core"
)

// seals are the seals of every segment: they fix its size, so that no access within it can fault.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// HasSegments reports whether memory can be shared here.
func HasSegments() bool { return true }

// NewSegment creates shared memory of size bytes, a multiple of the page size. All pages are allocated, so that accesses neither fail nor
// cause page faults. The descriptor is for the peer; the memory outlives it until Unmap.
func NewSegment(size int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("burn", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("segment: %w", err)
	}
	f := os.NewFile(uintptr(fd), "burn segment")
	data, err := prepare(fd, size)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("segment of %d bytes: %w: %v", size, core.ErrOutOfMemory, err)
	}
	return f, data, nil
}

func prepare(fd, size int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, err
	}
	if err := allocate(fd, size); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	return mmap(fd, size)
}

// allocate allocates all pages.
func allocate(fd, size int) error {
	for {
		if err := unix.Fallocate(fd, 0, 0, int64(size)); err != unix.EINTR {
			return err
		}
	}
}

func mmap(fd, size int) ([]byte, error) {
	return unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// MapSegment maps a segment that a peer has sent and closes the descriptor. It returns ErrProtocol unless fd is sealed memory of exactly
// that size, and ErrOutOfMemory if memory is short.
func MapSegment(fd, size int) ([]byte, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("segment: %w: %v", core.ErrProtocol, err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, fmt.Errorf("segment: %w: %v", core.ErrProtocol, err)
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	switch {
	case err != nil || fs.Type != unix.TMPFS_MAGIC:
		return nil, fmt.Errorf("segment: %w: the descriptor is no memfd of ordinary pages", core.ErrProtocol)
	case got&seals != seals:
		return nil, fmt.Errorf("segment: %w: seals 0x%x, want 0x%x", core.ErrProtocol, got, seals)
	case size <= 0 || st.Size != int64(size):
		return nil, fmt.Errorf("segment: %w: %d bytes, want %d", core.ErrProtocol, st.Size, size)
	}
	if err := allocate(fd, size); err != nil {
		return nil, fmt.Errorf("segment of %d bytes: %w: %v", size, core.ErrOutOfMemory, err)
	}
	data, err := mmap(fd, size)
	if err != nil {
		return nil, fmt.Errorf("segment of %d bytes: %w: %v", size, core.ErrOutOfMemory, err)
	}
	return data, nil
}

// Unmap releases the memory of a segment.
func Unmap(data []byte) { _ = unix.Munmap(data) }
