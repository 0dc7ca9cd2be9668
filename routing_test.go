package burn_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/program/place"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/nn/gpt2"
	"github.com/goburn/burn/tensor"
)

// forward computes the loss of a language model node by node.
func forward(t testing.TB, dev *tensor.Device) (round func() error, err error) {
	ctx := context.Background()
	dev.Seed(1)
	m := gpt2.New(dev, gpt2.Config{Layers: 6, Heads: 8, Size: 256, Vocabulary: 257, Context: 128})
	x, y := dev.RandomInt(dtype.I64, 0, 257, 4, 128), dev.RandomInt(dtype.I64, 0, 257, 4, 128)
	return func() error {
		loss := tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			return []*tensor.Tensor{m.Loss(x.In(d), y.In(d)).Detach()}
		})
		defer loss[0].Release()
		_, err := loss[0].Float64(ctx)
		return err
	}, nil
}

// BenchmarkPrediction compares the time that a router predicts for a run with the measured time: for each member alone, and for the split
// that it proposes. BURN_ROUTE_MEMBERS names the members (builtin:cpu+builtin:cpu by default), BURN_TESTDATA the folder with ResNet-50. Metrics are
// milliseconds, and predicted over measured time, which is to be between 0.7 and 1.3.
func BenchmarkPrediction(b *testing.B) {
	ctx := context.Background()
	specs := strings.Split(os.Getenv("BURN_ROUTE_MEMBERS"), "+")
	if specs[0] == "" {
		specs = []string{"builtin:cpu", "builtin:cpu"}
	}
	all := map[string]work{"gpt2": forward}
	if data := os.Getenv("BURN_TESTDATA"); data != "" {
		all["resnet50"] = inference(filepath.Join(data, "models", "light_resnet50", "model.onnx"))
	}
	for name, w := range all {
		b.Run(name, func(b *testing.B) {
			var places []*core.Place
			for _, s := range specs {
				p, err := host.Open(ctx, s, host.Options{Config: core.Config{Threads: 1}})
				require.NoError(b, err)
				p.Spec = string(rune('a' + len(places)))
				places = append(places, p)
			}
			r, err := router.New(places, router.SplitMeasured(""))
			require.NoError(b, err)
			dev, err := tensor.Own(ctx, &core.Place{Backend: fusion.Wrap(r, fusion.Idle(time.Minute)), Spec: "router"})
			require.NoError(b, err)
			defer dev.Close()
			round, err := w(b, dev)
			require.NoError(b, err)
			largest := func() *place.Plan {
				var p *place.Plan
				for _, x := range r.Plans() {
					if p == nil || len(x.Units) > len(p.Units) {
						p = x
					}
				}
				return p
			}
			done := func() bool {
				p := largest()
				for p != nil {
					for _, t := range p.Tried {
						if t.Chosen {
							return true
						}
					}
					return len(p.Tried) < 2
				}
				return false
			}
			for i := 0; i < place.Bound(len(specs)+1) && !done(); i++ {
				require.NoError(b, round())
			}
			for b.Loop() {
				require.NoError(b, round())
			}
			b.Log(largest().String()[strings.LastIndex(largest().String(), "\non ")+1:])
			for _, t := range largest().Tried {
				if t.Runs == 0 {
					continue
				}
				on := strings.Join(t.Members, "&")
				b.ReportMetric(t.Predicted.Seconds()*1e3, on+":predicted-ms")
				b.ReportMetric(t.Time.Seconds()*1e3, on+":measured-ms")
				b.ReportMetric(t.Predicted.Seconds()/t.Time.Seconds(), on+":ratio")
			}
		})
	}
}
