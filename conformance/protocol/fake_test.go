package protocol

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// envFault names the environment variable that turns this test binary into a fake plugin. The fake keeps every rule of the protocol
// except the one whose id the variable contains. It is an independent implementation that shares only the encoding of bytes with the
// checker.
const envFault = "BURN_TEST_FAULT"

// bad reports whether the fake breaks the rule.
func bad(rule string) bool { return os.Getenv(envFault) == rule }

// fakeServer is the fake plugin.
type fakeServer struct {
	mu       sync.Mutex
	devices  map[uint64]*fakeDevice
	streams  map[uint64]*fakeStream
	changed  *sync.Cond // announces changes of streams and events
	greeted  bool
	asked    int
	failures int
	grpc     *grpc.Server
	plane    fakePlane

	connections atomic.Int64
}

type fakeDevice struct {
	gen       uint64
	mu        sync.Mutex
	tensors   map[uint64]*fakeTensor
	programs  map[uint64]*fakeProgram
	profiling bool
	ended     chan struct{}
}

type fakeTensor struct {
	tensor
	data []byte
	err  []byte // the failure that poisoned the tensor, or nil
	by   *fakeStream
}

func fakeMain() {
	s := &fakeServer{devices: map[uint64]*fakeDevice{}, streams: map[uint64]*fakeStream{}}
	s.changed = sync.NewCond(&s.mu)
	attach := false
	for _, a := range os.Args[1:] {
		switch a {
		case "--version":
			if !bad("debug/version") {
				fmt.Println("burn-backend-fake 1.0, protocol 2, here")
			}
			return
		case "--debug":
			attach = true
		}
	}
	if !attach && os.Getenv(cookieKey) != cookie && !bad("start/cookie") {
		fmt.Fprintln(os.Stderr, "a plugin of burn, which starts it")
		os.Exit(1)
	}
	if !bad("start/interrupt") {
		signal.Ignore(interrupt)
	}
	dir := os.Getenv(envDir)
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprint("s", os.Getpid()))
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	most := maxFrame
	if bad("frames/max-frame") {
		most *= 2
	}
	opts := []grpc.ServerOption{grpc.ForceServerCodec(bytesCodec{}), grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(8 << 20), grpc.UnknownServiceHandler(s.handle)}
	certificate := ""
	if pem := os.Getenv(envCert); pem != "" && !attach {
		config, der := fakeTLS(pem)
		certificate = base64.RawStdEncoding.EncodeToString(der)
		if bad("tls/plain") {
			l = sniffing{l, config}
		} else {
			opts = append(opts, grpc.Creds(credentials.NewTLS(config)))
		}
	}
	s.grpc = grpc.NewServer(opts...)
	go func() { _ = s.grpc.Serve(counting{l, s, attach}) }()
	if attach {
		fmt.Printf("BURN_REATTACH='{\"fake\":{\"pid\":%d,\"network\":\"unix\",\"addr\":\"%s\",\"protocol\":2}}'\n", os.Getpid(), path)
		select {}
	}
	go s.watch()
	kind := "grpc"
	if bad("start/handshake") {
		kind = "netrpc"
	}
	fmt.Printf("1|1|unix|%s|%s|%s\n", path, kind, certificate)
	if bad("start/stdout") {
		fmt.Println("ready")
	}
	if bad("start/late-host") {
		time.Sleep(time.Second)
		if s.connections.Load() == 0 {
			os.Exit(0)
		}
	}
	select {}
}

