package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// invited serves nothing and returns the answer to Hello.
func invited(t *testing.T, features ...string) *wire.Welcome {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := Attachable(ctx, Options{Name: "nothing", Open: openNothing, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	conn, err := grpc.NewClient("passthrough:///x", append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial(at.Network, at.Addr) }))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		cancel()
		<-done
	})
	c := wire.NewCaller(conn)
	w, err := c.Hello(context.Background(), &wire.Hello{Protocol: wire.Speaks(), Features: features})
	require.NoError(t, err)
	require.NoError(t, w.Err)
	o, err := c.Open(context.Background(), &wire.Open{Handle: handle})
	require.NoError(t, err)
	require.NoError(t, o.Err)
	return w
}

// open returns the number of descriptors and of shared mappings of this process.
func open(t *testing.T) (files, maps int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return len(fds), strings.Count(string(text), "/memfd:")
}

// memfd creates shared memory as a hostile host may.
func memfd(t *testing.T, size int64, seals int) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("hostile", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "hostile")
	require.NoError(t, f.Truncate(size))
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	require.NoError(t, err)
	return f
}

// last returns the reply that ends a stream.
func last(t *testing.T, s *wire.FrameStream) (r wire.Reply) {
	t.Helper()
	stop := time.AfterFunc(time.Minute, func() { s.Close() })
	for {
		f, err := s.Receive()
		if err != nil {
			require.True(t, stop.Stop(), "the stream hangs")
			return r
		}
		require.NoError(t, r.Parse(f))
		f.Free()
	}
}

func TestHostileSegments(t *testing.T) {
	const all = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	w := invited(t, wire.FeatureSocket, wire.FeatureMemfd)
	require.Equal(t, []string{wire.FeatureSocket, wire.FeatureMemfd}, w.Features)
	c, err := wire.Dial(context.Background(), w.Socket, w.Token)
	require.NoError(t, err)
	defer c.Close()
	good := func() *os.File { return memfd(t, 4096, all) }
	regular := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "x"))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(4096))
		return f
	}
	segment := func(n uint64, size int) *wire.Frame { return wire.SegmentFrame(n, size) }
	type step struct {
		frame *wire.Frame
		file  *os.File
	}
	frame := func(b ...byte) step { return step{wire.NewFrame(b), nil} }
	write := func() step { return frame(0x10, 1, 2, 2, 1, 4, 1) } // request 1: t1 f32[4] of segment 1
	filesBefore, mapsBefore := 0, 0
	for i, tc := range []struct {
		name  string
		steps []step
	}{
		{"warm", []step{{segment(1, 4096), good()}, frame(0x7f)}},
		{"no descriptor", []step{{segment(1, 4096), nil}}},
		{"unsealed", []step{{segment(1, 4096), memfd(t, 4096, 0)}}},
		{"may shrink", []step{{segment(1, 4096), memfd(t, 4096, unix.F_SEAL_GROW|unix.F_SEAL_SEAL)}}},
		{"may be sealed", []step{{segment(1, 4096), memfd(t, 4096, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK)}}},
		{"shorter", []step{{segment(1, 8192), good()}}},
		{"longer", []step{{segment(1, 2048), good()}}},
		{"empty", []step{{segment(1, 0), memfd(t, 0, all)}}},
		{"endless", []step{{segment(1, 1<<62), good()}}},
		{"a file", []step{{segment(1, 4096), regular()}}},
		{"same number", []step{{segment(1, 4096), good()}, {segment(1, 4096), good()}}},
		{"write nowhere", []step{write()}},
		{"write too much", []step{{segment(1, 4096), good()}, frame(0x10, 1, 2, 2, 1, 0x80, 0x20, 1)}},
		{"write to retired", []step{{segment(1, 4096), good()}, frame(0x0f, 1), write()}},
		{"retire nothing", []step{frame(0x0f, 1)}},
		{"retire twice", []step{{segment(1, 4096), good()}, frame(0x0f, 1), frame(0x0f, 1)}},
		{"read nowhere", []step{frame(0x11, 1, 2, 16, 1)}},
		{"descriptors without frames", func() (l []step) {
			for range 20 {
				l = append(l, step{wire.NewFrame([]byte{0x08}), good()})
			}
			return l
		}()},
	} {
		if i == 1 {
			filesBefore, mapsBefore = open(t)
		}
		fs, err := c.Open(context.Background())
		require.NoError(t, err)
		require.NoError(t, fs.Send(wire.NewFrame([]byte{0x01, handle, byte(i + 1)})))
		for _, s := range tc.steps {
			if s.file != nil {
				err = fs.SendFile(s.frame, s.file)
				s.file.Close()
			} else {
				err = fs.Send(s.frame)
			}
			if err != nil { // the plugin has had enough
				break
			}
		}
		if tc.name != "descriptors without frames" { // those may be closed with the stream
			r := last(t, fs)
			require.Equal(t, wire.TagFail, r.Tag, tc.name)
			require.ErrorIs(t, r.Err, core.ErrProtocol, tc.name)
		}
		fs.Close()
		if i > 0 {
			require.Eventually(t, func() bool {
				files, maps := open(t)
				return files <= filesBefore && maps <= mapsBefore
			}, time.Minute, time.Millisecond, "%s: %s", tc.name, func() string { a, b := open(t); return fmt.Sprint(a, b, filesBefore, mapsBefore) }())
		}
	}
	_, maps := open(t)
	require.Zero(t, maps)
}

