package source_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goburn/burn/data/source"
	"github.com/stretchr/testify/require"
)

// The data sets on this machine, if any, match the description of their authors.
func TestSetsHere(t *testing.T) {
	if testing.Short() {
		t.Skip("-short is set: this test reads 100 MB of data sets")
	}
	for name, c := range map[string]struct {
		read  func(context.Context, source.Options) (train, test *source.Images, err error)
		n     int
		first []int // labels of the first training images, as published
		shape [3]int
		mean  float64 // mean of the training images, where white is 1; 0 if not compared
		std   float64 // standard deviation, where white is 1, as commonly used for the data set; 0 if not compared
	}{
		"mnist":    {source.MNIST, 60000, []int{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, [3]int{1, 28, 28}, 0.1307, 0.3081},
		"fashion":  {source.FashionMNIST, 60000, []int{9, 0, 0, 3, 0, 2, 7, 2, 5, 5}, [3]int{1, 28, 28}, 0.2860, 0.3530},
		"kmnist":   {source.KMNIST, 60000, []int{8, 7, 0, 1, 4}, [3]int{1, 28, 28}, 0, 0},
		"cifar10":  {source.CIFAR10, 50000, []int{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}, [3]int{3, 32, 32}, 0, 0},
		"cifar100": {source.CIFAR100, 50000, []int{19, 29, 0, 11, 1}, [3]int{3, 32, 32}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			train, test, err := c.read(context.Background(), source.Options{Offline: true})
			if errors.Is(err, source.ErrNotFound) {
				t.Skip("the data set is not on this machine: fetch it once with package source; ", err)
			}
			require.NoError(t, err)
			require.Equal(t, c.n, train.Len())
			require.Equal(t, 10000, test.Len())
			require.Equal(t, c.shape, [3]int{train.Channels, train.Height, train.Width})
			for i, want := range c.first {
				p, err := train.Get(i)
				require.NoError(t, err)
				require.Equal(t, want, p.Label, i)
			}
			count := map[int]int{}
			for i := range test.Len() {
				p, err := test.Get(i)
				require.NoError(t, err)
				count[p.Label]++
			}
			require.Len(t, count, len(test.Classes))
			if c.mean == 0 {
				return
			}
			var sum, squares float64
			for i := range train.Len() {
				p, err := train.Get(i)
				require.NoError(t, err)
				for _, v := range p.Pixels {
					sum += float64(v)
					squares += float64(v) * float64(v)
				}
			}
			n := float64(train.Len() * 784)
			require.InDelta(t, c.mean, sum/n/255, 5e-5)
			require.InDelta(t, c.std, math.Sqrt(squares/n-sum*sum/n/n)/255, 5e-5)
		})
	}
}

func TestTinyShakespeare(t *testing.T) {
	dir := os.Getenv("BURN_TESTDATA")
	if dir == "" {
		t.Skip("BURN_TESTDATA is not set: it names the folder with datasets/tinyshakespeare.txt")
	}
	text, err := source.TinyShakespeare(context.Background(), source.Options{Dir: filepath.Join(dir, "datasets"), Offline: true})
	require.NoError(t, err)
	require.Len(t, text, 1115394)
	require.True(t, strings.HasPrefix(text, "First Citizen:\n"))
}
