package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goburn/burn/core"
)

// carried connects a Carrier and returns the plugin's end of it.
func carried(t *testing.T, token string) (*Carrier, *net.UnixConn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	c, err := Dial(context.Background(), path, []byte(token))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	conn, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	got := make([]byte, len(token))
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, token, string(got))
	return c, conn.(*net.UnixConn)
}

// TestCarrier opens streams over a carrier. Each stream has a socket of its own and outlives the carrier.
func TestCarrier(t *testing.T) {
	c, theirs := carried(t, "0123456789")
	var hosts, plugins []*FrameStream
	for range 3 {
		host, err := c.Open(context.Background())
		require.NoError(t, err)
		require.True(t, host.Direct())
		conn, err := NextSocket(theirs)
		require.NoError(t, err)
		plugin, err := PluginLink(context.Background(), conn, false)
		require.NoError(t, err)
		t.Cleanup(func() { host.Close(); plugin.Close() })
		hosts, plugins = append(hosts, host), append(plugins, plugin)
	}
	require.NoError(t, c.Close())
	_, err := NextSocket(theirs)
	require.ErrorIs(t, err, io.EOF)
	for i := range hosts {
		require.NoError(t, hosts[i].Send(numbered(uint64(i), 100)))
	}
	for i := range plugins {
		f, err := plugins[i].Receive()
		require.NoError(t, err)
		require.EqualValues(t, i, binary.LittleEndian.Uint64(bytesOf(t, f)))
		require.NoError(t, plugins[i].Send(OpenedFrame()))
		f, err = hosts[i].Receive()
		require.NoError(t, err)
		require.Equal(t, []byte{0x81}, bytesOf(t, f))
		require.NoError(t, hosts[i].CloseSend())
		_, err = plugins[i].Receive()
		require.ErrorIs(t, err, io.EOF)
	}
	_, err = c.Open(context.Background())
	require.Error(t, err, "the carrier is closed")
	_, err = Dial(context.Background(), filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestNextSocketHostile checks that NextSocket accepts only messages with exactly one descriptor, which must be a unix socket, and closes
// all descriptors of other messages.
func TestNextSocketHostile(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()
	network, err := udp.(*net.UDPConn).File()
	require.NoError(t, err)
	defer network.Close()
	for _, c := range []struct {
		what string
		fds  []int
		want string
	}{
		{"none", nil, "0 descriptors with a message, want 1"},
		{"two", []int{int(r.Fd()), int(w.Fd())}, "2 descriptors with a message, want 1"},
		{"a pipe", []int{int(r.Fd())}, "protocol error"},
		{"another network", []int{int(network.Fd())}, "a socket of network udp, want unix"},
	} {
		carrier, theirs := carried(t, "t")
		var rights []byte
		if c.fds != nil {
			rights = syscall.UnixRights(c.fds...)
		}
		_, _, err := carrier.conn.WriteMsgUnix([]byte{0}, rights, nil)
		require.NoError(t, err)
		before := same(t, c.fds)
		_, err = NextSocket(theirs)
		require.ErrorIs(t, err, core.ErrProtocol, c.what)
		require.ErrorContains(t, err, c.want, c.what)
		require.Equal(t, before, same(t, c.fds), "%s: what came was closed", c.what)
	}
}

// same returns the number of descriptors of this process that refer to the same files as fds.
func same(t *testing.T, fds []int) int {
	t.Helper()
	n := 0
	for _, of := range fds {
		var want, st unix.Stat_t
		require.NoError(t, unix.Fstat(of, &want))
		for fd := range 1024 {
			if unix.Fstat(fd, &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino {
				n++
			}
		}
	}
	return n
}

// TestSendFileWithoutLink: a stream over gRPC passes no descriptors.
func TestSendFileWithoutLink(t *testing.T) {
	require.ErrorIs(t, new(FrameStream).SendFile(SegmentFrame(5, 4096), os.Stdin), errors.ErrUnsupported)
}

// TestSendFile passes a segment with the frame that introduces it, in order with other frames.
func TestSendFile(t *testing.T) {
	host, plugin := links(t)
	f, data, err := NewSegment(4096)
	require.NoError(t, err)
	defer f.Close()
	defer Unmap(data)
	copy(data, "shared")
	require.NoError(t, host.Send(numbered(1, 9)))
	require.NoError(t, host.SendFile(SegmentFrame(5, 4096), f))
	require.NoError(t, host.SendFile(SegmentFrame(6, 4096), f))
	_, err = plugin.Receive()
	require.NoError(t, err)
	for want := range uint64(2) {
		frame, err := plugin.Receive()
		require.NoError(t, err)
		segment, size, ok := ParseSegment(frame)
		require.Equal(t, []any{5 + want, 4096, true}, []any{segment, size, ok})
		fd, ok := plugin.File()
		require.True(t, ok)
		theirs, err := MapSegment(fd, size)
		require.NoError(t, err)
		require.Equal(t, "shared", string(theirs[:6]))
		Unmap(theirs)
	}
	_, ok := plugin.File()
	require.False(t, ok, "each descriptor comes once")
	require.NoError(t, host.SendFile(SegmentFrame(7, 4096), f))
	_, err = plugin.Receive()
	require.NoError(t, err)
	plugin.ReleaseFiles()
	_, ok = plugin.File()
	require.False(t, ok)
	host.Close()
	require.Error(t, host.SendFile(SegmentFrame(8, 4096), f))
	_, err = f.Stat()
	require.NoError(t, err, "the caller still owns the file")
}

// TestManyDescriptors checks that a peer cannot fill the descriptor table of this process.
func TestManyDescriptors(t *testing.T) {
	host, plugin := links(t)
	f, data, err := NewSegment(4096)
	require.NoError(t, err)
	defer f.Close()
	defer Unmap(data)
	for i := range uint64(maxFiles) {
		require.NoError(t, host.SendFile(SegmentFrame(i, 4096), f))
		_, err := plugin.Receive()
		require.NoError(t, err)
	}
	require.NoError(t, host.SendFile(SegmentFrame(99, 4096), f))
	_, err = plugin.Receive()
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "17 descriptors wait for their frames, at most 16")
	_, again := plugin.Receive()
	require.Equal(t, err, again, "nothing more is received")
}

// TestTrySend fills the socket without waiting. A frame is accepted whole or not at all, and accepted frames arrive in order.
func TestTrySend(t *testing.T) {
	host, plugin := links(t)
	taken, more := host.TrySend(numbered(0, directSize+1))
	require.False(t, taken || more, "only small frames")
	n := uint64(0)
	for {
		f := numbered(n, 50000)
		taken, more = host.TrySend(f)
		if !taken {
			f.Free()
			break
		}
		n++
		if more {
			f := numbered(n, 20)
			taken, again := host.TrySend(f)
			require.False(t, taken || again, "the rest of a frame comes first")
			require.ErrorIs(t, host.SendFile(SegmentFrame(1, 4096), os.Stdin), errBusy)
			break
		}
	}
	require.NotZero(t, n)
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(host.Flush(), host.Send(numbered(n, 20)), host.CloseSend()) }()
	for want := range n + 1 {
		f, err := plugin.Receive()
		require.NoError(t, err)
		b := bytesOf(t, f)
		require.Equal(t, want, binary.LittleEndian.Uint64(b))
		require.Equal(t, byte(want), b[len(b)-1])
		f.Free()
	}
	_, err := plugin.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-sent)
}

