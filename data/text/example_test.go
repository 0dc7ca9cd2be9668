package text_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/data/text"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example encodes characters as ids, and makes a batch of two texts of different lengths.
func Example() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	chars := text.Chars(text.Alphabet("abc"))
	batch, err := text.Pad(dev, [][]int64{chars.Encode("cab"), chars.Encode("b")}, 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := tensor.Data[int64](ctx, batch.IDs)
	fmt.Println(ids, err, batch.Lengths)
	seen, err := tensor.Data[bool](ctx, batch.KeyMask)
	fmt.Println(seen, err)
	// Output:
	// [2 0 1 1 0 0] <nil> [3 1]
	// [true true true true false false] <nil>
}
