package train_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/train"
)

// watched counts how often the host waits for a stream: consecutive waits without a command between them count as one.
type watched struct {
	core.Backend
	waits *atomic.Int32
}

func (w watched) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := w.Backend.Open(ctx, device)
	return watchedDevice{d, w.waits}, err
}

type watchedDevice struct {
	core.Device
	waits *atomic.Int32
}

func (watchedDevice) Extend(any) bool { return false }

func (d watchedDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return &watchedStream{Stream: s, waits: d.waits}, err
}

type watchedStream struct {
	core.Stream
	waits   *atomic.Int32
	waiting atomic.Bool
}

type watchedEvent struct {
	core.Ticket
	s *watchedStream
}

func (e watchedEvent) Wait(ctx context.Context) error {
	if !e.s.waiting.Swap(true) {
		e.s.waits.Add(1)
	}
	return e.Ticket.Wait(ctx)
}

func (s *watchedStream) Submit(n []op.Node, free []op.TensorID) error {
	if len(n) > 0 {
		s.waiting.Store(false)
	}
	return s.Stream.Submit(n, free)
}

func (s *watchedStream) Read(id op.TensorID, dst []byte) core.Ticket {
	return watchedEvent{s.Stream.Read(id, dst), s}
}

func (s *watchedStream) Signal() core.Event { return watchedEvent{s.Stream.Signal(), s} }

func (s *watchedStream) Wait(e core.Event) error {
	return s.Stream.Wait(e.(watchedEvent).Ticket.(core.Event))
}

// TestWaits checks that a training step waits once, or less often with ReadEvery, and a validation step once.
func TestWaits(t *testing.T) {
	for every, want := range map[int][]int{0: {6, 3}, 2: {3, 3}, 4: {2, 3}} {
		var waits atomic.Int32
		l := newLearner("", 1)
		l.ReadEvery = every
		l.Open = func(ctx context.Context) (*parts, error) {
			c, err := cpu()
			if err != nil {
				return nil, err
			}
			return opened(ctx, c.With(func(b core.Backend) core.Backend { return watched{b, &waits} }))
		}
		var got []int
		last := int32(0)
		l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
			switch e.(type) {
			case train.EpochStarted:
				last = waits.Load()
			case train.EpochEnded:
				got = append(got, int(waits.Load()-last))
			}
		})}
		r, err := l.Run(context.Background())
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, want, got, "read every %d", every)
		require.Contains(t, r.Summary(), "valid  accuracy")
	}
}
