package data_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

// digit is an item with an image of MNIST's size.
type digit struct {
	pixels []byte
	label  uint8
}

type digits struct{ images, labels *tensor.Tensor }

func (d digits) Release() { d.images.Release(); d.labels.Release() }

func digitBatch(items []digit, dev *tensor.Device) (d digits, err error) {
	d.images, err = data.StackBytes(dev, items, func(d digit) []byte { return d.pixels }, []float32{1. / 255 / 0.3081}, []float32{-0.1307 / 0.3081}, 1, 28, 28)
	if err == nil {
		d.labels, err = data.Scalars(dev, items, func(d digit) int64 { return int64(d.label) })
	}
	return d, err
}

// BenchmarkDigits compares the loader with a plain loop over the same shuffled items, in items per second.
func BenchmarkDigits(b *testing.B) {
	const n, batch = 60000, 64
	flat := make([]byte, n*784)
	for i := range flat {
		flat[i] = byte(i * 7)
	}
	set := data.Func(n, func(i int) (digit, error) { return digit{flat[i*784 : (i+1)*784], uint8(i % 10)}, nil })
	dev := open(b)
	b.Run("loop", func(b *testing.B) {
		for e := 0; b.Loop(); e++ {
			order := data.Permutation(n, 1, e)
			items := make([]digit, batch)
			for lo := 0; lo+batch <= n; lo += batch {
				for k := range items {
					items[k], _ = set.Get(order[lo+k])
				}
				d, err := digitBatch(items, dev)
				require.NoError(b, err)
				d.Release()
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "items/s")
	})
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l, err := data.NewLoader(set, digitBatch, dev, data.Options{Batch: batch, Shuffle: true, DropLast: true, Workers: workers})
			require.NoError(b, err)
			for b.Loop() {
				for d, err := range l.Batches(context.Background()) {
					require.NoError(b, err)
					d.Release()
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}
