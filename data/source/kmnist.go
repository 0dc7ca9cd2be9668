package source

import "context"

// The checksums of the unpacked files are not published, so only packed files are accepted.
var kuzushiji = set{
	name: "kmnist",
	files: []file{
		{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "", "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4", 18165135},
		{"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz", "", "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17", 29497},
		{"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "", "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5", 3041136},
		{"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", "", "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c", 5120},
	},
	urls: []string{"https://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
}

// KMNIST returns images of cursive Japanese characters (Clanuwat and others 2018), in the sizes of MNIST.
func KMNIST(ctx context.Context, o Options) (train, test *Images, err error) {
	return kuzushiji.idx(ctx, o, []string{"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"})
}
