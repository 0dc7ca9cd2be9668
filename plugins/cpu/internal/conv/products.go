package conv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// The strategies in this file multiply weights by patches: the rows are the outputs of a group, the columns the output positions. They
// differ in which operand is packed.

// inPlaceProduct reads rows of the padded input without packing patches.
type inPlaceProduct[T micro.Number] struct{}

const (
	// minFilled is the least percentage of a row's elements that must be outputs, since the other elements are computed and discarded. For
	// up to maxSparseOutputs outputs the limit is minFilledSparse.
	minFilled        = 90
	minFilledSparse  = 75
	maxSparseOutputs = 32
)

// fits reports whether reading in place costs less than packing. If the length of a row is no multiple of the kernel's columns, elements
// between rows are also computed, and discarded.
func (inPlaceProduct[T]) fits(p *Plan) bool {
	unit, last := gemm.IndirectCols[T](), p.lastAxis()
	if unit == 0 || len(p.axes) > 2 || last.advance != 1 || len(p.offsets) == 0 || p.taps <= 1 || p.view == overlappingPatches {
		return false
	}
	cols, step := last.out, p.axes[0].advance
	filled := minFilled
	if p.outputs/p.groups <= maxSparseOutputs {
		filled = minFilledSparse
	}
	return cols%unit == 0 || len(p.axes) == 1 || cols*100 >= step*filled
}

func (inPlaceProduct[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if use == fallback {
		return nil
	}
	return &inPlaceWeights[T]{packedGroups: packGroups(pool, p, w)}
}

type inPlaceWeights[T micro.Number] struct {
	total
	packedGroups[T]
}

func (w *inPlaceWeights[T]) run(r *run[T]) bool {
	r.eachGroup(w)
	return true
}

func (w *inPlaceWeights[T]) group(r *run[T], in *input[T], image, group int) {
	p, cols := r.plan, r.plan.lastAxis().out
	gemm.MulIndirect(r.pool, &gemm.Indirect[T]{A: w.packedGroups[group], Src: in.source(), Offsets: p.offsets, Reach: p.reach,
		Rows: p.outSize / cols, Cols: cols, Step: p.axes[0].advance,
		C: r.groupOutput(image, group), LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.groupEpilogue(group)})
}

// patchProduct packs patches of the input. The matrix of all patches is never
// in memory. It fits every plan.
type patchProduct[T micro.Number] struct{}

func (patchProduct[T]) fits(*Plan) bool { return true }

func (patchProduct[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if !p.packingPays(use) {
		return &patchWeights[T]{w: w}
	}
	return &patchWeights[T]{packedGroups: packGroups(pool, p, w)}
}

// packingPays reports whether packing the weights costs less than it saves.
func (p *Plan) packingPays(use use) bool {
	return use == kept || use == once && (p.batch > 1 || len(p.phases) > 0)
}

// patchWeights contains packed or unpacked weights.
type patchWeights[T micro.Number] struct {
	total
	packedGroups[T]
	w []T
}

func (w *patchWeights[T]) elements() int { return w.packedGroups.elements() + len(w.w) }

func (w *patchWeights[T]) run(r *run[T]) bool {
	r.eachGroup(w)
	return true
}

func (w *patchWeights[T]) group(r *run[T], in *input[T], image, group int) {
	p := r.plan
	args := gemm.Args[T]{M: p.outputs / p.groups, N: p.outSize, K: p.depth(),
		C: r.groupOutput(image, group), LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.groupEpilogue(group)}
	if w.packedGroups != nil {
		args.PackedA = w.packedGroups[group]
	} else {
		args.A = gemm.Row(w.w[group*args.M*args.K:], args.K)
	}
	switch p.view {
	case channelPatches:
		args.B = gemm.Row(in.source(), p.outSize)
	case overlappingPatches:
		args.B = gemm.Mat[T]{Data: in.x, RowStride: 1, ColStride: p.lastAxis().stride}
	default:
		args.PackB = in.packPatches
	}
	gemm.Mul(r.pool, &args)
}

// transposedProduct exchanges the operands: output positions are the rows, outputs the columns.
type transposedProduct[T micro.Number] struct{}

func (transposedProduct[T]) fits(p *Plan) bool {
	return p.prefersTransposed() && gemm.CanTranspose[T]()
}

// prefersTransposed reports whether there are many outputs, but too few output positions to fill vectors.
func (p *Plan) prefersTransposed() bool {
	return p.view != overlappingPatches && transposedFills(p.outSize, p.outputs/p.groups)
}

func transposedFills(positions, outputs int) bool {
	const lanes, maxPositions, minOutputs = 16, 128, 64
	waste := func(n, unit int) int { return (n + unit - 1) / unit * unit * 64 / n } // the padding of the last vector, relative to n
	return positions > 0 && positions <= maxPositions && outputs >= minOutputs && waste(positions, lanes) > waste(outputs, 2*lanes)+4
}

func (transposedProduct[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if use == fallback || !p.packingPays(use) && !(inPlaceProduct[T]{}).fits(p) {
		return nil
	}
	ready, perGroup, depth := &transposedWeights[T]{}, p.outputs/p.groups, p.depth()
	for g := range p.groups {
		a := gemm.Row(w[g*perGroup*depth:], depth)
		ready.groups = append(ready.groups, gemm.PackB(pool, depth, perGroup, a.T()))
	}
	return ready
}

type transposedWeights[T micro.Number] struct {
	total
	groups []*gemm.PackedB[T]
}

func (w *transposedWeights[T]) elements() int {
	n := 0
	for _, g := range w.groups {
		n += g.Elements()
	}
	return n
}

func (w *transposedWeights[T]) run(r *run[T]) bool {
	r.eachGroup(w)
	return true
}

func (w *transposedWeights[T]) group(r *run[T], in *input[T], image, group int) {
	p := r.plan
	args := gemm.Transposed[T]{M: p.outSize, N: p.outputs / p.groups, K: p.depth(), B: w.groups[group],
		C: r.groupOutput(image, group), LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.groupEpilogue(group)}
	if p.view == channelPatches {
		args.A = gemm.Row(in.source(), p.outSize).T()
	} else {
		args.PackA = in.packPatches
	}
	gemm.MulTransposed(r.pool, &args)
}

// packedGroups are the left operands of a product, packed by group.
type packedGroups[T micro.Number] []*gemm.PackedA[T]

func packGroups[T micro.Number](pool *par.Pool, p *Plan, w []T) packedGroups[T] {
	perGroup, depth := p.outputs/p.groups, p.depth()
	packed := make(packedGroups[T], p.groups)
	for g := range packed {
		packed[g] = gemm.PackA(pool, perGroup, depth, gemm.Row(w[g*perGroup*depth:], depth))
	}
	return packed
}

func (g packedGroups[T]) elements() int {
	n := 0
	for _, a := range g {
		n += a.Elements()
	}
	return n
}
