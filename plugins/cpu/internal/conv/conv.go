package conv

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

// Weights are the weights of a convolution in the form it uses, made once for
// many runs. They are immutable, safe for concurrent use, and valid for every
// plan of the shapes and groups that they were made for.
type Weights[T gemm.Number] struct {
	outputs, groups, depth int
	plain                  []T                 // for the direct way
	packed                 []*gemm.PackedA[T]  // one for each group
	turned                 []*gemm.PackedB[T]  // one for each group, for plans that compute the transposed product
	phases                 []*Weights[T]       // of the phases of a plan
	flat                   []*gemm.PackedA[T]  // by phase, group and block of outputs, for phases computed together
	tiled                  []*winograd.Weights // one for each group, beside the plain ones
	single                 bool                // made for one run
}

// Bytes returns the memory that the weights hold, including weights that are kept unpacked.
func (w *Weights[T]) Bytes() int {
	var zero T
	n := len(w.plain)
	for _, list := range [][]*gemm.PackedA[T]{w.packed, w.flat} {
		for _, p := range list {
			n += p.Elements()
		}
	}
	for _, p := range w.turned {
		n += p.Elements()
	}
	for _, t := range w.tiled {
		n += t.Elements()
	}
	bytes := n * int(unsafe.Sizeof(zero))
	for _, p := range w.phases {
		bytes += p.Bytes()
	}
	return bytes
}

// PackWeights prepares the weights w of the plan's weight shape for many runs.
// Plain weights are not copied: w must not change while the result is used.
func PackWeights[T gemm.Number](pool *par.Pool, p *Plan, w []T) *Weights[T] {
	if tiled := tiledWeights(pool, p, w); tiled != nil {
		return &Weights[T]{outputs: p.outputs, groups: p.groups, depth: p.depth(), plain: w[:p.outputs*p.depth()], tiled: tiled}
	}
	return packWeights(pool, p, w)
}

// packWeights is PackWeights without the Winograd transform, which pays only over many runs.
func packWeights[T gemm.Number](pool *par.Pool, p *Plan, w []T) *Weights[T] {
	perGroup, depth := p.outputs/p.groups, p.depth()
	ready := &Weights[T]{outputs: p.outputs, groups: p.groups, depth: depth, plain: w[:p.outputs*depth]}
	if isDirect[T](p) || isLong[T](p) {
		return ready
	}
	if len(p.phases) > 0 && finite(ready.plain) {
		if isFlat[T](p) {
			ready.flat = flatWeights(pool, p, w, 0, p.weightStrides())
		} else {
			ready.phases = phaseWeights(pool, p, w)
		}
		return ready // plain ones are for sums
	}
	ready.plain = nil
	for g := range p.groups {
		a := gemm.Row(w[g*perGroup*depth:], depth)
		if p.turned && gemm.CanTurn[T]() {
			ready.turned = append(ready.turned, gemm.PackB(pool, depth, perGroup, a.T()))
			continue
		}
		ready.packed = append(ready.packed, gemm.PackA(pool, perGroup, depth, a))
	}
	return ready
}

// depth is the number of products in one output element.
func (p *Plan) depth() int { return p.channels / p.groups * p.taps }

// Run computes the convolution of x with w into out, which must not overlap
// them. The epilogue may be nil; its rows are the output channels, and
// BiasCol must be nil. Slices that are too short for the shapes panic.
func Run[T gemm.Number](pool *par.Pool, x []T, xShape []int, w []T, wShape []int, params Params, out []T, epilogue *gemm.Epilogue[T]) error {
	p, err := New(xShape, wShape, params)
	if err != nil {
		return err
	}
	return RunPlan(pool, p, x, w, out, epilogue)
}

// RunPlan is Run for shapes that have been laid out.
func RunPlan[T gemm.Number](pool *par.Pool, p *Plan, x, w, out []T, epilogue *gemm.Epilogue[T]) error {
	return RunPacked(pool, p, x, weightsFor(pool, p, w), out, epilogue)
}

