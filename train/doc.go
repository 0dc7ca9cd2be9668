// Package train fits models: a Learner runs epochs of a training step and a validation step, follows metrics, writes checkpoints and
// goes on from them, and tells listeners what happens. Renderers are listeners: Plain here, and the packages train/dashboard,
// train/tensorboard and train/report.
//
//	learner := &train.Learner[*Model, Batch]{
//		Open: func(ctx context.Context) (*train.Parts[*Model, Batch], error) {
//			dev, err := tensor.Open(...) // wrapped by autodiff.Device
//			...
//			return &train.Parts[*Model, Batch]{Device: dev, Model: m, Optimizer: optim.NewAdam(...), Rate: schedule.Constant(1e-3), Train: loader, Valid: valid}, nil
//		},
//		TrainStep: func(ctx context.Context, m *Model, b Batch) (train.Output, error) {
//			scores := m.Forward(b.Images)
//			return train.Output{Loss: scores.CrossEntropyLoss(b.Labels, ...), Predictions: scores, Targets: b.Labels, Items: b.Len}, nil
//		},
//		Epochs:  10,
//		Metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
//		Dir:     "artifacts",
//	}
//	result, err := learner.Run(ctx)
//
// A step runs in a tensor.Scope, so that nothing it made is left behind, and is waited for once, where metrics are read. What memory the
// backward pass may use is chosen where the device is wrapped, by autodiff.WithCheckpointing.
package train
