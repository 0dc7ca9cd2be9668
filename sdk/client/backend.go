package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// Backend is the backend of a plugin process.
type Backend struct {
	proc       *process
	conn       *grpc.ClientConn // of an attached plugin; nil: proc closes it
	caller     *wire.Caller
	info       core.Info
	caps       *core.Capabilities
	exact      bool
	generation uint16 // of the connection
	ids        uint16 // generation of the ids that callers use
	version    uint32
	protocol   wire.Range
	carrier    *wire.Carrier // of streams; nil: they run over gRPC
	memfd      bool          // large tensors go through shared memory
	looks      bool          // who waits may look for frames

	ctx    context.Context // of all streams
	cancel context.CancelFunc
	closed atomic.Bool

	lostOnce sync.Once
	lost     chan struct{} // closed with lostErr
	lostErr  error
	silent   atomic.Pointer[string] // the heartbeat was missed

	answers answers
}

var _ core.Backend = (*Backend)(nil)

func newBackend(p *process, conn *grpc.ClientConn, c *wire.Caller, w *wire.Welcome, o *Options) *Backend {
	b := &Backend{proc: p, caller: c, info: w.Info, caps: w.Capabilities, generation: o.Generation,
		version: w.Version, protocol: w.Protocol, exact: slices.Contains(w.Capabilities.Features, wire.FeatureExact),
		lost: make(chan struct{})}
	b.carrier, b.memfd = carrier(w, o)
	b.looks = wire.Spare()
	if !o.Rebase {
		b.ids = o.Generation
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	if !p.attached {
		go func() {
			<-p.exited
			b.lose(nil)
		}()
		if o.Heartbeat >= 0 {
			go b.listen(conn, o.Heartbeat)
		}
	}
	return b
}

// Info describes the backend as it did when it was opened.
func (b *Backend) Info() core.Info { return b.info }

// Capabilities is what the backend claims.
func (b *Backend) Capabilities() *core.Capabilities { return b.caps }

// Generation is that of the tensor ids of all streams.
func (b *Backend) Generation() uint16 { return b.ids }

// Protocol is the version spoken with the plugin, and the range that the plugin speaks.
func (b *Backend) Protocol() (version uint32, plugin wire.Range) { return b.version, b.protocol }

// PID is the process id of the plugin, empty for an attached one.
func (b *Backend) PID() string { return b.proc.ID() }

// lose marks the connection as gone, because of err, and gives the error for all calls. It waits a moment for the process
// to have ended, so that the error can say how.
func (b *Backend) lose(err error) error {
	b.lostOnce.Do(func() {
		if b.closed.Load() {
			b.lostErr = fmt.Errorf("plugin %s: %w", b.proc.name, core.ErrClosed)
		} else {
			text := "the connection is gone"
			if !b.proc.attached {
				b.proc.await(400 * time.Millisecond)
				text = b.proc.how()
			}
			if beat := b.silent.Load(); beat != nil {
				text = *beat
			}
			if err != nil && !b.proc.ended() {
				text += ": " + status.Convert(err).Message()
			}
			if out := b.proc.tail.last(4); out != "" {
				text += "; last output: " + out
			}
			b.lostErr = fmt.Errorf("plugin %s: %w: %s", b.proc.name, core.ErrBackendLost, text)
		}
		close(b.lost)
		b.cancel()
	})
	<-b.lost
	return b.lostErr
}

// Lost is closed when the connection is lost or closed.
func (b *Backend) Lost() <-chan struct{} { return b.lost }

// gone is the error of a connection that is lost or closed, else nil.
func (b *Backend) gone() error {
	if b.closed.Load() {
		return fmt.Errorf("plugin %s: %w", b.proc.name, core.ErrClosed)
	}
	select {
	case <-b.lost:
		return b.lostErr
	default:
		return nil
	}
}

// callError translates the error of an unary call.
func (b *Backend) callError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, core.ErrProtocol):
		return err
	case ctx.Err() != nil:
		return canceled(b.proc.name, ctx)
	case status.Code(err) == codes.ResourceExhausted, status.Code(err) == codes.Internal && !b.proc.ended():
		return fmt.Errorf("plugin %s: %w: %v", b.proc.name, core.ErrProtocol, err)
	}
	return b.lose(err)
}

func canceled(name string, ctx context.Context) error {
	return fmt.Errorf("plugin %s: %w: %w", name, core.ErrCanceled, context.Cause(ctx))
}

// Supports answers from the capability document when that says no, or when the backend says that it is exact. Else it
// asks the plugin, once for each question.
func (b *Backend) Supports(n *op.Node, in []op.Desc) error {
	if err := b.gone(); err != nil {
		return err
	}
	if err := b.caps.Check(n, in); err != nil || b.exact {
		return err
	}
	query := wire.AppendQuery(nil, n, in)
	if answer, ok := b.answers.get(query); ok {
		return answer
	}
	ctx, cancel := context.WithTimeout(b.ctx, wire.CallTimeout)
	defer cancel()
	answer, err := b.caller.Supports(ctx, query)
	if err != nil {
		if e := b.gone(); e != nil {
			return e
		}
		return b.callError(ctx, err)
	}
	b.answers.put(query, answer)
	return answer
}

// answers remembers what Supports was told.
type answers struct {
	mu sync.Mutex
	m  map[string]error
}

const maxAnswers = 1 << 14

func (a *answers) get(query []byte) (answer error, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok = a.m[string(query)]
	return answer, ok
}

func (a *answers) put(query []byte, answer error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil || len(a.m) >= maxAnswers {
		a.m = map[string]error{}
	}
	a.m[string(query)] = answer
}

// OpenStream opens a queue on a device.
func (b *Backend) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	if err := b.gone(); err != nil {
		return nil, err
	}
	if device < 0 || device >= len(b.info.Devices) {
		return nil, fmt.Errorf("plugin %s: device %d of %d: %w", b.proc.name, device, len(b.info.Devices), core.ErrNotFound)
	}
	return openStream(ctx, b, device)
}

// closePatience is how long a plugin may take to end when it is asked to.
const closePatience = 1500 * time.Millisecond

// Close ends all streams and the process. It returns once the process is gone and its files are removed.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.cancel()
	if b.carrier != nil {
		_ = b.carrier.Close()
	}
	if b.conn != nil {
		_ = b.conn.Close()
	}
	b.proc.stop(closePatience)
	return nil
}
