package shape_test

import (
	"fmt"

	"github.com/goburn/burn/core/shape"
)

func ExampleBroadcast() {
	s, err := shape.Broadcast(shape.Of(4, 1, 3), shape.Of(5, 1))
	fmt.Println(s, err)
	_, err = shape.Broadcast(shape.Of(2), shape.Of(3))
	fmt.Println(err != nil)
	// Output:
	// [4,5,3] <nil>
	// true
}

// Permute describes a transposed matrix by other strides in the same buffer.
func ExampleView_Permute() {
	v := shape.Contiguous(shape.Of(2, 3)).Permute([]int{1, 0})
	fmt.Println(v.Shape, v.Strides, v.IsContiguous())
	// Output: [3,2] [1 3] false
}
