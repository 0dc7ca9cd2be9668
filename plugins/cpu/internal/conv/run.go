package conv

import (
	"fmt"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// run is one execution. Its memory is kept for the next execution of the plan.
type run[T micro.Number] struct {
	pool       *par.Pool
	plan       *Plan
	x, out     []T
	accumulate bool // add to out
	epilogue   *micro.Epilogue[T]
	single     bool // the plan is not expected to run again

	byGroup  groupRunner[T]
	byOutput *directWeights[T]

	groupsLoop, outputsLoop func(lo, hi int)
}

// groupRunner computes one group of an image on the threads of r.pool. in holds
// the input channels of the group.
type groupRunner[T micro.Number] interface {
	group(r *run[T], in *input[T], image, group int)
}

func execute[T micro.Number](pool *par.Pool, p *Plan, x []T, w *Weights[T], out []T, accumulate bool, epilogue *micro.Epilogue[T]) error {
	if epilogue != nil && epilogue.BiasCol != nil {
		return fmt.Errorf("conv: epilogue, got a bias for columns, want one for output channels only")
	}
	if w.plan != p {
		return fmt.Errorf("conv: prepared weights, got those of another plan, with %d outputs of %d in %d groups, want %d of %d in %d",
			w.plan.outputs, w.plan.depth(), w.plan.groups, p.outputs, p.depth(), p.groups)
	}
	x, out = x[:p.batch*p.channels*p.inSize], out[:p.batch*p.outputs*p.outSize]
	if !w.compute(pool, x, out, accumulate, epilogue) {
		return fmt.Errorf("conv: sum with an output, got weights that were packed from a strided view, want contiguous ones")
	}
	return nil
}

// compute runs the first choice that does not refuse the input. It reports false if all refuse.
func (w *Weights[T]) compute(pool *par.Pool, x, out []T, accumulate bool, epilogue *micro.Epilogue[T]) bool {
	if len(out) == 0 {
		return true
	}
	p := w.plan
	r, ok := p.runs.Get().(*run[T])
	if !ok {
		r = &run[T]{}
		r.groupsLoop, r.outputsLoop = r.groups, r.outputs
	}
	r.pool, r.plan, r.x, r.out, r.accumulate, r.epilogue, r.single = pool, p, x, out, accumulate, epilogue, w.single
	done := false
	for i := 0; i < len(w.choices) && !done; i++ {
		done = w.choices[i].run(r)
	}
	r.x, r.out, r.epilogue, r.byGroup, r.byOutput = nil, nil, nil, nil, nil
	p.runs.Put(r)
	return done
}

// minWork returns the least number of multiply-adds for which another thread is used.
func minWork() int {
	if vector.Has() {
		return 256 << 10
	}
	return 64 << 10
}

// minDirectWork is like minWork for outputs that are computed tap by tap, which takes longer.
func minDirectWork() int { return minWork() / 4 }

// eachGroup computes all groups of all images with g.
func (r *run[T]) eachGroup(g groupRunner[T]) {
	p, threads := r.plan, r.pool.Threads()
	r.byGroup = g
	items, work := p.batch*p.groups, max(p.outputs/p.groups*p.outSize*p.depth(), 1)
	if items >= 4*threads || items >= threads && work < 16*minWork() {
		r.pool.For(items, minWork()/work+1, r.groupsLoop) // each thread pads the groups that it computes
		return
	}
	// One group after the other, each on all threads.
	in := takeInput[T](p)
	for i := range items {
		in.setPadded(r.pool, r.groupInput(i))
		g.group(r, in, i/p.groups, i%p.groups)
	}
	giveInput(in, r.single)
}

// groups computes items lo to hi. Item i is group i%groups of image i/groups.
func (r *run[T]) groups(lo, hi int) {
	p := r.plan
	in := takeInput[T](p)
	for i := lo; i < hi; i++ {
		in.set(r.groupInput(i))
		r.byGroup.group(r, in, i/p.groups, i%p.groups)
	}
	giveInput(in, r.single)
}

// groupInput returns the input channels of item i (see groups).
func (r *run[T]) groupInput(i int) []T {
	n := r.plan.channels / r.plan.groups * r.plan.inSize
	return r.x[i*n:][:n]
}

// groupOutput returns the output, beginning with a group of an image.
func (r *run[T]) groupOutput(image, group int) []T {
	p := r.plan
	return r.out[(image*p.outputs+group*(p.outputs/p.groups))*p.outSize:]
}

// groupEpilogue returns the epilogue of the outputs, beginning with the outputs of a group.
func (r *run[T]) groupEpilogue(group int) *micro.Epilogue[T] {
	return r.epilogue.Rows(group * (r.plan.outputs / r.plan.groups))
}
