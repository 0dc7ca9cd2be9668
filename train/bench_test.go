package train_test

import (
	"context"
	"testing"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// BenchmarkEpoch runs 6 steps of a small model: with the learner, and with a plain loop that reads the loss in each step.
func BenchmarkEpoch(b *testing.B) {
	ctx := context.Background()
	b.Run("learner", func(b *testing.B) {
		l := newLearner("", b.N)
		l.Metrics, l.TrainMetrics = nil, nil
		l.Open = func(ctx context.Context) (*parts, error) {
			p, err := open(ctx)
			p.Valid = nil
			return p, err
		}
		l.Listeners = []train.Listener{train.ListenerFunc(func(e train.Event) {
			if _, ok := e.(train.Started); ok {
				b.ResetTimer()
			}
		})}
		r, err := l.Run(ctx)
		if err != nil {
			b.Fatal(err)
		}
		_ = r.Close()
	})
	b.Run("by hand", func(b *testing.B) {
		p, err := open(ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		params := nn.Trained(p.Model)
		b.ResetTimer()
		for range b.N {
			for x, err := range p.Train.Batches(ctx) {
				if err != nil {
					b.Fatal(err)
				}
				tensor.Scope(p.Device, func(d *tensor.Device) []*tensor.Tensor {
					o, _ := step(ctx, p.Model, batch{x.X.In(d), x.Y.In(d), x.n})
					g, err := o.Loss.Backward()
					if err != nil {
						b.Fatal(err)
					}
					if err := p.Optimizer.Step(p.Rate.Rate(), params, g); err != nil {
						b.Fatal(err)
					}
					p.Rate.Advance()
					if _, err := o.Loss.Float64(ctx); err != nil {
						b.Fatal(err)
					}
					return nil
				})
				x.X.Release()
				x.Y.Release()
			}
		}
	})
}
