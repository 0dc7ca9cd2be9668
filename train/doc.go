// Package train fits models: a Learner runs epochs of a training step and a validation step, computes metrics, writes checkpoints
// and resumes from them, and sends events to listeners. Renderers are listeners: Plain here, and the packages train/dashboard,
// train/tensorboard and train/report.
//
//	learner := &train.Learner[*Model, Batch]{
//		Open: func(ctx context.Context) (*train.Parts[*Model, Batch], error) {
//			dev, err := burn.Open(ctx, "cpu", burn.WithGradients())
//			if err != nil {
//				return nil, err
//			}
//			loader, err := newLoader(dev)
//			return &train.Parts[*Model, Batch]{Device: dev, Model: NewModel(dev), Optimizer: optim.NewAdam(optim.AdamConfig{}),
//				Rate: schedule.Constant(1e-3), Train: loader}, err
//		},
//		TrainStep: func(ctx context.Context, m *Model, b Batch) (train.Output, error) {
//			scores := m.Forward(b.Images)
//			loss := scores.CrossEntropyLoss(b.Labels, tensor.ClassOptions{})
//			return train.Output{Loss: loss, Predictions: scores, Targets: b.Labels, Items: b.Images.Shape()[0]}, nil
//		},
//		Epochs:  10,
//		Metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
//		Dir:     "artifacts",
//	}
//	result, err := learner.Run(ctx)
//
// A step runs in a tensor.Scope, which releases all of its tensors, and the learner waits for it once, when it reads the metrics.
// The memory of the backward pass is chosen when the device is opened, by burn.WithGradients(autodiff.WithCheckpointing(...)).
//
// The package needs a device with gradients (decorators/autodiff) and must not know backends or models: both come from
// Learner.Open.
//
// # Files
//
//   - The loop: learner.go (settings and results), run.go (epochs, lost backends), step.go (one batch), evaluate.go (Evaluate),
//     interrupt.go.
//   - Batches: batch.go (scopes and release), copying.go (transfers on a separate stream), parallel.go (several devices).
//   - Values: measure.go (metrics of a step), scaling.go (loss scaling in f16), diverge.go (NaN and infinite losses), history.go,
//     summary.go.
//   - State: snapshot.go (saving and resuming), artifacts.go (the folder of an experiment). Package train/checkpoint stores
//     snapshots.
//   - Output: event.go (the events), plain.go (as lines of text). Metrics are in package train/metric.
package train
