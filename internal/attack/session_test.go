package attack

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// liar is a plugin that answers the requests on a stream with mutated replies. It ends the stream after some answers, or if no request
// comes for 100 ms.
type liar struct {
	wire.Handler // for methods that the test does not call
	seeds        [][]byte
	next         func() (n int, answers int) // number of the first mutation, and of answers, for a new stream
}

func (l *liar) Hello(context.Context, *wire.Hello) *wire.Welcome {
	return &wire.Welcome{Protocol: wire.Speaks(), Version: wire.Version, Info: core.Info{Name: "liar", Devices: []core.DeviceInfo{{}}}}
}

func (l *liar) Open(context.Context, *wire.Open) *wire.Opened {
	return &wire.Opened{Capabilities: &core.Capabilities{Types: dtype.Any, Limits: core.Limits{Rank: 8}}}
}

func (l *liar) Close(context.Context, uint64) error { return nil }

func (l *liar) Stream(s *wire.FrameStream) {
	if _, err := s.Receive(); err != nil {
		return
	}
	if s.Send(wire.OpenedFrame()) != nil {
		return
	}
	n, answers := l.next()
	asked := make(chan struct{}, 64)
	go func() {
		defer close(asked)
		for {
			if _, err := s.Receive(); err != nil {
				return
			}
			asked <- struct{}{}
		}
	}()
	for range answers {
		select {
		case <-asked:
		case <-time.After(100 * time.Millisecond): // the host waits for more: end the stream without it
			return
		}
		if s.Send(wire.NewFrame(mutation("replies", l.seeds, n))) != nil {
			return
		}
		n++
	}
}

// TestLyingPlugin runs sessions with a plugin whose replies are mutations of valid ones. Every call returns, none panics, and many answers
// are reported as violations of the protocol.
func TestLyingPlugin(t *testing.T) {
	sessions := size(200, 2000)
	n := 0
	r := rand.New(rand.NewPCG(5, 6))
	l := &liar{seeds: replies(t, ""), next: func() (int, int) { return 16 * n, 1 + r.IntN(8) }}
	dir, err := os.MkdirTemp("/tmp", "burn-attack-")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	addr := filepath.Join(dir, "s")
	lis, err := net.Listen("unix", addr)
	require.NoError(t, err)
	g := grpc.NewServer(wire.ServerOptions()...)
	wire.Register(g, l)
	go func() { _ = g.Serve(lis) }()
	defer g.Stop()
	b, err := client.Attach(ctx, wire.Attach{Network: "unix", Addr: addr}, client.Options{Name: "liar"})
	require.NoError(t, err)
	defer b.Close()
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	kinds := map[string]int{}
	for ; n < sessions; n++ {
		s, err := d.OpenStream(ctx)
		require.NoError(t, err)
		limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
		id := op.TensorID(b.Generation())<<48 | op.TensorID(n+1)
		for _, err := range []error{s.Write(limited, op.Desc{ID: id, DType: dtype.F32, Shape: []int{1}}, make([]byte, 4)),
			core.Read(limited, s, id, make([]byte, 4)), core.Sync(limited, s)} {
			require.NotErrorIs(t, err, core.ErrCanceled, "session %d hangs", n)
			kinds[kind(err)]++
		}
		cancel()
		require.NoError(t, s.Close())
	}
	t.Log(kinds)
	require.Greater(t, kinds["protocol"], sessions/4, "too few answers were refused as violations of the protocol")
}

func kind(err error) string {
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, core.ErrProtocol):
		return "protocol"
	}
	return "other"
}