// AddPlan is RunPlan that adds to what out holds, before the epilogue. The plan
// must add (see Adds).
func AddPlan[T gemm.Number](pool *par.Pool, p *Plan, x, w, out []T, epilogue *gemm.Epilogue[T]) error {
	return AddPacked(pool, p, x, weightsFor(pool, p, w), out, epilogue)
}

// weightsFor returns w in the form for a single run.
func weightsFor[T gemm.Number](pool *par.Pool, p *Plan, w []T) *Weights[T] {
	if (p.batch == 1 && len(p.phases) == 0 && (areDots[T](p) || !p.inPlaces(gemm.PlaceCols[T]()))) || isDirect[T](p) || isLong[T](p) {
		return &Weights[T]{outputs: p.outputs, groups: p.groups, depth: p.depth(), plain: w, single: true}
	}
	ready := packWeights(pool, p, w)
	ready.single = true
	return ready
}

// RunPacked is Run for shapes that have been laid out and prepared weights.
func RunPacked[T gemm.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, epilogue *gemm.Epilogue[T]) error {
	return start(pool, p, x, w, out, false, epilogue)
}

// AddPacked is AddPlan for prepared weights.
func AddPacked[T gemm.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, epilogue *gemm.Epilogue[T]) error {
	if !p.Adds() {
		return fmt.Errorf("conv: sum with an output, got a convolution of one input or two outputs for each group, want more")
	}
	return start(pool, p, x, w, out, true, epilogue)
}

// Adds reports whether a plan computes sums with what its output holds.
func (p *Plan) Adds() bool { return !p.direct && !p.thin }

func start[T gemm.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, accumulate bool, epilogue *gemm.Epilogue[T]) error {
	if epilogue != nil && epilogue.BiasCol != nil {
		return fmt.Errorf("conv: epilogue, got a bias for columns, want one for output channels only")
	}
	if w.outputs != p.outputs || w.groups != p.groups || w.depth != p.depth() || (isDirect[T](p) || isLong[T](p)) && w.plain == nil {
		return fmt.Errorf("conv: prepared weights, got %d outputs of %d in %d groups, want %d of %d in %d",
			w.outputs, w.depth, w.groups, p.outputs, p.depth(), p.groups)
	}
	x, out = x[:p.batch*p.channels*p.inSize], out[:p.batch*p.outputs*p.outSize]
	items := p.batch * p.groups
	if len(out) == 0 {
		return nil
	}
	r, ok := p.runs.Get().(*run[T])
	if !ok {
		r = &run[T]{}
		r.itemsLoop, r.directLoop = r.items, r.directItems
	}
	r.pool, r.plan, r.x, r.weights, r.out, r.accumulate, r.epilogue = pool, p, x, w, out, accumulate, epilogue
	err := r.start(items)
	r.x, r.weights, r.out, r.epilogue = nil, nil, nil, nil
	p.runs.Put(r)
	return err
}

// start selects the algorithm and runs it. items is the batch size times the number of groups.
func (r *run[T]) start(items int) error {
	p, pool := r.plan, r.pool
	work := max(p.outputs/p.groups*p.outSize*p.depth(), 1)
	switch {
	case r.weights.tiled != nil && r.runTiled():
	case areDots[T](p) && r.weights.plain != nil && r.runDots():
	case inPlanes[T](p):
		r.runPlanes()
	case r.weights.flat != nil && !r.accumulate:
		r.runFlat()
	case r.weights.phases != nil && !r.accumulate:
		return r.runPhases()
	case !isDirect[T](p) && isLong[T](p):
		r.runLong()
	case isDirect[T](p) && (p.batch*p.outputs >= 4*pool.Threads() || pool.Threads() == 1):
		pool.For(p.batch*p.outputs, leastDirect()/max(p.outSize*p.depth(), 1)+1, r.directLoop)
	case items >= 4*pool.Threads() || items >= pool.Threads() && work < 16*leastWork():
		// Side by side: each thread pads the groups that it computes.
		pool.For(items, leastWork()/work+1, r.itemsLoop)
	default:
		r.onAllThreads()
	}
	return nil
}

// leastWork is the fewest multiply-adds that are worth another thread.
func leastWork() int {
	if vector.Has() {
		return 256 << 10
	}
	return 64 << 10
}

