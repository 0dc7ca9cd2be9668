package wire

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goburn/burn/core"
)

// descriptor returns a duplicate of f that MapSegment may close.
func descriptor(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	return fd
}

// memfd returns a memory file of n bytes with the seals in with, created with additional flags.
func memfd(t *testing.T, n int64, with, flags int) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flags)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "test")
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(n))
	if with != 0 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, with)
		require.NoError(t, err)
	}
	return f
}

func closed(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == unix.EBADF
}

// TestSegmentShared writes through one mapping and reads through the other; the size cannot be changed by either side.
func TestSegmentShared(t *testing.T) {
	require.True(t, HasSegments())
	const size = 3 * 4096
	f, ours, err := NewSegment(size)
	require.NoError(t, err)
	fd := descriptor(t, f)
	theirs, err := MapSegment(fd, size)
	require.NoError(t, err)
	require.True(t, closed(fd), "the descriptor is used up")
	require.Len(t, theirs, size)
	ours[0], ours[size-1] = 1, 2
	theirs[4096] = 3
	require.Equal(t, []byte{1, 2, 3}, []byte{theirs[0], theirs[size-1], ours[4096]})
	for _, n := range []int64{0, size - 4096, size + 4096} {
		require.ErrorIs(t, f.Truncate(n), unix.EPERM, "%d bytes", n)
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.ErrorIs(t, err, unix.EPERM, "no further seal")
	require.NoError(t, f.Close())
	ours[1] = 7
	require.EqualValues(t, 7, theirs[1], "the memory outlives the descriptor")
	Unmap(ours)
	require.EqualValues(t, 7, theirs[1], "each side holds its own mapping")
	Unmap(theirs)
}

func TestSegmentFails(t *testing.T) {
	f, data, err := NewSegment(-4096)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorContains(t, err, "segment of -4096 bytes")
	require.Nil(t, f)
	require.Nil(t, data)
}

// TestForeignDescriptors checks that MapSegment refuses descriptors of a hostile peer that are not sealed segments, with the reason, and
// closes them.
func TestForeignDescriptors(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(4096))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	for _, c := range []struct {
		what string
		f    *os.File
		size int
		want string
	}{
		{"a file", file, 4096, "no memfd of ordinary pages"},
		{"a pipe", r, 4096, "no memfd of ordinary pages"},
		{"a device", null, 4096, "no memfd of ordinary pages"},
		{"memory without seals", memfd(t, 4096, 0, 0), 4096, "seals 0x0, want 0x7"},
		{"memory that can shrink", memfd(t, 4096, unix.F_SEAL_GROW|unix.F_SEAL_SEAL, 0), 4096, "seals 0x5, want 0x7"},
		{"memory that can grow", memfd(t, 4096, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL, 0), 4096, "seals 0x3, want 0x7"},
		{"memory that can be sealed", memfd(t, 4096, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, 0), 4096, "seals 0x6, want 0x7"},
		{"less than promised", memfd(t, 4096, seals, 0), 8192, "4096 bytes, want 8192"},
		{"more than promised", memfd(t, 8192, seals, 0), 4096, "8192 bytes, want 4096"},
		{"nothing", memfd(t, 0, seals, 0), 0, "0 bytes, want 0"},
		{"a negative size", memfd(t, 4096, seals, 0), -4096, "4096 bytes, want -4096"},
	} {
		fd := descriptor(t, c.f)
		data, err := MapSegment(fd, c.size)
		require.ErrorIs(t, err, core.ErrProtocol, c.what)
		require.ErrorContains(t, err, c.want, c.what)
		require.Nil(t, data, c.what)
		require.True(t, closed(fd), c.what)
	}
	_, err = MapSegment(-1, 4096)
	require.ErrorIs(t, err, core.ErrProtocol)
}

// TestSparseSegment: memory that a peer has promised but not allocated is allocated when it is mapped, so that no later access
// fails.
func TestSparseSegment(t *testing.T) {
	f := memfd(t, 1<<20, seals, 0)
	var before, after unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &before))
	require.Zero(t, before.Blocks)
	data, err := MapSegment(descriptor(t, f), 1<<20)
	require.NoError(t, err)
	defer Unmap(data)
	require.NoError(t, unix.Fstat(int(f.Fd()), &after))
	require.GreaterOrEqual(t, after.Blocks*512, int64(1<<20))
}

// TestTouch turns a fault of shared memory into an error and leaves other panics alone.
func TestTouch(t *testing.T) {
	f := memfd(t, 8192, 0, 0)
	data, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer Unmap(data)
	require.NoError(t, Touch(func() { data[5000] = 1 }))
	require.NoError(t, f.Truncate(4096))
	err = Touch(func() { data[5000] = 1 })
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "shared memory: protocol error: fault at 0x")
	require.PanicsWithValue(t, "mine", func() { _ = Touch(func() { panic("mine") }) })
	require.Panics(t, func() { _ = Touch(func() { data = data[:len(data)+1] }) }, "a wrong index is a bug of this side")
}

// TestSegmentCapacity: a segment is large enough, whole pages, and at most an eighth larger than asked for; sizes that are close
// to each other get the same.
func TestSegmentCapacity(t *testing.T) {
	for _, c := range []struct{ n, want int }{{1, 4096}, {4096, 4096}, {4097, 8192}, {65537, 73728}, {1 << 20, 1 << 20}, {1<<20 + 1, 1<<20 + 1<<17},
		{1<<20 + 1<<17, 1<<20 + 1<<17}, {1<<21 - 1, 1 << 21}, {3<<30 + 1, 3<<30 + 1<<28}} {
		require.Equal(t, c.want, SegmentCapacity(c.n), "%d bytes", c.n)
	}
	for n := SharedAt; n < 1<<34; n += n/7 + 1 {
		got := SegmentCapacity(n)
		require.GreaterOrEqual(t, got, n)
		require.Zero(t, got%4096)
		require.Less(t, got-n, max(n/8, 4096)+1, "%d bytes", n)
		require.Equal(t, got, SegmentCapacity(got), "a whole segment fits itself")
	}
}
