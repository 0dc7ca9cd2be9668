//go:build unix

package client_test

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// TestHang stops a plugin, as a fault in a driver may: it is killed when it shows no sign of life.
func TestHang(t *testing.T) {
	var b *client.Backend
	var s core.Stream
	lives := func(heartbeat time.Duration) error {
		var err error
		b, err = client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good},
			Heartbeat: heartbeat})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		d, err := b.Open(context.Background(), 0)
		if err != nil {
			return err
		}
		if s, err = d.OpenStream(context.Background()); err != nil {
			return err
		}
		time.Sleep(heartbeat * 4 / 3)
		return core.Sync(context.Background(), s)
	}
	heartbeat := 300 * time.Millisecond
	err := lives(heartbeat)
	for err != nil && heartbeat < patience/8 {
		heartbeat *= 4 // a busy machine does not let it answer in time
		err = lives(heartbeat)
	}
	require.NoError(t, err, "it is asked, and answers")
	pid, err := strconv.Atoi(b.PID())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	for err == nil { // the signal may take a moment
		err = core.Sync(context.Background(), s)
	}
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.Contains(t, err.Error(), "no sign of life for "+heartbeat.String())
	select {
	case <-b.Lost():
	case <-time.After(patience):
		t.Fatal("the loss is not told")
	}
	require.False(t, running(pid))
}

// BenchmarkLoss measures the time from the death of a plugin to the error of a call that waits for it.
func BenchmarkLoss(b *testing.B) {
	var total, worst time.Duration
	for range b.N {
		be, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good},
			Config: core.Config{Options: map[string]string{"slow": "1h"}}})
		require.NoError(b, err)
		s := open(b, be)
		require.NoError(b, s.Submit(nil, nil))
		done := make(chan time.Time, 1)
		go func() {
			for core.Sync(context.Background(), s) == nil {
			}
			done <- time.Now()
		}()
		time.Sleep(5 * time.Millisecond)
		pid, err := strconv.Atoi(be.PID())
		require.NoError(b, err)
		start := time.Now()
		require.NoError(b, syscall.Kill(pid, syscall.SIGKILL))
		took := (<-done).Sub(start)
		total, worst = total+took, max(worst, took)
		require.NoError(b, be.Close())
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "loss-ms")
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
}