// leastDirect is leastWork for outputs that are computed tap by tap, which takes longer.
func leastDirect() int { return leastWork() / 4 }

// run is one execution, kept for the next one.
type run[T gemm.Number] struct {
	pool    *par.Pool
	plan    *Plan
	x       []T
	weights *Weights[T]
	out     []T
	// accumulate adds to out.
	accumulate bool
	epilogue   *gemm.Epilogue[T]

	itemsLoop, directLoop func(lo, hi int)
}

// items computes items lo to hi. Item i is group i%groups of image i/groups.
func (r *run[T]) items(lo, hi int) {
	p := r.plan
	f := takeFrame[T](p)
	perGroup := p.channels / p.groups
	for i := lo; i < hi; i++ {
		f.x = r.x[i*perGroup*p.inSize:][:perGroup*p.inSize]
		if !p.plain {
			f.reserve(perGroup)
			f.pad(0, perGroup)
		}
		r.multiply(f, i/p.groups, i%p.groups)
	}
	giveFrame(f, r.weights.single)
}

// onAllThreads computes image by image, group by group, each on all threads.
func (r *run[T]) onAllThreads() {
	p := r.plan
	f := takeFrame[T](p)
	perGroup := p.channels / p.groups
	for i := range p.batch {
		for g := range p.groups {
			f.x = r.x[(i*p.channels+g*perGroup)*p.inSize:][:perGroup*p.inSize]
			if !p.plain {
				f.reserve(perGroup)
				f.padOnAll(r.pool, perGroup)
			}
			r.multiply(f, i, g)
		}
	}
	giveFrame(f, r.weights.single)
}

// multiply computes group g of image i. f holds the input.
func (r *run[T]) multiply(f *frame[T], i, g int) {
	p := r.plan
	if isDirect[T](p) {
		r.directLines(f, i*p.groups+g)
		return
	}
	perGroup := p.outputs / p.groups
	if r.weights.turned != nil {
		r.multiplyTurned(f, i, g)
		return
	}
	last := &p.axes[len(p.axes)-1]
	if r.weights.packed != nil && p.inPlaces(gemm.PlaceCols[T]()) {
		gemm.MulPlaced(r.pool, &gemm.Placed[T]{A: r.weights.packed[g], Src: f.source(), Offsets: p.offsets, Reach: p.reach,
			Rows: p.outSize / last.out, Cols: last.out, Step: p.axes[0].advance,
			C: r.out[(i*p.outputs+g*perGroup)*p.outSize:], LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.epilogue.Rows(g * perGroup)})
		return
	}
	args := gemm.Args[T]{
		M: perGroup, N: p.outSize, K: p.depth(),
		C:   r.out[(i*p.outputs+g*perGroup)*p.outSize:],
		LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.epilogue.Rows(g * perGroup),
	}
	if r.weights.packed != nil {
		args.PackedA = r.weights.packed[g]
	} else {
		args.A = gemm.Row(r.weights.plain[g*perGroup*args.K:], args.K)
	}
	switch {
	case p.pointwise || p.sampled:
		args.B = gemm.Row(f.source(), p.outSize)
	case p.framed:
		args.B = gemm.Mat[T]{Data: f.x, RowStride: 1, ColStride: last.stride}
	default:
		args.PackB = f.packPatches
	}
	gemm.Mul(r.pool, &args)
}

// multiplyTurned is multiply with the places as rows and the outputs as
// columns.
func (r *run[T]) multiplyTurned(f *frame[T], i, g int) {
	p := r.plan
	perGroup := p.outputs / p.groups
	args := gemm.Turned[T]{
		M: p.outSize, N: perGroup, K: p.depth(), B: r.weights.turned[g],
		C:   r.out[(i*p.outputs+g*perGroup)*p.outSize:],
		LDC: p.outSize, Accumulate: r.accumulate, Epilogue: r.epilogue.Rows(g * perGroup),
	}
	if p.pointwise || p.sampled {
		args.A = gemm.Row(f.source(), p.outSize).T()
	} else {
		args.PackA = f.packPatches
	}
	gemm.MulTurned(r.pool, &args)
}
