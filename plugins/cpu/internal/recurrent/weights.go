package recurrent

import (
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// weights are the right operand of a product, packed if that is faster.
type weights[T float] struct {
	inputs, outputs int
	packed          *gemm.PackedB[T]
	plain           []T // [outputs, inputs]
	kept            *kept[T]
}

// kept contains the packed form of weights that are the same in every call.
type kept[T float] struct {
	once   sync.Once
	packed *gemm.PackedB[T]
}

// worthPacking is the least number of products for which weights are packed.
const worthPacking = 4

// set sets w to the given weights, [outputs, inputs]. uses is the number of products in each call. fixed means that the weights are the
// same in every call.
func (w *weights[T]) set(pool *par.Pool, fixed bool, uses, inputs, outputs int, given []T) {
	w.plain, w.inputs, w.outputs = given, inputs, outputs
	pack := func() *gemm.PackedB[T] { return gemm.PackB(pool, inputs, outputs, gemm.Row(given, inputs).T()) }
	switch {
	case fixed:
		w.kept.once.Do(func() { w.kept.packed = pack() })
		w.packed = w.kept.packed
	case uses >= worthPacking:
		w.packed = pack()
	}
}

// mul sets the right operand of g to the weights, and computes g.
func (w *weights[T]) mul(pool *par.Pool, g *gemm.Args[T]) {
	g.N, g.K, g.PackedB = w.outputs, w.inputs, w.packed
	if w.packed == nil {
		g.B = gemm.Row(w.plain, w.inputs).T()
	}
	gemm.Mul(pool, g)
}