// TestBrokenLink checks that a stream sends nothing more once part of a frame may be lost, and returns the same error each time.
func TestBrokenLink(t *testing.T) {
	host, plugin := links(t)
	plugin.Close()
	var first error
	require.Eventually(t, func() bool { first = host.Send(numbered(1, 20)); return first != nil }, 30*time.Second, time.Millisecond)
	require.Equal(t, first, host.Send(numbered(1, 20)))
	require.Equal(t, first, host.Flush())
	require.Equal(t, first, host.CloseSend())
	taken, more := host.TrySend(numbered(1, 20))
	require.False(t, taken || more)
	require.ErrorIs(t, host.SendFile(SegmentFrame(1, 1), os.Stdin), errBusy)
	_, err := host.Receive()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the plugin is gone without an orderly end")
}

// TestFrameLengths checks that a length of zero ends the stream in the direction from the host only, and that a length above the limit is
// a protocol error.
func TestFrameLengths(t *testing.T) {
	for _, c := range []struct {
		length uint32
		host   bool
		want   error
	}{
		{0, false, io.EOF}, {0, true, core.ErrProtocol}, {MaxFrame + slackSize + 1, false, core.ErrProtocol}, {1<<32 - 1, true, core.ErrProtocol},
	} {
		host, plugin := links(t)
		from, to := host, plugin
		if c.host {
			from, to = plugin, host
		}
		require.NoError(t, from.link.writeAll(binary.LittleEndian.AppendUint32(nil, c.length)))
		_, err := to.Receive()
		require.ErrorIs(t, err, c.want, "%d bytes", c.length)
	}
}

// TestPaceCap checks that one slow frame does not stop polling, that an hour counts no more than other slow waits, and that frames that
// arrive prolong polling.
func TestPaceCap(t *testing.T) {
	p := new(Pace)
	for range 30 {
		p.Note(40 * time.Microsecond)
	}
	p.Note(time.Hour)
	require.NotZero(t, p.limit(), "one slow frame")
	for range 10 {
		p.Note(time.Hour)
	}
	n := 0
	for p.limit() == 0 {
		p.Note(10 * time.Microsecond)
		n++
	}
	require.LessOrEqual(t, n, 5, "an hour weighs no more than other slow frames")
	looks := 0
	require.NoError(t, p.watch(func() bool { return looks == 40 }, func() (bool, error) { looks++; return true, nil }))
	require.Equal(t, 40, looks)
	require.NoError(t, new(Pace).watch(func() bool { panic("asked") }, nil), "no polling at all")
}
