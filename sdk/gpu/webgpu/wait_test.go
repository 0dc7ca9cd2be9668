package webgpu_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// sleeper is a fake with its own Sleep. Its work ends at the poll number needed, counted from the first sleep.
type sleeper struct {
	*fake
	needed, looks int
	slept         []time.Duration
}

func (s *sleeper) Open(context.Context) (webgpu.Device, error) { return s, nil }

func (s *sleeper) Sleep(d time.Duration) {
	time.Sleep(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slept = append(s.slept, d)
}

func (s *sleeper) Poll() {
	s.mu.Lock()
	if len(s.slept) > 0 {
		s.looks++
		s.stuck = s.looks < s.needed
	}
	s.mu.Unlock()
	s.fake.Poll()
}

type one struct{ a webgpu.Adapter }

func (o one) Adapters(context.Context) ([]webgpu.Adapter, error) { return []webgpu.Adapter{o.a}, nil }

// fill queues work that does not end before the device sleeps, and returns its queue.
func fill(t *testing.T, a webgpu.Adapter, f *fake, patience time.Duration) gpu.Queue {
	t.Helper()
	d, err := webgpu.New(context.Background(), one{a}, webgpu.Options{Patience: patience})
	require.NoError(t, err)
	dev, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	m, err := dev.Alloc(64)
	require.NoError(t, err)
	q := queueOf(t, dev)
	require.NoError(t, q.Synchronize())
	f.mu.Lock()
	f.stuck = true
	f.mu.Unlock()
	require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
	return q
}

// TestWaitSleepsBriefly checks that a wait polls at once, and then between sleeps of the implementation that are short relative to the
// time that has passed, so that the end of work is noticed soon.
func TestWaitSleepsBriefly(t *testing.T) {
	s := &sleeper{fake: newFake(), needed: 40}
	q := fill(t, s, s.fake, time.Minute)
	require.Empty(t, s.slept, "probes end at a look")
	began := time.Now()
	require.NoError(t, q.Synchronize())
	waited := time.Since(began)
	require.NotEmpty(t, s.slept)
	for _, d := range s.slept {
		require.GreaterOrEqual(t, d, 20*time.Microsecond)
		require.LessOrEqual(t, d, max(20*time.Microsecond, waited/32))
	}
}

// TestWaitSleepsAreBounded checks that sleeps of the implementation do not extend Patience, after which a device without progress is
// lost.
func TestWaitSleepsAreBounded(t *testing.T) {
	s := &sleeper{fake: newFake(), needed: 1 << 30}
	q := fill(t, s, s.fake, 20*time.Millisecond)
	began := time.Now()
	require.ErrorIs(t, q.Synchronize(), core.ErrBackendLost)
	require.Less(t, time.Since(began), 10*time.Second)
	require.NotEmpty(t, s.slept)
}

// TestWaitsTogether checks that concurrent waits for the same work all end with it, whichever of them polls.
func TestWaitsTogether(t *testing.T) {
	s := &sleeper{fake: newFake(), needed: 20}
	q := fill(t, s, s.fake, time.Minute)
	e, err := q.Record(false)
	require.NoError(t, err)
	done := make(chan error)
	for range 4 {
		go func() { done <- e.Wait() }()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
}
