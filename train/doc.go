// Package train fits models: a Learner runs epochs of a training step and a validation step, follows metrics, writes checkpoints and
// goes on from them, and tells listeners what happens. Renderers are listeners: Plain here, and the packages train/dashboard,
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
// A step runs in a tensor.Scope, so that nothing it made is left behind, and is waited for once, where metrics are read. What memory the
// backward pass may use is chosen where the device is opened, by burn.WithGradients(autodiff.WithCheckpointing(...)).
package train
