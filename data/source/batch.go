package source

import (
	"fmt"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
)

// Batch is pictures and their labels on a device.
type Batch struct {
	Images *tensor.Tensor // f32 [N, channels, height, width]
	Labels *tensor.Tensor // i64 [N]
}

// Release releases the tensors.
func (b *Batch) Release() { b.Images.Release(); b.Labels.Release() }

// Batcher returns a batcher of s's pictures with pixels (p/255 - mean)/std by channel; nil mean is 0 and nil std is 1.
func (s *Images) Batcher(mean, std []float32) (data.Batcher[Picture, *Batch], error) {
	if mean != nil && len(mean) != s.Channels || std != nil && len(std) != s.Channels {
		return nil, fmt.Errorf("source: %d means and %d stds, want %d, one per channel", len(mean), len(std), s.Channels)
	}
	scale, shift := make([]float32, s.Channels), make([]float32, s.Channels)
	for c := range scale {
		scale[c] = 1. / 255
		if std != nil {
			scale[c] /= std[c]
		}
		if mean != nil {
			shift[c] = -mean[c] * scale[c] * 255
		}
	}
	return func(items []Picture, dev *tensor.Device) (*Batch, error) {
		images, err := data.StackBytes(dev, items, func(p Picture) []byte { return p.Pixels }, scale, shift, s.Channels, s.Height, s.Width)
		if err != nil {
			return nil, err
		}
		labels, err := data.Scalars(dev, items, func(p Picture) int64 { return int64(p.Label) })
		if err != nil {
			return nil, err
		}
		return &Batch{images, labels}, nil
	}, nil
}
