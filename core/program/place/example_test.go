package place_test

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/program/place"
)

// Solve assigns a product that is far faster on the second member to it, together with the node whose result it reads: then only x is
// copied.
func ExampleProblem_Solve() {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	x := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{64, 64}}
	b := op.NewBuilder(next)
	y := b.Do(op.MatMul, b.Do(op.Neg, x), x)
	p := &program.Program{Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}

	units := place.Units(group.NewGraph(p), func(int) []bool { return []bool{true, true} })
	q := place.NewProblem(p, units)
	q.Time = [][]float64{{1, 2}, {100, 1}}
	q.Link = func(_, _ int, bytes int64) float64 { return 1e-4 * float64(bytes) }
	q.Limit = []float64{math.Inf(1), math.Inf(1)}
	assigned, seconds := q.Solve()
	fmt.Printf("%v %.1f\n", assigned, seconds)
	fmt.Println(len(place.Parts(p, units, assigned)), "part")
	// Output:
	// [1 1] 6.3
	// 1 part
}
