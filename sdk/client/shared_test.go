package client_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/sdk/wire"
)

// plane serves a backend inside this process and connects to it with the data plane how.
func plane(t testing.TB, how string, opener core.Opener) *client.Backend {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := serve.Attachable(ctx, serve.Options{Name: "x", Open: opener, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	b, err := client.Attach(context.Background(), at, client.Options{Name: "x", DataPlane: how})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		cancel()
		<-done
	})
	return b
}

// TestPlanes checks that tensors of all sizes pass each data plane unchanged, and that none is left.
func TestPlanes(t *testing.T) {
	for _, how := range []string{"off", "socket", "on"} {
		for name, opener := range map[string]core.Opener{"copies": fake.New, "direct": cpu.New} {
			t.Run(how+"/"+name, func(t *testing.T) {
				s := open(t, plane(t, how, opener))
				ctx := context.Background()
				rnd := rand.NewChaCha8([32]byte{1})
				next := uint64(0)
				for range 3 {
					for _, n := range []int{1, wire.MaxInline/4 - 1, wire.MaxInline / 4, wire.MaxInline/4 + 1, 1 << 18, 1<<18 + 1, 3_000_001} {
						data := make([]byte, 4*n)
						_, _ = rnd.Read(data)
						for i := 3; i < len(data); i += 4 {
							data[i] &= 0x3f // no NaN
						}
						next += 2
						x, y := desc(next, n), desc(next+1, n)
						require.NoError(t, s.Write(ctx, x, data))
						neg := node(t, "neg", next+1, []op.Desc{x})
						require.NoError(t, s.Submit([]op.Node{neg}, nil))
						require.True(t, bytes.Equal(data, read(t, s, x)), n)
						got := read(t, s, y)
						for i := 3; i < len(got); i += 4 {
							got[i] ^= 0x80
						}
						require.True(t, bytes.Equal(data, got), n)
						require.NoError(t, s.Submit(nil, []op.TensorID{x.ID, y.ID}))
					}
				}
				require.NoError(t, core.Sync(ctx, s))
				require.Zero(t, tensors(t, s))
			})
		}
	}
}

func descriptors(t testing.TB) (files, maps int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux: descriptors and maps are counted in /proc")
	}
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return len(fds), strings.Count(string(text), "/memfd:")
}

// TestSharedLeaves opens and ends many streams with segments in every state and checks that they leave no descriptor or
// mapping.
func TestSharedLeaves(t *testing.T) {
	for name, opener := range map[string]core.Opener{"copies": fake.New, "direct": cpu.New} {
		t.Run(name, func(t *testing.T) {
			b := plane(t, "on", opener)
			const n = 1 << 18
			data := make([]byte, 4*n)
			round := func() {
				s := open(t, b)
				for i := range uint64(5) { // some kept, some idle
					require.NoError(t, s.Write(context.Background(), desc(i+1, n), data))
				}
				require.NoError(t, s.Submit(nil, []op.TensorID{id(2), id(4)}))
				read(t, s, desc(1, n))
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				require.ErrorIs(t, core.Read(ctx, s, id(1), data), core.ErrCanceled)
				require.NoError(t, s.Close())
			}
			round()
			files, maps := descriptors(t)
			require.Zero(t, maps)
			for range 20 {
				round()
			}
			require.Eventually(t, func() bool {
				f, m := descriptors(t)
				return f <= files && m == 0
			}, patience, time.Millisecond)
		})
	}
}

// TestSharedCancel cancels reads and writes at random moments and checks that later calls are correct.
func TestSharedCancel(t *testing.T) {
	s := open(t, plane(t, "on", cpu.New))
	const n = 1 << 21
	data, got := make([]byte, 4*n), make([]byte, 4*n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(i>>10) & 0x3f
	}
	require.NoError(t, s.Write(context.Background(), desc(1, n), data))
	for i := range uint64(60) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(4000))*time.Microsecond)
		if err := core.Read(ctx, s, id(1), got); err != nil {
			require.ErrorIs(t, err, core.ErrCanceled)
		} else {
			require.True(t, bytes.Equal(data, got))
		}
		clear(got)
		if err := s.Write(ctx, desc(10+i, n), data); err != nil {
			require.ErrorIs(t, err, core.ErrCanceled)
		} else {
			require.NoError(t, s.Submit(nil, []op.TensorID{id(10 + i)}))
		}
		cancel()
	}
	require.NoError(t, core.Read(context.Background(), s, id(1), got))
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, core.Sync(context.Background(), s))
	require.Eventually(t, func() bool { return tensors(t, s) == 1 }, patience, time.Millisecond)
}

// TestSharedKilled kills plugins during large transfers and checks that the host gets errors, and that no descriptor or mapping is left.
func TestSharedKilled(t *testing.T) {
	kill := func(delay time.Duration) {
		b, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good}})
		require.NoError(t, err)
		s := open(t, b)
		var pid int
		_, _ = fmt.Sscan(b.PID(), &pid)
		p, err := os.FindProcess(pid)
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(delay)
			_ = p.Kill()
		})
		const n = 1 << 20
		data := make([]byte, 4*n)
		for i := uint64(1); ; i++ {
			err := s.Write(context.Background(), desc(i, n), data)
			if err == nil {
				err = core.Read(context.Background(), s, id(i), data)
			}
			if err == nil {
				err = s.Submit(nil, []op.TensorID{id(i)})
			}
			if err != nil {
				require.ErrorIs(t, err, core.ErrBackendLost)
				break
			}
		}
		wg.Wait()
		_ = s.Close()
		require.NoError(t, b.Close())
	}
	kill(0)
	files, _ := descriptors(t)
	for i := range 5 {
		kill(time.Duration(i*7) * time.Millisecond)
	}
	require.Eventually(t, func() bool {
		f, m := descriptors(t)
		return f <= files && m == 0
	}, patience, time.Millisecond)
}