// TestSealed checks that the creator of a segment cannot make its peer fault.
func TestSealed(t *testing.T) {
	f, data, err := wire.NewSegment(1 << 20)
	require.NoError(t, err)
	defer f.Close()
	defer wire.Unmap(data)
	require.Error(t, f.Truncate(4096))
	require.Error(t, f.Truncate(2<<20))
	fd, err := unix.Dup(int(f.Fd()))
	require.NoError(t, err)
	peer, err := wire.MapSegment(fd, 1<<20)
	require.NoError(t, err)
	defer wire.Unmap(peer)
	data[1<<20-1] = 7
	require.EqualValues(t, 7, peer[1<<20-1])
	require.NoError(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20), "the host can still take its content away")
	require.Zero(t, peer[1<<20-1], "which is no fault")
}

// TestTouch checks that Touch returns an error for a fault in memory whose file was truncated, and passes on other panics.
func TestTouch(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(8192))
	data, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(data)
	require.NoError(t, f.Truncate(0))
	dst := make([]byte, 8192)
	require.ErrorIs(t, wire.Touch(func() { copy(dst, data) }), core.ErrProtocol)
	require.PanicsWithValue(t, "mine", func() { _ = wire.Touch(func() { panic("mine") }) })
}

func TestToken(t *testing.T) {
	w := invited(t, wire.FeatureSocket)
	require.Equal(t, []string{wire.FeatureSocket}, w.Features)
	bad := append([]byte{}, w.Token...)
	bad[31] ^= 1
	for _, token := range [][]byte{bad, nil, []byte("x")} {
		c, err := wire.Dial(context.Background(), w.Socket, token)
		require.NoError(t, err)
		if len(token) < wire.TokenSize { // it ends without the rest
			require.NoError(t, c.Close())
			continue
		}
		require.Eventually(t, func() bool {
			fs, err := c.Open(context.Background())
			if err == nil {
				err = fs.Send(wire.NewFrame(openFrame))
				_, err = fs.Receive()
				fs.Close()
			}
			return err != nil
		}, time.Minute, time.Millisecond)
		require.NoError(t, c.Close())
	}
	c, err := wire.Dial(context.Background(), w.Socket, w.Token)
	require.NoError(t, err)
	defer c.Close()
	fs, err := c.Open(context.Background())
	require.NoError(t, err)
	defer fs.Close()
	require.NoError(t, fs.Send(wire.NewFrame(openFrame)))
	f, err := fs.Receive()
	require.NoError(t, err)
	var r wire.Reply
	require.NoError(t, r.Parse(f))
	require.Equal(t, wire.TagOpened, r.Tag)
	_, err = wire.Dial(context.Background(), w.Socket, w.Token)
	require.Error(t, err, "one host, and the socket is gone")
	_, err = os.Stat(w.Socket)
	require.True(t, errors.Is(err, os.ErrNotExist))
	require.Empty(t, invited(t).Features)
}
