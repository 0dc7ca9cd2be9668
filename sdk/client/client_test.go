package client_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
)

func TestMain(m *testing.M) {
	fake.Maybe()
	os.Exit(m.Run())
}

// inProcess serves the fake inside this process and connects to it over a real socket.
func inProcess(t testing.TB, opts map[string]string) *client.Backend {
	t.Helper()
	return inProcessOver(t, "", opts)
}

func inProcessOver(t testing.TB, plane string, opts map[string]string) *client.Backend {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	at, done, err := serve.Attachable(ctx, serve.Options{Name: "fake", Open: fake.New})
	require.NoError(t, err)
	b, err := client.Attach(context.Background(), at, client.Options{Name: "fake", DataPlane: plane, Config: core.Config{Threads: 3, Options: opts}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		cancel()
		<-done
	})
	return b
}

// started starts this test binary as a plugin.
func started(t testing.TB, behaviour string, opts map[string]string) (*client.Backend, error) {
	t.Helper()
	b, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + behaviour},
		Config: core.Config{Threads: 3, Options: opts}, StartTimeout: patience})
	if b != nil {
		t.Cleanup(func() { require.NoError(t, b.Close()) })
	}
	return b, err
}

func f32(vs ...float32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func id(n uint64) op.TensorID { return op.NewTensorID(0, n) }

func desc(n uint64, dims ...int) op.Desc {
	return op.Desc{ID: id(n), DType: dtype.F32, Shape: dims}
}

// node makes a checked node with outputs numbered from out.
func node(t testing.TB, name string, out uint64, in []op.Desc, attrs ...op.Attr) op.Node {
	t.Helper()
	code, ok := op.ByName(name)
	require.True(t, ok, name)
	n, err := op.New(code, in, attrs...)
	require.NoError(t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = id(out + uint64(i))
	}
	return n
}

// opened is a device with one stream.
type opened struct {
	core.Stream
	dev core.Device
}

// Close closes the device.
func (o opened) Close() error { return o.dev.Close() }

func open(t testing.TB, b core.Backend) opened {
	t.Helper()
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return opened{stream(t, d), d}
}

func stream(t testing.TB, d core.Device) core.Stream {
	t.Helper()
	s, err := d.OpenStream(context.Background())
	require.NoError(t, err)
	return s
}

func read(t testing.TB, s core.Stream, d op.Desc) []byte {
	t.Helper()
	dst := make([]byte, d.Bytes())
	require.NoError(t, core.Read(context.Background(), s, d.ID, dst))
	return dst
}

func TestFirst(t *testing.T) {
	for name, start := range map[string]func() core.Backend{
		"in process": func() core.Backend { return inProcess(t, nil) },
		"process": func() core.Backend {
			b, err := started(t, fake.Good, nil)
			require.NoError(t, err)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := start()
			s := open(t, b)
			ctx := context.Background()
			require.NoError(t, s.Write(ctx, desc(1, 3), f32(1, 2, 3)))
			require.NoError(t, s.Write(ctx, desc(2, 3), f32(10, 20, 30)))
			require.NoError(t, s.Submit([]op.Node{node(t, "add", 3, []op.Desc{desc(1, 3), desc(2, 3)})}, nil))
			require.Equal(t, f32(11, 22, 33), read(t, s, desc(3, 3)))
			require.NoError(t, core.Sync(ctx, s))
			require.NoError(t, s.Submit(nil, []op.TensorID{id(1), id(2), id(3)}))
			require.NoError(t, core.Sync(ctx, s))
		})
	}
}
