package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// carrier is the data plane of section 9: the socket over which direct streams are opened.
type carrier struct {
	conn *net.UnixConn
	w    *welcome
}

// carrier requests the data plane of the shared process, or skips the check. It sends another Hello, because only the answer to Hello
// contains a socket.
func (t *test) carrier(features ...string) (*plugin, *carrier) {
	p := t.plugin()
	w := p.conn.hello(t, Version, Version, features...)
	if w.socket == "" {
		t.skip("the plugin does not have %s", strings.Join(features, " and "))
	}
	for _, want := range features {
		if !strings.Contains(" "+strings.Join(w.features, " ")+" ", " "+want+" ") {
			t.skip("the plugin does not have %s", want)
		}
	}
	return p, &carrier{w: w}
}

func (c *carrier) dial(t *test) *net.UnixConn {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.w.socket, Net: "unix"})
	t.must("connect to the socket of Hello", err)
	t.later(func() { conn.Close() })
	return conn
}

// connect connects and presents the token.
func (c *carrier) connect(t *test) {
	c.conn = c.dial(t)
	_, err := c.conn.Write(c.w.token)
	t.must("token", err)
}

// link is a stream over a separate socket.
type link struct {
	*net.UnixConn
	mu sync.Mutex
}

func (c *carrier) link(t *test) *link {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	t.must("socketpair", err)
	_, _, err = c.conn.WriteMsgUnix([]byte{1}, unix.UnixRights(fds[1]), nil)
	unix.Close(fds[1])
	t.must("hand a stream over", err)
	f := os.NewFile(uintptr(fds[0]), "stream")
	conn, err := net.FileConn(f)
	f.Close()
	t.must("stream", err)
	return &link{UnixConn: conn.(*net.UnixConn)}
}

func (l *link) send(b []byte) error { return l.sendWith(b) }

