package lt_test

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/lt"
)

func ExampleRowMajor() {
	s := lt.RowMajor(2, 5, 3, lt.F32, lt.F32, false, false, 3, 5, lt.F32, 5)
	fmt.Println(s.A.Rows, s.A.Cols, "by", s.B.Rows, s.B.Cols, "to", s.D.Rows, s.D.Cols)
	// Output: 5 3 by 3 2 to 5 2
}
