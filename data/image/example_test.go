package image_test

import (
	"fmt"

	"github.com/goburn/burn/data/image"
)

// The example converts a picture to the input of a network: resized and normalised.
func ExampleImage_Floats() {
	m := image.New(1, 2, 4)
	for i := range m.Pix {
		m.Pix[i] = 255
	}
	square, err := m.CenterCrop(2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels, err := square.Floats([]float32{0.5}, []float32{0.25})
	fmt.Println(pixels, err) // (1 - 0.5) / 0.25
	// Output: [2 2 2 2] <nil>
}