// sendWith sends a frame, with a descriptor attached.
func (l *link) sendWith(b []byte, fds ...int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	if len(fds) > 0 {
		n, _, err := l.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
	_, err := l.Write(b)
	return err
}

func (l *link) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(l, head[:]); err != nil {
		return nil, err // io.EOF: the plugin has closed the socket between frames
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxFrame+64 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(l, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the socket was closed within a frame")
	}
	return b, err
}

func (l *link) finish() error {
	_, err := l.Write([]byte{0, 0, 0, 0})
	return err
}

func (l *link) abort() { l.Close() }

// direct opens a stream of a new device over a separate socket.
func (t *test) direct(features ...string) (*device, *stream) {
	p, c := t.carrier(features...)
	c.connect(t)
	d := p.conn.open(t)
	s := d.over(c.link(t))
	s.open()
	return d, s
}

// segment returns a memfd like the ones that a host creates, with the given size in bytes and seals, and its mapping.
func (t *test) segment(size, seals int) (fd int, data []byte) {
	fd, err := unix.MemfdCreate("segment", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	t.must("memfd", err)
	t.later(func() { unix.Close(fd) })
	t.must("memfd", unix.Fallocate(fd, 0, 0, int64(size)))
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	t.must("seals", err)
	data, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	t.must("mmap", err)
	t.later(func() { _ = unix.Munmap(data) })
	return fd, data
}

const allSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// with attaches descriptor fd as a segment with the given number, and states that it has said bytes.
func (s *stream) with(number uint64, said int, fd int) {
	f := (&frame{}).byte(cmdSegment).uint(number, uint64(said))
	s.t.must("SEGMENT", s.tr.(*link).sendWith(f.b, fd))
}

var planeRules = []Rule{
	{ID: "plane/socket", Section: 9, Text: "the path of a unix stream socket in a folder that only the user may enter, and `token`, TokenSize random bytes made for this Hello", linux: true, check: func(t *test) {
		p, c := t.carrier("socket")
		if len(c.w.token) != tokenSize {
			t.fail("the token has %d bytes, want %d", len(c.w.token), tokenSize)
		}
		folder, err := os.Stat(filepath.Dir(c.w.socket))
		t.must("the folder of the socket", err)
		if foreign(folder) {
			t.fail("the folder of the socket has mode %v, want one that only the user may enter", folder.Mode())
		}
		if rel, err := filepath.Rel(p.dir, c.w.socket); err != nil || strings.HasPrefix(rel, "..") {
			t.fail("the socket %s is not in the folder of %s", c.w.socket, envDir)
		}
		_, again := t.carrier("socket")
		if bytes.Equal(c.w.token, again.w.token) {
			t.fail("two Hellos get the same token")
		}
	}},
	{ID: "plane/token", Section: 9, Text: "the plugin closes a connection that does not send it", linux: true, check: func(t *test) {
		_, c := t.carrier("socket")
		conn := c.dial(t)
		wrong := bytes.Clone(c.w.token)
		wrong[len(wrong)-1] ^= 1
		_, _ = conn.Write(wrong)
		_ = conn.SetReadDeadline(time.Now().Add(t.Patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.fail("a connection with a wrong token is not closed")
		}
	}},
	{ID: "plane/once", Section: 9, Text: "after the first that does, or after ten seconds, stops listening and removes the socket", linux: true, check: func(t *test) {
		_, c := t.carrier("socket")
		c.connect(t)
		for limit := time.Now().Add(t.Patience); ; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Lstat(c.w.socket); errors.Is(err, os.ErrNotExist) {
				return
			}
			if time.Now().After(limit) {
				t.fail("the socket is there after a host has shown its token")
			}
		}
	}},
	{ID: "plane/stream", Section: 9, Text: "On such a stream each frame, in both directions, follows its length in four bytes.", linux: true, check: func(t *test) {
		d, s := t.direct("socket")
		s.alive("a stream over a socket of its own")
		x := d.new(chunkSize)
		data := pattern(x.bytes())
		s.wantOK(s.upload(x, data), "a write in chunks")
		if !bytes.Equal(s.value(x, "READ"), data) {
			t.fail("a tensor that was written in chunks is read differently")
		}
		s.end("a length of zero")
	}},
	{ID: "plane/grpc-too", Section: 9, Text: "`Stream` over gRPC stays possible at all times.", linux: true, check: func(t *test) {
		d, s := t.direct("socket")
		s.alive("a stream over a socket of its own")
		d.stream().alive("a stream over gRPC beside it")
	}},
	{ID: "plane/hostile", Section: 9, Text: "Everything else is as in section 4.", linux: true, check: func(t *test) {
		_, s := t.direct("socket")
		s.send((&frame{}).byte(0x7f))
		s.wantFail("an unknown command over a socket", codeProtocol)
		d, s := t.direct("socket")
		_, err := s.tr.(*link).Write([]byte{0xff, 0xff, 0xff, 0x7f})
		t.must("length", err)
		if r, open := s.maybe(t.Patience, "a frame of 2 GiB"); open && r.tag != replyFail {
			t.fail("a frame of 2 GiB is answered by %v", r)
		}
		d.stream().alive("a stream over gRPC afterwards")
	}},
	{ID: "plane/shared", Section: 9, Text: "WRITE_SHARED makes a tensor of the data at the beginning of the segment.", linux: true, check: func(t *test) {
		d, s := t.direct("socket", "memfd")
		fd, data := t.segment(1<<20, allSeals)
		copy(data, pattern(1<<20))
		s.with(1, 1<<20, fd)
		x := d.new(1 << 18)
		r := s.ask()
		s.send(d.frame().byte(cmdWriteShared).uint(r).tensor(x).uint(1))
		if a := s.next("WRITE_SHARED"); a.request != r || a.tag != replyKept && (a.tag != replyDone || a.err != nil) {
			t.fail("WRITE_SHARED is answered by %v, want DONE or KEPT", a)
		}
		if !bytes.Equal(s.value(x, "READ"), pattern(1<<20)) {
			t.fail("another tensor is read than was written")
		}
		into, got := t.segment(1<<20, allSeals)
		s.with(2, 1<<20, into)
		q := s.ask()
		s.send(d.frame().byte(cmdReadShared).uint(q).id(x.id).uint(1<<20, 2))
		for at := uint64(0); at < 1<<20; {
			a := s.next("READ_SHARED")
			if a.tag != replyPart || a.request != q || a.number <= at || a.number > 1<<20 {
				t.fail("READ_SHARED is answered by %v of %d bytes after %d, want PART", a, a.number, at)
			}
			at = a.number
		}
		if !bytes.Equal(got, pattern(1<<20)) {
			t.fail("READ_SHARED gives other data")
		}
	}},
	{ID: "plane/seals", Section: 9, Text: "The plugin MUST check that the descriptor is a memfd of exactly that size on ordinary pages with these three seals, else the stream is over (code 10)", linux: true, check: func(t *test) {
		for what, seals := range map[string]int{"without a seal": 0, "that may shrink": unix.F_SEAL_GROW | unix.F_SEAL_SEAL, "that may grow": unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL} {
			_, s := t.direct("socket", "memfd")
			fd, _ := t.segment(1<<16, seals)
			s.with(1, 1<<16, fd)
			s.wantFail("a segment "+what, codeProtocol)
		}
		for _, said := range []int{1 << 17, 1 << 15, 5000, 0} {
			_, s := t.direct("socket", "memfd")
			fd, _ := t.segment(1<<16, allSeals)
			s.with(1, said, fd)
			s.wantFail(fmt.Sprintf("a segment of %d bytes that is said to have %d", 1<<16, said), codeProtocol)
		}
		_, s := t.direct("socket", "memfd")
		f, err := os.CreateTemp(t.dir, "")
		t.must("file", err)
		defer f.Close()
		t.must("file", f.Truncate(1<<16))
		s.with(1, 1<<16, int(f.Fd()))
		s.wantFail("a segment that is an ordinary file", codeProtocol)
	}},
	{ID: "plane/no-segment", Section: 9, Text: "A segment that is retired, kept, or not known must not be named: the stream is over (10).", linux: true, check: func(t *test) {
		d, s := t.direct("socket", "memfd")
		s.send(d.frame().byte(cmdWriteShared).uint(1).tensor(d.new(4)).uint(9))
		s.wantFail("WRITE_SHARED of an unknown segment", codeProtocol)
		d, s = t.direct("socket", "memfd")
		fd, _ := t.segment(1<<16, allSeals)
		s.with(1, 1<<16, fd)
		s.send((&frame{}).byte(cmdRetire).uint(1))
		s.send(d.frame().byte(cmdWriteShared).uint(1).tensor(d.new(4)).uint(1))
		s.wantFail("WRITE_SHARED of a segment that was retired", codeProtocol)
	}},
}
