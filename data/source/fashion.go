package source

import "context"

// Debian recompresses the files, so only the checksums of the unpacked files match.
var fashion = set{
	name: "fashion-mnist",
	files: []file{
		{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", 26421880},
		{"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", 29515},
		{"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", 4422102},
		{"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", 5148},
	},
	urls:   []string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
	system: []string{"/usr/share/datasets/fashion-mnist"},
	remedy: "apt install dataset-fashion-mnist",
}

// FashionMNIST returns images of clothing (Xiao, Rasul, Vollgraf 2017), in the sizes of MNIST.
func FashionMNIST(ctx context.Context, o Options) (train, test *Images, err error) {
	return fashion.idx(ctx, o, []string{"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"})
}
