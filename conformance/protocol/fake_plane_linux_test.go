package protocol

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// fakePlane is the data plane of the fake: section 9 of PROTOCOL.md.
type fakePlane struct{ n int }

func (p *fakePlane) invite(s *fakeServer, b []byte, named map[string]bool) []byte {
	if !named["socket"] || os.Getenv(envDir) == "" {
		return b
	}
	p.n++
	mode := os.FileMode(0o700)
	if bad("plane/socket") {
		mode = 0o755
	}
	dir := filepath.Join(os.Getenv(envDir), fmt.Sprint("d", p.n))
	if err := os.Mkdir(dir, mode); err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		panic(err)
	}
	token := make([]byte, tokenSize)
	_, _ = rand.Read(token)
	go p.serve(s, l, token)
	b = bytesField(b, 4, []byte("socket"))
	if named["memfd"] {
		b = bytesField(b, 4, []byte("memfd"))
	}
	return bytesField(bytesField(b, 8, []byte(path)), 9, token)
}

func (p *fakePlane) serve(s *fakeServer, l *net.UnixListener, token []byte) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		got := make([]byte, tokenSize)
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, token) && !bad("plane/token") {
			conn.Close()
			continue
		}
		if !bad("plane/once") {
			l.Close()
		}
		go func() {
			defer conn.Close()
			for {
				_, fds, err := receiveFiles(conn, make([]byte, 1))
				if err != nil {
					return
				}
				for _, fd := range fds {
					f := os.NewFile(uintptr(fd), "stream")
					c, err := net.FileConn(f)
					f.Close()
					if err == nil {
						go newFakeLink(c.(*net.UnixConn)).run(s)
					}
				}
			}
		}()
	}
}

// receiveFiles reads into b and returns the number of bytes and the file descriptors that were sent with them.
func receiveFiles(conn *net.UnixConn, b []byte) (n int, fds []int, err error) {
	oob := make([]byte, 128)
	n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
	if err != nil || n == 0 {
		return 0, nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return n, nil, err
	}
	for _, m := range messages {
		l, err := unix.ParseUnixRights(&m)
		if err != nil {
			return n, nil, err
		}
		fds = append(fds, l...)
	}
	return n, fds, nil
}

// fakeLink carries the frames of a stream over a unix socket.
type fakeLink struct {
	conn   *net.UnixConn
	ctx    context.Context
	cancel context.CancelFunc
	buf    []byte
	mu     sync.Mutex
	files  []int
}

func newFakeLink(c *net.UnixConn) *fakeLink {
	l := &fakeLink{conn: c}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *fakeLink) run(s *fakeServer) {
	_ = s.stream(l)
	l.conn.Close()
}

func (l *fakeLink) Context() context.Context { return l.ctx }

func (l *fakeLink) fill(n int) error {
	b := make([]byte, 1<<16)
	for len(l.buf) < n {
		k, fds, err := receiveFiles(l.conn, b)
		if err != nil {
			return err
		}
		l.buf = append(l.buf, b[:k]...)
		l.mu.Lock()
		l.files = append(l.files, fds...)
		l.mu.Unlock()
	}
	return nil
}

func (l *fakeLink) take() ([]byte, error) {
	if err := l.fill(4); err != nil {
		l.cancel()
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(l.buf))
	if bad("plane/stream") {
		n = int(binary.BigEndian.Uint32(l.buf))
	}
	if n == 0 {
		return nil, io.EOF
	}
	if n > maxFrame {
		if bad("plane/hostile") {
			os.Exit(1)
		}
		return []byte{0}, nil
	}
	if err := l.fill(4 + n); err != nil {
		l.cancel()
		return nil, err
	}
	b := bytes.Clone(l.buf[4 : 4+n])
	l.buf = l.buf[4+n:]
	return b, nil
}

func (l *fakeLink) give(b []byte) error {
	_, err := l.conn.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func (t *fakeStream) planeCommand(tag byte, r *fakeReader, alone func()) bool {
	l, ok := t.w.(*fakeLink)
	if !ok {
		return false
	}
	segment := func(n uint64) []byte {
		b := t.segments[n]
		if b == nil {
			if bad("plane/no-segment") {
				return make([]byte, 1<<20)
			}
			t.broken("segment %d is not known", n)
		}
		return b
	}
	switch tag {
	case cmdSegment:
		n, size := r.number(), r.number()
		alone()
		l.mu.Lock()
		fd := l.files[0]
		l.files = l.files[1:]
		l.mu.Unlock()
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		var stat unix.Stat_t
		_ = unix.Fstat(fd, &stat)
		if (err != nil || seals&allSeals != allSeals || uint64(stat.Size) != size || size%4096 != 0 || size == 0) && !bad("plane/seals") {
			t.broken("the segment is not what it should be")
		}
		b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			t.segments[n] = b
		}
	case cmdRetire:
		n := r.number()
		alone()
		delete(t.segments, n)
	case cmdWriteShared:
		request, d, n := r.number(), r.desc(), r.number()
		data := bytes.Clone(segment(n)[:d.bytes()])
		if bad("plane/shared") {
			clear(data)
		}
		t.reply(replyDone, request, t.make(d, data, nil)...)
	case cmdReadShared:
		request, id, size, n := r.number(), r.id(), r.number(), r.number()
		x, err := t.find(id)
		if err != nil {
			t.reply(replyDone, request, err...)
			break
		}
		copy(segment(n), x.data)
		t.reply(replyPart, request, binaryUvarint(size)...)
	default:
		return false
	}
	return true
}
