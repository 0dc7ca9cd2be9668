package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
)

// cifar is a set of the CIFAR family: one archive, or its unpacked files.
type cifar struct {
	set
	labels      int // number of bytes before the pixels of a record; the last of these bytes is the class
	train, test []file
	classes     []string
}

var toronto = []string{"https://www.cs.toronto.edu/~kriz/"}

var cifar10 = cifar{
	set: set{name: "cifar-10-batches-bin", urls: toronto,
		files: []file{{name: "cifar-10-binary.tar.gz", sum: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", size: 170052171}}},
	labels: 1,
	train: []file{
		{name: "data_batch_1.bin", sum: "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
		{name: "data_batch_2.bin", sum: "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
		{name: "data_batch_3.bin", sum: "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
		{name: "data_batch_4.bin", sum: "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
		{name: "data_batch_5.bin", sum: "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
	},
	test:    []file{{name: "test_batch.bin", sum: "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
	classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
}

var cifar100 = cifar{
	set: set{name: "cifar-100-binary", urls: toronto,
		files: []file{{name: "cifar-100-binary.tar.gz", sum: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec", size: 168513733}}},
	labels: 2,
	train:  []file{{name: "train.bin", sum: "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"}},
	test:   []file{{name: "test.bin", sum: "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"}},
	classes: []string{"apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle", "bowl", "boy",
		"bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair", "chimpanzee", "clock", "cloud",
		"cockroach", "couch", "crab", "crocodile", "cup", "dinosaur", "dolphin", "elephant", "flatfish", "forest", "fox", "girl",
		"hamster", "house", "kangaroo", "keyboard", "lamp", "lawn_mower", "leopard", "lion", "lizard", "lobster", "man", "maple_tree",
		"motorcycle", "mountain", "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter", "palm_tree", "pear", "pickup_truck",
		"pine_tree", "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket", "rose", "sea",
		"seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider", "squirrel", "streetcar", "sunflower",
		"sweet_pepper", "table", "tank", "telephone", "television", "tiger", "tractor", "train", "trout", "tulip", "turtle",
		"wardrobe", "whale", "willow_tree", "wolf", "woman", "worm"},
}

// CIFAR10 returns colour images of 32 by 32 in 10 classes (Krizhevsky 2009): 50,000 for training and 10,000 for testing.
func CIFAR10(ctx context.Context, o Options) (train, test *Images, err error) {
	return cifar10.read(ctx, o)
}

// CIFAR100 is like CIFAR10, but its images have 100 classes (the fine labels).
func CIFAR100(ctx context.Context, o Options) (train, test *Images, err error) {
	return cifar100.read(ctx, o)
}

func (c *cifar) read(ctx context.Context, o Options) (train, test *Images, err error) {
	files, err := c.contents(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	var parts [2]*Images
	for k, list := range [][]file{c.train, c.test} {
		part := &Images{Channels: 3, Height: 32, Width: 32, Classes: c.classes}
		for _, f := range list {
			if err := part.append(files[f.name], c.labels); err != nil {
				return nil, nil, fmt.Errorf("source: %s: %s: %w", c.name, f.name, err)
			}
		}
		if err := part.check(); err != nil {
			return nil, nil, err
		}
		parts[k] = part
	}
	return parts[0], parts[1], nil
}

// contents returns the files by name: the unpacked files if all exist, else the files in the archive.
func (c *cifar) contents(ctx context.Context, o Options) (map[string][]byte, error) {
	all := slices.Concat(c.train, c.test)
	files := map[string][]byte{}
	loose := o
	loose.Offline = true
	for _, f := range all {
		b, err := c.open(ctx, loose, f)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		files[f.name] = b
	}
	if len(files) == len(all) {
		return files, nil
	}
	packed, err := c.open(ctx, o, c.files[0])
	if err != nil {
		return nil, err
	}
	files, err = unarchive(packed, all)
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", c.name, err)
	}
	return files, nil
}

// unarchive extracts the wanted files from a tar.gz, by their base names, and checks them.
func unarchive(packed []byte, want []file) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("tar: %w", err)
		}
		k := slices.IndexFunc(want, func(f file) bool { return f.name == path.Base(head.Name) })
		if k < 0 || head.Typeflag != tar.TypeReg {
			continue
		}
		content, err := limited(r)
		if err != nil {
			return nil, fmt.Errorf("tar: %s: %w", head.Name, err)
		}
		if got := sum(content); got != want[k].sum {
			return nil, fmt.Errorf("tar: %s: sha256 %s, want %s: %w", head.Name, got, want[k].sum, ErrChecksum)
		}
		files[want[k].name] = content
	}
	for _, f := range want {
		if files[f.name] == nil {
			return nil, fmt.Errorf("tar: no %s in the archive", f.name)
		}
	}
	return files, nil
}

// append adds the records of a file: labels, then three planes of 32 by 32.
func (s *Images) append(b []byte, labels int) error {
	const size = 3 * 32 * 32
	if len(b)%(labels+size) != 0 {
		return fmt.Errorf("cifar: %d bytes, want a multiple of %d, a record", len(b), labels+size)
	}
	n := len(b) / (labels + size)
	s.pixels, s.labels = slices.Grow(s.pixels, n*size), slices.Grow(s.labels, n)
	for ; len(b) > 0; b = b[labels+size:] {
		s.labels = append(s.labels, b[labels-1])
		s.pixels = append(s.pixels, b[labels:labels+size]...)
	}
	return nil
}
