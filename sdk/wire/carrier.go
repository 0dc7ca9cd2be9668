//go:build unix

package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/goburn/burn/core"
)

// Carrier is a connection over which the host passes the sockets of streams to the plugin, one per message. It is safe for
// concurrent use.
type Carrier struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

// Dial connects to the socket of a plugin and presents the token.
func Dial(ctx context.Context, path string, token []byte) (*Carrier, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(token); err != nil {
		conn.Close()
		return nil, err
	}
	return &Carrier{conn: conn.(*net.UnixConn)}, nil
}

// Close ends the carrier, not the streams that it carried.
func (c *Carrier) Close() error { return c.conn.Close() }

// Open returns a stream, which ends with ctx, and passes its other end to the plugin.
func (c *Carrier) Open(ctx context.Context) (*FrameStream, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	defer ours.Close()
	conn, err := fileConn(ours)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	_, _, err = c.conn.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(theirs.Fd())), nil)
	c.mu.Unlock()
	if err != nil {
		conn.Close()
		return nil, err
	}
	return HostLink(ctx, conn)
}

// pair returns two connected sockets.
func pair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "stream"), os.NewFile(uintptr(fds[1]), "stream"), nil
}

// fileConn returns a connection on a duplicate of a socket. The caller still has to close f.
func fileConn(f *os.File) (*net.UnixConn, error) {
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("wire: %w: a socket of network %s, want unix", core.ErrProtocol, c.LocalAddr().Network())
	}
	return u, nil
}

// NextSocket waits for the next socket that a host passes. It returns io.EOF if no more follow, and ErrProtocol for a message without a
// socket.
func NextSocket(carrier *net.UnixConn) (*net.UnixConn, error) {
	var b [1]byte
	var oob [64]byte
	n, m, _, _, err := carrier.ReadMsgUnix(b[:], oob[:])
	if err != nil {
		return nil, err
	}
	var l link
	if err := l.collect(oob[:m]); err != nil {
		return nil, err
	}
	if n == 0 && len(l.files) == 0 {
		return nil, io.EOF
	}
	defer (&FrameStream{link: &l}).ReleaseFiles()
	if len(l.files) != 1 {
		return nil, fmt.Errorf("wire: %w: %d descriptors with a message, want 1", core.ErrProtocol, len(l.files))
	}
	fd, _ := (&FrameStream{link: &l}).File()
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "stream")
	defer f.Close()
	conn, err := fileConn(f)
	if err != nil {
		return nil, fmt.Errorf("wire: %w: %v", core.ErrProtocol, err)
	}
	return conn, nil
}
