// Package conv computes convolutions of any number of spatial dimensions up
// to six, with groups, strides, asymmetric and negative padding, kernel and
// input dilation, for all element types.
//
// It stands between the rules of package contraction, which lay tensors out,
// and the kernels of packages gemm, winograd, depthwise and vector. A Plan is
// the geometry of one convolution. A strategy is one algorithm: it says which
// plans it fits, packs weights for them and computes them. The list of
// strategies in strategy.go is the only place that chooses between algorithms:
// no other code may ask which one a plan uses.
//
// The files in the order of the data: plan.go and axis.go derive the geometry,
// strategy.go chooses, run.go executes, padding.go pads the input, patches.go
// gathers patches. Each strategy has a file or two: winograd.go, dots.go,
// depthwise.go, direct.go, long.go, joint.go and joint_run.go, phases.go,
// products.go. windows.go reduces windows with the same geometry.
//
// Tensors are contiguous: input [batch, channels, spatial...], weights
// [outputs, channels/groups, kernel...], output [batch, outputs, spatial...].
// As everywhere in machine learning the kernel is not flipped.
//
// Padding and the holes of a dilated input are zeros that take part in the
// sum: an infinite or NaN weight over them results in NaN. Results are equal
// to the bit for every thread count.
package conv

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Weights are the weights of a convolution, packed once for many runs of one
// plan. They are immutable and safe for concurrent use.
type Weights[T micro.Number] struct {
	plan    *Plan
	choices []prepared[T] // in order of preference; a later one runs what an earlier one refuses
	single  bool          // packed for one run
}

// Bytes returns the memory that the weights hold, including weights that are kept unpacked.
func (w *Weights[T]) Bytes() int {
	var zero T
	n := 0
	for _, c := range w.choices {
		n += c.elements()
	}
	return n * int(unsafe.Sizeof(zero))
}

// PackWeights prepares the weights w of the plan's weight shape for many runs.
// Some strategies refer to w: it must not change while the result is used.
func PackWeights[T micro.Number](pool *par.Pool, p *Plan, w []T) *Weights[T] {
	return pack(strategies[T](), pool, p, w, kept)
}

// Run computes the convolution of x with w into out, which must not overlap
// them. The epilogue may be nil; its rows are the output channels, and
// BiasCol must be nil. Run panics if a slice is too short for its shape.
func Run[T micro.Number](pool *par.Pool, x []T, xShape []int, w []T, wShape []int, params Params, out []T, epilogue *micro.Epilogue[T]) error {
	p, err := New(xShape, wShape, params)
	if err != nil {
		return err
	}
	return RunPlan(pool, p, x, w, out, epilogue)
}

// RunPlan is like Run, for a plan made beforehand.
func RunPlan[T micro.Number](pool *par.Pool, p *Plan, x, w, out []T, epilogue *micro.Epilogue[T]) error {
	return RunPacked(pool, p, x, packOnce(pool, p, w), out, epilogue)
}

// AddPlan is like RunPlan, but adds to the elements of out before the epilogue. Adds must report true for the plan.
func AddPlan[T micro.Number](pool *par.Pool, p *Plan, x, w, out []T, epilogue *micro.Epilogue[T]) error {
	return AddPacked(pool, p, x, packOnce(pool, p, w), out, epilogue)
}

// packOnce prepares w for a single run.
func packOnce[T micro.Number](pool *par.Pool, p *Plan, w []T) *Weights[T] {
	ready := pack(strategies[T](), pool, p, w, once)
	ready.single = true
	return ready
}

// RunPacked is like Run, for a plan and weights that were packed for it.
func RunPacked[T micro.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, epilogue *micro.Epilogue[T]) error {
	return execute(pool, p, x, w, out, false, epilogue)
}

// AddPacked is like AddPlan, for packed weights.
func AddPacked[T micro.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, epilogue *micro.Epilogue[T]) error {
	if !p.Adds() {
		return fmt.Errorf("conv: sum with an output, got a convolution of one input or two outputs for each group, want more")
	}
	return execute(pool, p, x, w, out, true, epilogue)
}

// Adds reports whether AddPlan and AddPacked support the plan.
func (p *Plan) Adds() bool { return !p.hasSingleInputs() && !p.hasFewOutputs() }
