package protocol

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var errOtherCertificate = errors.New("the plugin shows another certificate than in its handshake")

// bytesCodec passes messages on unchanged.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

// connection is a gRPC connection.
type connection struct {
	*grpc.ClientConn
	p *plugin
}

func (c *connection) close() { _ = c.ClientConn.Close() }

// handshake reads and stores the first line of standard output. The error says why the line is wrong.
func (p *plugin) handshake(limit time.Duration) error {
	line, came := p.firstLine(limit)
	if !came {
		return fmt.Errorf("no handshake after %v; last output: %s", limit, p.last())
	}
	f := strings.Split(line, "|")
	if len(f) < 6 {
		return fmt.Errorf("handshake %.100q, want 1|1|NETWORK|ADDRESS|grpc|CERTIFICATE; last output: %s", line, p.last())
	}
	p.network, p.address = f[2], f[3]
	if f[0] != "1" || f[1] != "1" || f[4] != "grpc" {
		return fmt.Errorf("handshake %.100q, want 1|1|NETWORK|ADDRESS|grpc|CERTIFICATE", line)
	}
	switch p.network {
	case "unix":
		if rel, err := filepath.Rel(p.dir, p.address); err != nil || strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the socket %s is not in the folder of %s", p.address, envDir)
		}
	case "tcp":
		if !strings.HasPrefix(p.address, "127.0.0.1:") {
			return fmt.Errorf("address %q, want 127.0.0.1:PORT", p.address)
		}
	default:
		return fmt.Errorf("network %q, want unix or tcp", p.network)
	}
	var err error
	if p.cert, err = base64.RawStdEncoding.DecodeString(f[5]); err != nil {
		return fmt.Errorf("CERTIFICATE %.40q..., want base64 without padding: %w", f[5], err)
	}
	return nil
}

// dial returns a connection with the given TLS configuration; nil means without TLS. The first call establishes it.
func (p *plugin) dial(t *test, config *tls.Config) *connection {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("passthrough:///localhost", grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, p.network, p.address)
		}),
		grpc.WithInitialWindowSize(8<<20), grpc.WithInitialConnWindowSize(8<<20),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(8<<20), grpc.MaxCallSendMsgSize(16<<20)))
	t.must("dial", err)
	return &connection{conn, p}
}

// connect completes the handshake, connects like a host, and sends Hello.
func (p *plugin) connect(t *test) {
	t.must("start", p.handshake(t.StartTimeout))
	p.conn = p.dial(t, p.config(p.keys.host))
	w := p.conn.hello(t, Version, Version)
	if w.err != nil {
		t.fail("the backend does not open: %v", w.err)
	}
	if w.chosen != Version {
		t.fail("Hello with version %d is answered with version %d", Version, w.chosen)
	}
	if t.info == nil {
		t.info = w
	}
}

const service = "/burn.wire.v1.Backend/"

// call sends the request of a unary call and returns the reply.
func (c *connection) call(t *test, method string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.Patience)
	defer cancel()
	var reply []byte
	err := c.Invoke(ctx, method, &request, &reply)
	return reply, err
}

// must makes a call that must succeed.
func (c *connection) must(t *test, method string, request []byte) []byte {
	reply, err := c.call(t, service+method, request)
	t.must(method, err)
	return reply
}

// outcome makes a call, and returns the error in field 1 of its answer.
func (c *connection) outcome(t *test, method string, request []byte) *wireError {
	m, err := parseMessage(c.must(t, method, request))
	t.must(method, err)
	e, err := parseError(m.part(1))
	t.must("the error of "+method, err)
	return e
}

func (c *connection) hello(t *test, least, most uint64, features ...string) *welcome {
	b := field(field(nil, 1, least), 2, most)
	for _, f := range features {
		b = bytesField(b, 3, []byte(f))
	}
	b = bytesField(bytesField(b, 4, []byte("conformance")), 5, []byte("1"))
	for k, v := range t.Config {
		b = bytesField(b, 7, bytesField(bytesField(nil, 1, []byte(k)), 2, []byte(v)))
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.StartTimeout)
	defer cancel()
	var reply []byte
	t.must("Hello", c.Invoke(ctx, service+"Hello", &b, &reply))
	w, err := parseWelcome(reply)
	t.must("Hello", err)
	return w
}

// healthy calls the health service. It returns an error if the answer is wrong.
func (c *connection) healthy(t *test) error {
	reply, err := c.call(t, "/grpc.health.v1.Health/Check", bytesField(nil, 1, []byte("plugin")))
	if err == nil && string(reply) != "\x08\x01" {
		err = fmt.Errorf("the health reply is %x, want 0801", reply)
	}
	return err
}

// device is an opened device.
type device struct {
	*opened
	t          *test
	conn       *connection
	handle     uint64
	generation uint64
	next       uint64 // next sequence number
	op         string // an op of one operand on f32, and its version
	version    uint64
}

func openRequest(handle uint64, index int64, generation uint64) []byte {
	return field(field(fixed(nil, 1, handle), 2, uint64(index)), 3, generation)
}

// open opens the plugin's first device, with a generation that is not 0.
func (c *connection) open(t *test) *device { return c.openAs(t, 3+t.handles%1000) }

// openAs is like open, with a given generation.
func (c *connection) openAs(t *test, generation uint64) *device {
	t.handles++
	d := &device{t: t, conn: c, handle: t.handles<<32 | 0x9e3779b9, generation: generation}
	index := int64(0)
	if t.info != nil && len(t.info.devices) > 0 {
		index = t.info.devices[0].index
	}
	var err error
	d.opened, err = parseOpened(c.must(t, "Open", openRequest(d.handle, index, d.generation)))
	t.must("Open", err)
	if d.err != nil {
		t.fail("Open: %v", d.err)
	}
	for _, name := range []string{"neg", "copy", "abs"} {
		if x, ok := d.ops[name]; ok && x.operands&(1<<f32) != 0 {
			d.op, d.version = name, x.version
			break
		}
	}
	t.later(func() { _, _ = c.call(t, service+"Close", fixed(nil, 1, d.handle)) })
	return d
}

// device opens a device of the shared process.
func (t *test) device() *device { return t.plugin().conn.open(t) }

// id returns the id of a sequence number.
func (d *device) id(n uint64) uint64 { return d.generation<<48 | n }

// new returns a new tensor of f32.
func (d *device) new(shape ...uint64) tensor {
	d.next++
	return tensor{d.id(d.next), f32, shape}
}

// frame begins a frame for a stream of the device.
func (d *device) frame() *frame { return &frame{last: d.generation << 48} }

// needsOp skips the check if the device has no suitable op.
func (d *device) needsOp() {
	if d.op == "" {
		d.t.skip("the device claims none of neg, copy and abs on f32")
	}
}

// unary appends the node out = op(in).
func (d *device) unary(f *frame, in uint64, drop uint64, out tensor) *frame {
	return f.node(d.op, d.version, []uint64{in}, drop, out)
}

// ended reports whether a call ended with status OK, and whether the gRPC library refused a message because of its size.
func ended(err error) (ok, tooLarge bool) {
	return status.Code(err) == codes.OK, status.Code(err) == codes.ResourceExhausted
}