func (s *fakeServer) watch() {
	if !bad("end/stdin") {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	host, _ := strconv.Atoi(os.Getenv(envHost))
	for !bad("end/parent") {
		if os.Getppid() != host {
			os.Exit(0)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// counting counts connections. When the last one is closed, the plugin ends; if a host attached to it, only its devices end.
type counting struct {
	net.Listener
	s      *fakeServer
	attach bool
}

type counted struct {
	net.Conn
	once sync.Once
	end  func()
}

func (c *counted) Close() error {
	c.once.Do(c.end)
	return c.Conn.Close()
}

func (l counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.s.connections.Add(1)
	return &counted{Conn: conn, end: func() {
		left := l.s.connections.Add(-1)
		switch {
		case l.attach:
			if bad("debug/attach") {
				os.Exit(0)
			}
			if left == 0 && !bad("debug/devices") {
				l.s.mu.Lock()
				defer l.s.mu.Unlock()
				l.s.devices = map[uint64]*fakeDevice{}
			}
		case left == 0 && !bad("end/connection") || bad("end/one-of-two"):
			os.Exit(0)
		}
	}}, nil
}

// sniffing serves clients with and without TLS.
type sniffing struct {
	net.Listener
	config *tls.Config
}

type peeked struct {
	net.Conn
	first io.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.first.Read(b) }

func (l sniffing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 1)
	if _, err := io.ReadFull(conn, b); err != nil {
		return nil, err
	}
	p := peeked{conn, io.MultiReader(bytes.NewReader(b), conn)}
	if b[0] == 0x16 {
		return tls.Server(p, l.config), nil
	}
	return p, nil
}

func fakeTLS(root string) (*tls.Config, []byte) {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	x := &x509.Certificate{SerialNumber: big.NewInt(7), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if bad("tls/certificate") {
		x.DNSNames = []string{"elsewhere"}
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, key.Public(), key)
	if err != nil {
		panic(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: x509.NewCertPool(), NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	config.ClientCAs.AppendCertsFromPEM([]byte(root))
	switch {
	case bad("tls/versions"):
		config.MinVersion = tls.VersionTLS10
		config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	case bad("tls/no-certificate"):
		config.ClientAuth = tls.VerifyClientCertIfGiven
	case bad("tls/other-certificate"):
		config.ClientAuth = tls.RequireAnyClientCert
	case bad("tls/end-entity"):
		config.VerifyPeerCertificate = func(raw [][]byte, _ [][]*x509.Certificate) error {
			if x, err := x509.ParseCertificate(raw[0]); err != nil || !x.IsCA {
				return errors.New("not the certificate that was given")
			}
			return nil
		}
	}
	return config, der
}

// plainError returns an error of form 0.
func plainError(code uint64, text string) []byte {
	if bad("errors/text") && code == codeCanceled {
		text = ""
	}
	return (&frame{}).byte(0).uint(code).text(text).b
}

// handle serves all methods.
func (s *fakeServer) handle(_ any, g grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(g)
	if method == service+"Stream" {
		return s.stream(&fakeCall{g})
	}
	var in []byte
	if err := g.RecvMsg(&in); err != nil {
		return err
	}
	m, err := parseMessage(in)
	if err != nil {
		return err
	}
	handle := uint64(0)
	if len(in) >= 9 && in[0] == 1<<3|1 {
		for i := range 8 {
			handle |= uint64(in[1+i]) << (8 * i)
		}
	}
	reply := func(out []byte) error { return g.SendMsg(&out) }
	failed := func(code uint64, text string) error { return reply(bytesField(nil, 1, plainError(code, text))) }
	s.mu.Lock()
	d := s.devices[handle]
	s.mu.Unlock()
	switch method {
	case "/grpc.health.v1.Health/Check":
		if bad("start/health") {
			return status.Error(codes.Unimplemented, "no health")
		}
		return reply([]byte{8, 1})
	case "/plugin.GRPCController/Shutdown":
		if !bad("end/shutdown") {
			time.AfterFunc(50*time.Millisecond, func() { os.Exit(0) })
		}
		if bad("services/controller") {
			return reply([]byte{8, 1})
		}
		return reply(nil)
	case service + "Hello":
		return reply(s.hello(m))
	case service + "Open":
		return s.open(handle, m, reply, failed)
	}
	if d == nil && !(bad("services/closed") && method == service+"Close") {
		return failed(codeClosed, "no such device")
	}
	switch method {
	case service + "Close":
		if d != nil {
			s.close(handle, d)
		}
		return reply(nil)
	case service + "Memory":
		d.mu.Lock()
		defer d.mu.Unlock()
		n := uint64(0)
		for _, x := range d.tensors {
			n += uint64(len(x.data))
		}
		if bad("services/memory") {
			n /= 2
		}
		return reply(field(field(nil, 2, n), 4, uint64(len(d.tensors))))
	case service + "Supports":
		s.asked++
		if bad("services/supports") && s.asked%2 == 0 {
			return failed(codeUnsupported, "not this time")
		}
		if bytes.Contains(m.part(2), []byte("neg")) || bad("services/supports-unknown") {
			return reply(nil)
		}
		return failed(codeUnsupported, "no such op")
	case service + "StartProfile":
		again := d.profiling
		d.profiling = true
		if again && !bad("services/profile") {
			return failed(codeAttr, "it records already")
		}
		return reply(nil)
	case service + "Undefine":
		return s.undefine(d, m.numbers[2], m.numbers[3], reply, failed)
	}
	return status.Error(codes.Unimplemented, method)
}

func (s *fakeServer) hello(m message) []byte {
	least, most := m.numbers[1], m.numbers[2]
	version := uint64(0)
	switch {
	case bad("services/newest") && least <= 1:
		version = 1
	case least <= 2 && most >= 2 || bad("services/no-version"):
		version = 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bad("services/again") && s.greeted {
		for _, d := range s.devices {
			d.mu.Lock()
			clear(d.tensors)
			d.mu.Unlock()
		}
	}
	s.greeted = true
	b := field(field(field(nil, 1, 1), 2, 2), 3, version)
	device := func(index uint64) []byte {
		return bytesField(bytesField(field(nil, 1, index), 2, []byte("fake")), 3, []byte("cpu"))
	}
	info := bytesField(bytesField(nil, 1, []byte("fake")), 2, []byte("1.0"))
	info = bytesField(info, 4, device(0))
	if bad("services/info") {
		info = bytesField(info, 4, device(0))
	}
	b = bytesField(b, 5, info)
	named := map[string]bool{}
	for _, f := range m.parts[4-1] {
		named[string(f)] = true
		if bad("services/features") && string(f) == "x-of-the-future" {
			b = bytesField(b, 7, plainError(codeProtocol, "unknown feature"))
		}
	}
	return s.plane.invite(s, b, named)
}

func (s *fakeServer) open(handle uint64, m message, reply func([]byte) error, failed func(uint64, string) error) error {
	if m.numbers[2] != 0 && !bad("services/no-device") {
		return failed(codeNotFound, "no such device")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices[handle] != nil && !bad("services/handle") {
		return failed(codeProtocol, "the handle is in use")
	}
	d := &fakeDevice{gen: m.numbers[3], tensors: map[uint64]*fakeTensor{}, programs: map[uint64]*fakeProgram{}, ended: make(chan struct{})}
	if bad("services/own-tensors") {
		for _, other := range s.devices {
			d.tensors = other.tensors
		}
	}
	s.devices[handle] = d
	rank := uint64(8)
	if bad("services/capabilities") {
		rank = 0
	}
	types := uint64(1<<f32 | 1<<12 | 1<<13 | 1<<20)
	caps := field(field(nil, 1, types), 99, 1)
	for _, name := range []string{"neg", "full"} {
		op := bytesField(field(bytesField(nil, 1, []byte(name)), 2, 1), 3, field(nil, 0, 0))
		caps = bytesField(caps, 3, append(op, bytesField(nil, 3, binaryUvarint(1<<f32))...))
	}
	caps = bytesField(caps, 4, field(nil, 1, rank))
	out := bytesField(nil, 2, caps)
	ext := field(field(field(field(nil, 1, 1), 2, 1), 5, 1), 6, 1)
	return reply(bytesField(out, 3, ext))
}

func binaryUvarint(v uint64) []byte { return (&frame{}).uint(v).b }

func (s *fakeServer) close(handle uint64, d *fakeDevice) {
	s.mu.Lock()
	delete(s.devices, handle)
	s.mu.Unlock()
	if bad("services/canceled-call") {
		for waits := true; waits; time.Sleep(10 * time.Millisecond) { // waits for streams that never end
			waits = false
			s.mu.Lock()
			for _, t := range s.streams {
				waits = waits || t.dev == d
			}
			s.mu.Unlock()
		}
	}
	if !bad("services/close") {
		close(d.ended)
		s.mu.Lock()
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

func (s *fakeServer) undefine(d *fakeDevice, number, uses uint64, reply func([]byte) error, failed func(uint64, string) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.programs[number]
	if p == nil {
		return failed(codeNotFound, "no such program")
	}
	p.ending, p.limit = true, uses
	if p.runs >= uses || bad("programs/undefine") {
		delete(d.programs, number)
	}
	return reply(nil)
}

// fakeWire carries the frames of a stream.
type fakeWire interface {
	Context() context.Context
	take() ([]byte, error)
	give(b []byte) error
}

type fakeCall struct{ grpc.ServerStream }

func (c *fakeCall) take() (b []byte, err error) {
	err = c.RecvMsg(&b)
	return b, err
}

func (c *fakeCall) give(b []byte) error { return c.SendMsg(&b) }
