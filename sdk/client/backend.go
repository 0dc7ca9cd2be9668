package client

import (
	"context"
	"errors"
	"fmt"
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
	conn       *grpc.ClientConn // connection of an attached plugin; nil: proc closes it
	caller     *wire.Caller
	info       core.Info
	generation uint16 // generation of the connection
	ids        uint16 // generation of the ids that callers use
	version    uint32
	protocol   wire.Range
	carrier    *wire.Carrier // carrier of streams; nil: they run over gRPC
	memfd      bool          // large tensors go through shared memory
	looks      bool          // waiting goroutines may poll for frames

	ctx    context.Context // context of all streams
	cancel context.CancelFunc
	closed atomic.Bool

	lostOnce sync.Once
	lost     chan struct{} // closed with lostErr
	lostErr  error
	silent   atomic.Pointer[string] // describes the missed heartbeat; nil: none was missed

	streams atomic.Uint64 // number of the last stream

	openTimeout, defineTimeout time.Duration
}

var _ core.Backend = (*Backend)(nil)

func newBackend(p *process, conn *grpc.ClientConn, c *wire.Caller, w *wire.Welcome, o *Options) *Backend {
	b := &Backend{proc: p, caller: c, info: w.Info, generation: o.Generation, openTimeout: o.OpenTimeout, defineTimeout: o.DefineTimeout,
		version: w.Version, protocol: w.Protocol, lost: make(chan struct{})}
	b.carrier, b.memfd = carrier(w, p, o)
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

// Info returns the description of the backend at the time it was opened.
func (b *Backend) Info() core.Info { return b.info }

// Generation returns the generation of the tensor ids of all streams.
func (b *Backend) Generation() uint16 { return b.ids }

// rebased changes the tensor ids in an error of the plugin to the generation that callers use. It modifies err, which is not shared
// yet.
func (b *Backend) rebased(err error) {
	if b.generation == b.ids {
		return
	}
	for ; err != nil; err = errors.Unwrap(err) {
		n, ok := err.(*core.NodeError)
		if !ok {
			continue
		}
		for i := range n.Outputs {
			if id := n.Outputs[i].ID; id.Generation() == b.generation {
				n.Outputs[i].ID = op.NewTensorID(b.ids, id.Sequence())
			}
		}
	}
}

// Protocol returns the protocol version in use, and the range of versions that the plugin supports.
func (b *Backend) Protocol() (version uint32, plugin wire.Range) { return b.version, b.protocol }

// PID returns the process id of the plugin, or "" for an attached plugin.
func (b *Backend) PID() string { return b.proc.ID() }

// lose marks the connection as lost because of err, and returns the error for all calls. It briefly waits for the process to end, so that
// the error can say how it ended.
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
			b.lostErr = &lossError{fmt.Errorf("plugin %s: %w: %s", b.proc.name, core.ErrBackendLost, text), b.proc.outside()}
		}
		close(b.lost)
		b.cancel()
	})
	<-b.lost
	return b.lostErr
}

// lossError is the loss of a plugin.
type lossError struct {
	error
	outside bool
}

func (e *lossError) Unwrap() error { return e.error }

// Transient is like StartError.Transient, for a plugin that had started.
func (e *lossError) Transient() bool { return e.outside }

// Lost returns a channel that is closed when the connection is lost or closed.
func (b *Backend) Lost() <-chan struct{} { return b.lost }

// gone returns the error of a connection that is lost or closed, else nil.
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

// callError translates the error of a unary call.
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

// lateError is the cause of a context that was canceled because the plugin did not answer in time.
type lateError struct {
	limit   time.Duration
	setting string // names the key in the configuration of burn and the field of Options
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%v: no answer for %v; if the device needs longer, raise %s", core.ErrProtocol, e.limit, e.setting)
}

func (e *lateError) Unwrap() error { return core.ErrProtocol }

// The settings that errors name: fields of Options, and keys of the configuration of burn.
const (
	startSetting  = "start_timeout in the configuration (StartTimeout in Options)"
	openSetting   = "open_timeout in the configuration (OpenTimeout in Options)"
	defineSetting = "define_timeout in the configuration (DefineTimeout in Options)"
)

// bounded returns ctx with a time limit, or without a limit if limit is negative. The limit is not sent to the plugin, so that the plugin
// cannot end the call because of it.
func bounded(ctx context.Context, limit time.Duration, setting string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if limit < 0 {
		return ctx, func() { cancel(nil) }
	}
	timer := time.AfterFunc(limit, func() { cancel(&lateError{limit, setting}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// canceled returns the error of a call whose context has ended.
func canceled(name string, ctx context.Context) error {
	var late *lateError
	if errors.As(context.Cause(ctx), &late) {
		return fmt.Errorf("plugin %s: %w", name, late)
	}
	return fmt.Errorf("plugin %s: %w: %w", name, core.ErrCanceled, context.Cause(ctx))
}

// closePatience is the time within which a plugin must end when it is asked to end.
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
