package train_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/train"
)

// watched counts how often a stream is waited for: reads and syncs with no command between them are one wait.
type watched struct {
	core.Backend
	waits *int
}

func (w watched) Unwrap() any { return w.Backend }

func (w watched) OpenStream(ctx context.Context, device int) (core.Stream, error) {
	s, err := w.Backend.OpenStream(ctx, device)
	return &watchedStream{Stream: s, waits: w.waits}, err
}

type watchedStream struct {
	core.Stream
	waits   *int
	waiting bool
}

func (s *watchedStream) Unwrap() any { return s.Stream }

func (s *watchedStream) wait() {
	if !s.waiting {
		*s.waits++
	}
	s.waiting = true
}

func (s *watchedStream) Submit(n []op.Node) error {
	s.waiting = false
	return s.Stream.Submit(n)
}

func (s *watchedStream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	s.wait()
	return s.Stream.Read(ctx, id, dst)
}

func (s *watchedStream) Sync(ctx context.Context) error {
	s.wait()
	return s.Stream.Sync(ctx)
}

// TestWaits: a training step waits once, with ReadEvery less often, and a validation step once.
func TestWaits(t *testing.T) {
	for every, want := range map[int][]int{0: {6, 3}, 2: {3, 3}, 4: {2, 3}} {
		waits := 0
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
		last := 0
		l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
			switch e.(type) {
			case train.EpochStarted:
				last = waits
			case train.EpochEnded:
				got = append(got, waits-last)
			}
		})}
		r, err := l.Run(context.Background())
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, want, got, "read every %d", every)
		require.Contains(t, r.Summary(), "valid  accuracy")
	}
}
