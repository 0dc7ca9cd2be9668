package dtype_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
)

func Example() {
	d, err := dtype.Parse("bf16")
	fmt.Println(d, d.Size(), err)
	fmt.Println(dtype.Of[float32](), dtype.Floats.Has(d))
	fmt.Println(dtype.ToFloat16(0.1).Float32()) // the nearest f16 value
	// Output:
	// bf16 2 <nil>
	// f32 true
	// 0.099975586
}
