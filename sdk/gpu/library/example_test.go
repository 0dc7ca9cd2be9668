package library_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
)

func ExampleSpec() {
	p := gpu.Product{Batch: 1, M: 2, N: 5, K: 3, A: gpu.Matrix{Type: dtype.F32, Row: 3, Col: 1}, B: gpu.Matrix{Type: dtype.F32, Row: 1, Col: 3},
		D: gpu.Matrix{Type: dtype.F32, Row: 5, Col: 1}}
	s, err := library.Spec(&p)
	fmt.Println(s.A.Rows, s.A.Cols, s.TransA, "by", s.B.Rows, s.B.Cols, s.TransB, "to", s.D.Rows, s.D.Cols, err)
	// Output: 3 5 true by 3 2 false to 5 2 <nil>
}
