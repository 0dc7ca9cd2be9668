package burn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// work prepares a workload on a device and returns a function that runs one round of it, and waits until the device is done.
type work func(t testing.TB, dev *tensor.Device) (round func() error, err error)

// inference runs a model node by node.
func inference(path string) work {
	return func(t testing.TB, dev *tensor.Device) (func() error, error) {
		ctx := context.Background()
		m, err := onnx.Load(path, onnx.Options{})
		require.NoError(t, err)
		feed, _, err := bench.Inputs(m, path, 0)
		require.NoError(t, err)
		s, err := m.Open(dev)
		if err != nil {
			return nil, err
		}
		in := map[string]onnx.Value{}
		for name, v := range feed {
			if in[name], err = onnxtest.Upload(ctx, dev, v); err != nil {
				return nil, err
			}
		}
		return func() error {
			out, err := s.Run(ctx, in)
			if err != nil {
				return err
			}
			for _, v := range out {
				_, derr := onnxtest.Download(ctx, v)
				err = errors.Join(err, derr)
			}
			for _, v := range out {
				v.Release()
			}
			return errors.Join(err, dev.Sync(ctx))
		}, nil
	}
}

// training trains a model node by node.
func training(make func(d *tensor.Device) (model any, loss func(d *tensor.Device) *tensor.Tensor)) work {
	return func(t testing.TB, dev *tensor.Device) (round func() error, err error) {
		ctx := context.Background()
		var loss func(d *tensor.Device) *tensor.Tensor
		var params []nn.Named
		err = tensor.Try(func() {
			dev.Seed(1)
			var model any
			model, loss = make(dev)
			params = nn.Trained(model)
		})
		opt := optim.NewAdamW(optim.AdamWConfig{})
		return func() error {
			var grads *tensor.Gradients
			var mean *tensor.Tensor
			var err error
			terr := tensor.Try(func() {
				tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
					l := loss(d)
					if grads, err = l.Backward(); err != nil {
						return nil
					}
					for _, p := range params {
						grads.Of(p.Value()).Keep()
					}
					mean = l.Detach().Keep()
					return nil
				})
			})
			if err := errors.Join(err, terr); err != nil {
				return err
			}
			defer mean.Release()
			defer grads.GiveUp().Release()
			if err := opt.Step(1e-3, params, grads); err != nil {
				return err
			}
			if _, err := mean.Float64(ctx); err != nil {
				return err
			}
			return dev.Sync(ctx)
		}, err
	}
}

// rounds runs n rounds of work on the cpu backend with a memory limit, and returns how often fusion ran a program.
func rounds(t testing.TB, w work, n int, limit int64, fused bool) (hits int64, err error) {
	b, err := cpu.New(core.Config{Threads: 1, Options: map[string]string{"memory_limit": strconv.FormatInt(limit, 10)}})
	require.NoError(t, err)
	var report fusion.Report
	if fused {
		b = fusion.Wrap(b, fusion.With(&report), fusion.Idle(time.Minute))
	}
	dev, err := tensor.Own(context.Background(), &core.Place{Backend: autodiff.Wrap(nodes{b}), Spec: "limited"})
	require.NoError(t, err)
	defer func() { _ = dev.Close() }() // it may be out of memory
	round, err := w(t, dev)
	for range n {
		if err == nil {
			err = round()
		}
	}
	for _, s := range report.Stats() {
		hits += s.Hits
	}
	return hits, err
}

// With fusion, the peak memory of models is no greater than without, except for the rounding of a pool. The least memory in which
// a model runs without fusion is found by bisection.
func TestPeakOfModels(t *testing.T) {
	all := map[string]work{"digits": inference("examples/digits/digits.onnx")}
	for _, dropout := range []float64{0, 0.5} {
		for _, batch := range []int{2, 8} {
			all[fmt.Sprintf("cnn, batch %d, dropout %v", batch, dropout)] = training(func(d *tensor.Device) (any, func(d *tensor.Device) *tensor.Tensor) {
				m := newSmall(d, dropout)
				x, y := d.Uniform(dtype.F32, 0, 1, batch, 1, 28, 28), d.RandomInt(dtype.I64, 0, 10, batch)
				return m, func(d *tensor.Device) *tensor.Tensor { return m.loss(x.In(d), y.In(d)) }
			})
		}
	}
	for _, layers := range []int{1, 2, 3} {
		all[fmt.Sprintf("gpt2, %d layers", layers)] = training(func(d *tensor.Device) (any, func(d *tensor.Device) *tensor.Tensor) {
			m := gpt2.New(d, gpt2.Config{Layers: layers, Heads: 4, Size: 64, Vocabulary: 257, Context: 32})
			x, y := d.RandomInt(dtype.I64, 0, 257, 4, 32), d.RandomInt(dtype.I64, 0, 257, 4, 32)
			return m, func(d *tensor.Device) *tensor.Tensor { return m.Loss(x.In(d), y.In(d)) }
		})
	}
	if data := os.Getenv("BURN_TESTDATA"); data != "" && (long.Tests() || !testing.Short()) {
		paths, err := filepath.Glob(filepath.Join(data, "models", "*", "model.onnx"))
		require.NoError(t, err)
		for _, p := range paths {
			name := filepath.Base(filepath.Dir(p))
			if name == "unsupported_custom_ops" || strings.HasPrefix(name, "light_") {
				continue // node by node, the weights of the light models are fills that live for one node each; a prepared program keeps them
			}
			all[name] = inference(p)
		}
		require.GreaterOrEqual(t, len(all), 20)
	}
	for name, w := range all {
		t.Run(name, func(t *testing.T) {
			low, high := int64(0), int64(2<<30)
			_, err := rounds(t, w, 3, high, false)
			require.NoError(t, err)
			for high-low > max(high/100, 4<<10) {
				mid := (low + high) / 2
				switch _, err := rounds(t, w, 3, mid, false); {
				case err == nil:
					high = mid
				case errors.Is(err, core.ErrOutOfMemory):
					low = mid
				default:
					require.NoError(t, err)
				}
			}
			slack := max(high/50, 16<<10)
			hits, err := rounds(t, w, 8, high+slack, true)
			require.NoError(t, err, "within %d KiB and %d KiB", high>>10, slack>>10)
			require.Positive(t, hits)
			t.Logf("%d KiB, %d runs of programs", high>>10, hits)
		})
	}
}
