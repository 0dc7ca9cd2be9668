package cli

import (
	"context"
	"math/rand/v2"
	"path/filepath"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/metric"
)

// mnistConfig returns the settings for the network of the Burn Book. They are the Book's except for the learning rate, which
// decays from a greater value.
func mnistConfig() trainConfig {
	return trainConfig{Epochs: 10, Batch: 64, Seed: 42, Rate: 2e-3, Schedule: "cosine", WeightDecay: 1e-4, Accumulate: 1, Keep: 2, NonFinite: 3, Export: "auto", Precision: "f32", Memory: "all", ReadEvery: 10,
		Image: &imageConfig{Channels: []int{8, 16}, Hidden: 512, Dropout: 0.5, Pool: "avg"}}
}

// fashionConfig returns settings for the same network with more channels, less dropout, max pooling instead of average pooling,
// and mirrored images.
func fashionConfig() trainConfig {
	c := mnistConfig()
	c.Epochs = 12
	c.Image = &imageConfig{Channels: []int{16, 32}, Hidden: 256, Dropout: 0.2, Pool: "max", Shift: 1, Mirror: true}
	return c
}

// imageNet is the network of the Burn Book's guide, with configurable sizes.
type imageNet struct {
	Conv1, Conv2     *nn.Conv2d
	Linear1, Linear2 *nn.Linear
	Dropout          *nn.Dropout
	max              bool
}

func newImageNet(d *tensor.Device, c *imageConfig, classes int) *imageNet {
	k := [2]int{3, 3}
	return &imageNet{
		Conv1: nn.NewConv2d(d, 1, c.Channels[0], k, nn.ConvConfig{}), Conv2: nn.NewConv2d(d, c.Channels[0], c.Channels[1], k, nn.ConvConfig{}),
		Linear1: nn.NewLinear(d, c.Channels[1]*8*8, c.Hidden, nn.LinearConfig{}), Linear2: nn.NewLinear(d, c.Hidden, classes, nn.LinearConfig{}),
		Dropout: nn.NewDropout(c.Dropout), max: c.Pool == "max",
	}
}

// Forward returns scores [N, classes] of images [N, 1, 28, 28].
func (m *imageNet) Forward(x *tensor.Tensor) *tensor.Tensor {
	x = m.Dropout.Forward(m.Conv1.Forward(x))
	x = m.Dropout.Forward(m.Conv2.Forward(x)).Relu()
	if m.max {
		x = x.MaxPool([]int{3, 3}, tensor.PoolOptions{}) // 24 to 8
	} else {
		x = x.AdaptiveAvgPool(8, 8)
	}
	x = m.Dropout.Forward(m.Linear1.Forward(x.FlattenFrom(1, -1))).Relu()
	return m.Linear2.Forward(x)
}

func trainMNIST(r *trainRun) error {
	return trainImages(r, source.MNIST, 0.1307, 0.3081)
}

func trainFashion(r *trainRun) error {
	return trainImages(r, source.FashionMNIST, 0.2860, 0.3530)
}

// trainImages trains on grey images of 28 by 28 whose pixels have the given mean and standard deviation.
func trainImages(r *trainRun, load func(context.Context, source.Options) (train, test *source.Images, err error), mean, std float32) error {
	whole, test, err := load(r.ctx, source.Options{Dir: r.flags.data, Only: r.flags.data != ""})
	if err != nil {
		return notFoundIsUsage(err)
	}
	c := r.config
	parts, err := data.RandomSplit[source.Picture](whole, uint64(c.Seed), 11./12, 1./12)
	if err != nil {
		return err
	}
	batcher, err := whole.Batcher([]float32{mean}, []float32{std})
	if err != nil {
		return err
	}
	fit := augmented(parts[0], c, whole.Width)
	return execute(r, trainJob[*imageNet, *source.Batch]{
		open: func(dev *tensor.Device) (*train.Parts[*imageNet, *source.Batch], error) {
			t, err := data.NewLoader(fit, batcher, dev, data.Options{Batch: c.Batch, Shuffle: true, Seed: uint64(c.Seed)})
			if err != nil {
				return nil, err
			}
			v, err := data.NewLoader(parts[1], batcher, dev, data.Options{Batch: 500})
			if err != nil {
				return nil, err
			}
			return &train.Parts[*imageNet, *source.Batch]{Model: newImageNet(dev, c.Image, len(whole.Classes)), Train: t, Valid: v}, nil
		},
		step: func(_ context.Context, m *imageNet, b *source.Batch) (train.Output, error) {
			scores := m.Forward(b.Images)
			return train.Output{Loss: scores.CrossEntropyLoss(b.Labels, tensor.ClassOptions{}), Predictions: scores, Targets: b.Labels, Items: b.Labels.Size()}, nil
		},
		metrics: []metric.Metric{metric.Loss(), metric.Accuracy(metric.ClassOptions{})},
		test: func(dev *tensor.Device) (train.Loader[*source.Batch], error) {
			return data.NewLoader(test, batcher, dev, data.Options{Batch: 500})
		},
		finish: func(ctx context.Context, m *imageNet, dir string) error {
			// The exported model accepts pixels in [0, 1] and returns probabilities: it includes the normalisation of the pixels.
			model, err := export.Module(ctx, m, func(m *imageNet, x *tensor.Tensor) *tensor.Tensor {
				return m.Forward(x.SubScalar(float64(mean)).DivScalar(float64(std))).Softmax(-1)
			}, export.Input{Name: "image", DType: dtype.F32, Shape: []int{export.Any, 1, whole.Height, whole.Width}}, export.Options{Name: r.name, Outputs: []string{"probabilities"}})
			if err != nil {
				return err
			}
			return export.Save(filepath.Join(dir, "model.onnx"), model)
		},
	})
}

// augmented returns ds with its images shifted and mirrored at random, differently in each epoch.
func augmented(ds data.Dataset[source.Picture], c trainConfig, side int) data.Dataset[source.Picture] {
	shift, mirror := c.Image.Shift, c.Image.Mirror
	if shift == 0 && !mirror {
		return ds
	}
	return data.Augment(ds, uint64(c.Seed), func(rng *rand.Rand, p source.Picture) (source.Picture, error) {
		dx, dy := rng.IntN(2*shift+1)-shift, rng.IntN(2*shift+1)-shift
		flip := mirror && rng.IntN(2) == 1
		out := make([]byte, len(p.Pixels))
		for y := range side {
			for x := range side {
				fx, fy := x+dx, y+dy
				if flip {
					fx = side - 1 - fx
				}
				if fx >= 0 && fx < side && fy >= 0 && fy < side {
					out[y*side+x] = p.Pixels[fy*side+fx]
				}
			}
		}
		return source.Picture{Pixels: out, Label: p.Label}, nil
	})
}
