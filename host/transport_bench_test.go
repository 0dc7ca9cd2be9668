package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/restore"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/tensor"
)

// envCPU is the variable that makes this test binary run as the cpu plugin.
const envCPU = "BURN_TEST_CPU_PLUGIN"

func maybeCPU() {
	if os.Getenv(envCPU) != "" {
		serve.Main("cpu", cpu.New)
	}
}

// cpuProcess starts the cpu backend as a plugin with the data plane plane.
func cpuProcess(t testing.TB, plane string) *core.Place {
	b, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "cpu", Env: []string{envCPU + "=1"}, DataPlane: plane})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return &core.Place{Backend: b, Spec: "process:cpu:0", Transport: "process"}
}

// lastingCPU starts the cpu backend as a plugin that is restored after a loss.
func lastingCPU(t testing.TB) *core.Place {
	b, err := restore.Open(context.Background(), restore.Options{Open: func(ctx context.Context, g uint16) (core.Backend, error) {
		return client.Start(ctx, os.Args[0], client.Options{Name: "cpu", Env: []string{envCPU + "=1"}, Generation: g, Rebase: true})
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return &core.Place{Backend: b, Spec: "process:cpu:0", Transport: "process"}
}

func cpuBuiltin(t testing.TB) *core.Place {
	d, err := core.OpenPlace("cpu", core.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// opened opens the device of p and a stream.
func opened(t testing.TB, p *core.Place) (core.Device, core.Stream) {
	d, err := p.Open(context.Background())
	require.NoError(t, err)
	s, err := d.OpenStream(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d, s
}

// inference opens a model on a device. Each call of the returned function writes the inputs, runs the model and reads the outputs.
func inference(t testing.TB, d *core.Place, model string) func() {
	data := os.Getenv("BURN_TESTDATA")
	if data == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder that holds models/")
	}
	dir := filepath.Join(data, "models", model)
	m, err := onnx.Load(filepath.Join(dir, "model.onnx"), onnx.Options{})
	require.NoError(t, err)
	ctx := context.Background()
	dev, err := tensor.On(ctx, d)
	require.NoError(t, err)
	s, err := m.Open(dev)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(); dev.Close() })
	feed := map[string]onnxtest.Value{}
	for i, in := range m.Inputs() {
		v, err := onnxtest.ReadFile(filepath.Join(dir, "test_data_set_0", "input_"+string(rune('0'+i))+".pb"), in)
		if errors.Is(err, os.ErrNotExist) {
			continue // an input with a default
		}
		require.NoError(t, err)
		feed[in.Name] = v
	}
	return func() {
		in := map[string]onnx.Value{}
		for name, v := range feed {
			x, err := onnxtest.Upload(ctx, dev, v)
			require.NoError(t, err)
			in[name] = x
		}
		out, err := s.Run(ctx, in)
		require.NoError(t, err)
		for _, v := range out {
			_, err := onnxtest.Download(ctx, v)
			require.NoError(t, err)
			v.Release()
		}
		for _, v := range in {
			v.Release()
		}
	}
}

// BenchmarkTransport runs models alternately on the cpu backend in this process and in a plugin process. It reports both medians and the
// time that the process adds.
func BenchmarkTransport(b *testing.B) {
	for _, model := range []string{"mnist_cnn", "light_resnet50"} {
		for _, way := range []string{"off", "socket", "on", "restored"} {
			b.Run(model+"/"+way, func(b *testing.B) {
				here := inference(b, cpuBuiltin(b), model)
				device := lastingCPU
				if way != "restored" {
					device = func(t testing.TB) *core.Place { return cpuProcess(t, way) }
				}
				there := inference(b, device(b), model)
				var times [2][]time.Duration
				for range 3 {
					here()
					there()
				}
				block := 1
				if model == "mnist_cnn" {
					block = 50 // lets the threads of the other process come to rest
				}
				b.ResetTimer()
				for range b.N {
					for i, f := range []func(){here, there} {
						for range block {
							start := time.Now()
							f()
							times[i] = append(times[i], time.Since(start))
						}
					}
				}
				median := func(l []time.Duration) float64 {
					slices.Sort(l)
					return float64(l[len(l)/2].Nanoseconds()) / 1000
				}
				in, out := median(times[0]), median(times[1])
				b.ReportMetric(in, "builtin-µs")
				b.ReportMetric(out, "process-µs")
				b.ReportMetric(out-in, "added-µs")
				b.ReportMetric(100*(out/in-1), "added-%")
			})
		}
	}
}

// BenchmarkBulk writes and reads 256 MiB. It reports the throughput, also as a fraction of that of memcpy in the same run.
func BenchmarkBulk(b *testing.B) {
	const size = 256 << 20
	for _, way := range []string{"off", "socket", "on"} {
		b.Run(way, func(b *testing.B) {
			dev, s := opened(b, cpuProcess(b, way))
			src, dst := make([]byte, size), make([]byte, size)
			for i := range src {
				src[i] = byte(i >> 12)
			}
			copy(dst, src)
			ctx := context.Background()
			var write, read, plain time.Duration
			round := func() {
				d := op.Desc{ID: dev.NewIDs(1), DType: dtype.U8, Shape: []int{size}}
				t0 := time.Now()
				require.NoError(b, s.Write(ctx, d, src))
				t1 := time.Now()
				require.NoError(b, core.Read(ctx, s, d.ID, dst))
				t2 := time.Now()
				require.NoError(b, s.Submit(nil, []op.TensorID{d.ID}))
				require.NoError(b, core.Sync(ctx, s))
				t3 := time.Now()
				copy(dst, src)
				write, read, plain = write+t1.Sub(t0), read+t2.Sub(t1), plain+time.Since(t3)
			}
			round()
			write, read, plain = 0, 0, 0
			b.ResetTimer()
			for range b.N {
				round()
			}
			rate := func(d time.Duration) float64 { return float64(b.N) * size / d.Seconds() / 1e9 }
			b.ReportMetric(rate(write), "write-GB/s")
			b.ReportMetric(rate(read), "read-GB/s")
			b.ReportMetric(rate(plain), "memcpy-GB/s")
			b.ReportMetric(rate(write)/rate(plain), "write/memcpy")
			b.ReportMetric(rate(read)/rate(plain), "read/memcpy")
		})
	}
}

// BenchmarkOps measures a stream of 10,000 small ops with one synchronization at the end.
func BenchmarkOps(b *testing.B) {
	for _, way := range []string{"builtin", "off", "socket", "on"} {
		b.Run(way, func(b *testing.B) {
			d := cpuBuiltin(b)
			if way != "builtin" {
				d = cpuProcess(b, way)
			}
			ctx := context.Background()
			dev, s := opened(b, d)
			const n, batch = 10_000, 100
			x := op.Desc{ID: dev.NewIDs(1), DType: dtype.F32, Shape: []int{4}}
			require.NoError(b, s.Write(ctx, x, make([]byte, 16)))
			last := x.ID
			for b.Loop() {
				for range n / batch {
					nodes := make([]op.Node, batch)
					for i := range nodes {
						in := x
						in.ID = last
						n, err := op.New(op.Neg, []op.Desc{in})
						require.NoError(b, err)
						nodes[i], last = n, dev.NewIDs(1)
						nodes[i].Outputs[0].ID, nodes[i].Drop = last, 1
					}
					require.NoError(b, s.Submit(nodes, nil))
				}
				require.NoError(b, core.Sync(ctx, s))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
		})
	}
}
