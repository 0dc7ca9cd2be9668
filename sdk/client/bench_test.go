package client_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
)

// BenchmarkSubmit measures the amortised cost of one small op across the process boundary, from Submit to its end in the plugin.
func BenchmarkSubmit(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"one", 1}, {"hundred", 100}} {
		b.Run(c.name, func(b *testing.B) {
			be, err := started(b, fake.Good, nil)
			require.NoError(b, err)
			s := open(b, be)
			require.NoError(b, s.Submit([]op.Node{full(b, 1, 0, 2), full(b, 2, 1, 2)}, nil))
			add := node(b, "add", 3, []op.Desc{desc(1, 2), desc(2, 2)})
			ctx := context.Background()
			require.NoError(b, core.Sync(ctx, s))
			b.ReportAllocs()
			b.ResetTimer()
			last := uint64(1)
			batch := make([]op.Node, 0, c.size)
			ins, outs := make([]op.TensorID, 2*c.size), make([]op.Desc, c.size)
			for i := range b.N {
				n := add
				k := len(batch)
				n.Inputs, n.Outputs, n.Drop = ins[2*k:2*k+2], outs[k:k+1], 1
				n.Inputs[0], n.Inputs[1] = id(last), id(2)
				n.Outputs[0] = add.Outputs[0]
				last = uint64(3 + i)
				n.Outputs[0].ID = id(last)
				batch = append(batch, n)
				if len(batch) == c.size {
					if err := s.Submit(batch, nil); err != nil {
						b.Fatal(err)
					}
					batch = batch[:0]
				}
			}
			require.NoError(b, s.Submit(batch, nil))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "submit-ns/op")
			require.NoError(b, core.Sync(ctx, s))
		})
	}
}

// BenchmarkSync measures one round trip.
func BenchmarkSync(b *testing.B) {
	be, err := started(b, fake.Good, nil)
	require.NoError(b, err)
	s := open(b, be)
	for b.Loop() {
		if err := core.Sync(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
}

const bulk = 64 << 20

func BenchmarkUpload(b *testing.B) {
	be, err := started(b, fake.Good, nil)
	require.NoError(b, err)
	s, data, ctx := open(b, be), make([]byte, bulk), context.Background()
	b.SetBytes(bulk)
	next := uint64(0)
	for b.Loop() {
		next++
		if err := s.Write(ctx, desc(next, bulk/4), data); err != nil {
			b.Fatal(err)
		}
		_ = s.Submit(nil, []op.TensorID{id(next)})
	}
	require.NoError(b, core.Sync(ctx, s))
}

func BenchmarkDownload(b *testing.B) {
	be, err := started(b, fake.Good, nil)
	require.NoError(b, err)
	s, data, ctx := open(b, be), make([]byte, bulk), context.Background()
	require.NoError(b, s.Write(ctx, desc(1, bulk/4), data))
	b.SetBytes(bulk)
	for b.Loop() {
		if err := core.Read(ctx, s, id(1), data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart measures the time from Start to the first result and to the end of the plugin.
func BenchmarkStart(b *testing.B) {
	var end float64
	for b.Loop() {
		be, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good}})
		require.NoError(b, err)
		s := open(b, be)
		require.NoError(b, s.Submit([]op.Node{full(b, 1, 3, 2)}, nil))
		require.Equal(b, f32(3, 3), read(b, s, desc(1, 2)))
		t0 := b.Elapsed()
		require.NoError(b, be.Close())
		end += float64((b.Elapsed() - t0).Microseconds())
	}
	b.ReportMetric(end/float64(b.N)/1000, "close-ms")
}
